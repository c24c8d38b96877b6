"""Sources of a price: the user, AWS's price list, the table that ships; never an invented one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from botocore.stub import Stubber

from master.cloud import price_list
from master.cloud.aws import AwsError
from master.cloud.cloud import Cloud
from master.cloud.folder import root_module
from master.cloud.prices import HEAD_TYPE, FleetTypes, PriceBook, prices, types_of
from master.config import FleetConfig

ROOT = Path(__file__).parents[3]
NODE = "c7i.4xlarge"


def product(usd: str, unit: str = "Hrs") -> str:
    """As AWS's price list has one, as far as it is read."""
    dimension = {"unit": unit, "pricePerUnit": {"USD": usd}}
    return json.dumps({"product": {}, "terms": {"OnDemand": {"A.B": {"priceDimensions": {"A.B.C": dimension}}}}})


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([product("0.8988000000")], 0.8988),
        ([product("0.8988"), product("0.0000")], 0.8988),  # what is reserved costs nothing on demand
        ([product("0.8988"), product("0.9")], None),
        ([product("0.1", "Quantity")], None),
        ([], None),
        (["no JSON", "{}", '{"terms": {"OnDemand": []}}', "[]"], None),
    ],
)
def test_what_the_price_list_says(answers: list[str], expected: float | None) -> None:
    assert price_list.on_demand(answers) == expected


def test_the_price_list_is_asked_as_its_api_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    cloud = Cloud("ap-northeast-1")
    pricing = cloud.service("pricing")
    assert pricing.meta.region_name == price_list.REGION
    asked = {"ServiceCode": "AmazonEC2", "Filters": price_list.filters(NODE, "ap-northeast-1")}
    with Stubber(pricing) as stub:
        stub.add_response("get_products", {"PriceList": [], "NextToken": "2"}, asked)  # a page may be empty
        stub.add_response("get_products", {"PriceList": [product("0.9")]}, {**asked, "NextToken": "2"})
        assert cloud.on_demand_price(NODE, "ap-northeast-1") == 0.9
        stub.add_client_error("get_products", "AccessDeniedException")
        with pytest.raises(AwsError, match="AWS's price list: these credentials may not"):
            cloud.on_demand_price(NODE, "ap-northeast-1")
    assert pricing.meta.config.retries["total_max_attempts"] == 1


class Listing(Cloud):
    """A cloud with a price list, and a clock, which each question takes ``seconds`` of.

    Args:
        listed: a type that is not in it is not known; one with None fails.
    """

    def __init__(self, listed: dict[str, float | None], seconds: float = 0.0) -> None:
        super().__init__("us-east-1")
        self.listed = listed
        self.asked: list[str] = []
        self.now = 0.0
        self._seconds = seconds

    def on_demand_price(self, kind: str, region: str) -> float | None:
        assert region == "us-east-1"
        self.asked.append(kind)
        self.now += self._seconds
        if kind in self.listed and self.listed[kind] is None:
            raise AwsError(f"AWS's price list: no {kind}")
        return self.listed.get(kind)

    def clock(self) -> float:
        return self.now


def test_a_price_of_the_list_stands_over_the_tables_and_the_users_over_both() -> None:
    cloud = Listing({NODE: 0.5, "x9.large": 7.0, "m9.large": 3.0})
    book = PriceBook(cloud, "us-east-1", {"m9.large": 1.0})
    found = book.prices([NODE, "x9.large", "m9.large", "c6a.large"], [])
    assert found.on_demand[NODE] == 0.5
    assert found.on_demand["x9.large"] == 7.0
    assert found.on_demand["m9.large"] == 1.0
    assert found.on_demand["c6a.large"] == pytest.approx(0.0765)
    assert found.source.startswith("on demand: AWS's price list and terraform/prices.json, read 20")
    assert cloud.asked == ["c6a.large", NODE, "x9.large"]
    book.prices([NODE, "x9.large", "c6a.large"], [])
    assert len(cloud.asked) == 3  # once
    assert book.trouble == ""


