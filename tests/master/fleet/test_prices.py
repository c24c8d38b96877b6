"""Where a price comes from: the user, AWS's price list, the table that ships; never from nowhere."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from botocore.stub import Stubber

from master.fleet import price_list
from master.fleet.aws import AwsError, client
from master.fleet.cloud import Cloud
from master.fleet.prices import PriceBook, prices

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
        stub.add_response("get_products", {"PriceList": [product("0.9")]}, asked)
        assert cloud.on_demand_prices([NODE], "ap-northeast-1") == {NODE: 0.9}
        stub.add_client_error("get_products", "AccessDeniedException")
        with pytest.raises(AwsError, match="AWS's price list: these credentials may not"):
            cloud.on_demand_prices([NODE], "ap-northeast-1")
    assert client("pricing", "us-east-1", 1).meta.config.retries["total_max_attempts"] == 1


class Listing(Cloud):
    """A cloud with a price list."""

    def __init__(self, listed: dict[str, float] | None) -> None:
        super().__init__("us-east-1")
        self.listed = listed
        self.asked: list[str] = []

    def on_demand_prices(self, types: Iterable[str], region: str) -> dict[str, float]:
        assert region == "us-east-1"
        self.asked += types
        if self.listed is None:
            raise AwsError("AWS's price list: no")
        return {kind: usd for kind, usd in self.listed.items() if kind in types}


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


def test_without_the_list_the_table_serves_and_is_named() -> None:
    cloud = Listing(None)
    book = PriceBook(cloud, "us-east-1")
    for _ in range(2):
        found = book.prices([NODE, "x9.large"], [])
        assert found.on_demand == {NODE: pytest.approx(0.714)}
        assert found.source.startswith("on demand: terraform/prices.json, read 20")
    assert cloud.asked == [NODE, "x9.large"]  # and not again at once


def test_a_price_of_the_list_alone_is_named_so() -> None:
    assert prices([NODE], "us-east-1", listed={NODE: 0.5}).source == "on demand: AWS's price list; spot: AWS, now"


@pytest.mark.parametrize("family", ["c7i", "c7a", "c6i", "c6a"])
@pytest.mark.parametrize("region", ["us-east-1", "us-west-2", "eu-west-1", "eu-central-1", "ap-northeast-1"])
def test_the_table_knows_the_usual_families_in_the_main_regions(family: str, region: str) -> None:
    (usd,) = prices([f"{family}.4xlarge"], region).on_demand.values()
    assert 0.5 < usd < 1.2