def test_without_the_list_the_table_serves_and_is_named() -> None:
    cloud = Listing({NODE: None, "x9.large": None})
    book = PriceBook(cloud, "us-east-1")
    for _ in range(2):
        found = book.prices([NODE, "x9.large"], [])
        assert found.on_demand == {NODE: pytest.approx(0.714)}
        assert found.source.startswith("on demand: terraform/prices.json, read 20")
    assert cloud.asked == [NODE, "x9.large"]  # and not again at once
    assert "AWS's price list: no" in book.trouble


def test_one_type_that_fails_or_is_not_known_takes_no_other_with_it_and_is_asked_for_again_in_an_hour() -> None:
    cloud = Listing({"c6a.large": None, NODE: 0.5})
    book = PriceBook(cloud, "us-east-1", clock=cloud.clock)
    types = ["c6a.large", NODE, "x9.large"]
    assert book.listed(types) == {NODE: 0.5}
    cloud.listed = {"c6a.large": 0.1, "x9.large": 7.0}
    cloud.now = 3599.0
    assert book.listed(types) == {NODE: 0.5}
    assert book.trouble == "AWS's price list: no c6a.large"
    cloud.now = 3600.0
    assert book.listed(types) == {"c6a.large": 0.1, NODE: 0.5, "x9.large": 7.0}
    assert book.trouble == ""


def test_a_list_that_answers_nobody_is_left_alone_after_ten_seconds() -> None:
    types = [f"x{number}.large" for number in range(9)]
    cloud = Listing(dict.fromkeys(types), seconds=4.0)
    book = PriceBook(cloud, "us-east-1", clock=cloud.clock)
    for _ in range(2):
        assert book.listed(types) == {}
        assert len(cloud.asked) == 3


def test_what_the_list_said_of_old_counts_while_it_does_not_answer() -> None:
    cloud = Listing({NODE: 0.6, "c6a.large": None})
    kept = {NODE: 0.5, "c6a.large": 0.1, "x9.large": 7.0, "m9.large": 3.0}
    book = PriceBook(cloud, "us-east-1", kept=kept)
    assert book.listed([NODE, "c6a.large", "x9.large"]) == {NODE: 0.6, "c6a.large": 0.1, "x9.large": 7.0}
    assert book.trouble == "AWS's price list: no price of x9.large any more"


def test_the_heads_default_type_is_terraforms() -> None:
    text = (ROOT / "terraform" / "variables.tf").read_text()
    block = text[text.index('variable "head_instance_type"') :].split("\n}\n", 1)[0]
    assert re.findall(r"^  default +=(.*)$", block, re.MULTILINE) == [f' "{HEAD_TYPE}"']


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, FleetTypes(HEAD_TYPE, ("c7a.48xlarge",))),
        ({"head_instance_type": "c7i.large"}, FleetTypes("c7i.large", ("c7a.48xlarge",))),
        ({"instance_types": ["c6a.large", NODE]}, FleetTypes(HEAD_TYPE, ("c6a.large", NODE))),
    ],
)
def test_the_types_are_those_that_terraform_will_see(given: dict[str, object], expected: FleetTypes) -> None:
    settings = FleetConfig(instance_types=("c7a.48xlarge",), variables=given)
    assert types_of(settings) == expected
    module = root_module(settings, "./m", "r", "c", stand_in=False)["module"]["fleet"]
    assert FleetTypes(module.get("head_instance_type", HEAD_TYPE), tuple(module["instance_types"])) == expected


def test_a_price_of_the_list_alone_is_named_so() -> None:
    assert prices([NODE], "us-east-1", listed={NODE: 0.5}).source == "on demand: AWS's price list; spot: AWS, now"


@pytest.mark.parametrize("family", ["c7i", "c7a", "c6i", "c6a"])
@pytest.mark.parametrize("region", ["us-east-1", "us-west-2", "eu-west-1", "eu-central-1", "ap-northeast-1"])
def test_the_table_knows_the_usual_families_in_the_main_regions(family: str, region: str) -> None:
    (usd,) = prices([f"{family}.4xlarge"], region).on_demand.values()
    assert 0.5 < usd < 1.2
