"""List prices, and the cost of a fleet by them, from local files alone: no credentials, no terraform, no network."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

import pytest

from master.cli import run
from master.cloud.prices import estimate, head_of, list_prices, vcpus
from master.config import FleetConfig
from tests.master.command import ROOT

TOKYO = "ap-northeast-1"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """AWS is unknown, no program is on the PATH, and any connection fails."""

    def refused(*_words: object, **_more: object) -> None:
        pytest.fail("somebody is asked")

    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("c7i.large", 2), ("c7i.xlarge", 4), ("c7i.48xlarge", 192), ("m7i-flex.2xlarge", 8), ("c7i.metal-24xl", None)],
)
def test_the_size_is_in_the_name(kind: str, expected: int | None) -> None:
    assert vcpus(kind) == expected


@pytest.mark.parametrize("family", ["c7i", "c7a", "c6i", "c6a"])
@pytest.mark.parametrize("region", ["us-east-1", "us-west-2", "eu-west-1", "eu-central-1", TOKYO])
def test_the_table_knows_the_usual_families_in_the_main_regions(family: str, region: str) -> None:
    found = list_prices([f"{family}.4xlarge", f"{family}.xlarge", "x9.large"], region, {"c5.large": 1.0})
    assert 0.5 < found[f"{family}.4xlarge"] < 1.2
    assert found[f"{family}.xlarge"] == pytest.approx(found[f"{family}.4xlarge"] / 4)
    assert found.keys() - {f"{family}.4xlarge", f"{family}.xlarge"} == {"c5.large"}


def test_the_heads_default_type_is_terraforms() -> None:
    text = (ROOT / "terraform" / "locals.tf").read_text()
    (found,) = re.findall(r'var\.nodes < (\d+) \? "(.+)" : "(.+)"$', text, re.MULTILINE)
    limit = int(found[0])
    assert (head_of({}, limit - 1), head_of({}, limit)) == found[1:]
    assert head_of({"head_instance_type": "c7i.2xlarge"}, 1) == "c7i.2xlarge"


def offline(*words: str) -> int:
    return run(["fleet", "plan", "--offline", *words])


@pytest.mark.parametrize(
    ("variables", "nodes", "types", "usd"),
    [
        # docs/reference/aws.md: the examples in Tokyo, as terraform counts them.
        ({}, 1, ("c7i.4xlarge",), (0.22, 0.90, 1.16)),
        ({"head_instance_type": "c7i.2xlarge"}, 16, ("c7i.8xlarge",), (0.45, 1.80, 29.24)),
    ],
)
def test_it_equals_terraforms_count(
    variables: dict[str, object], nodes: int, types: tuple[str, ...], usd: tuple[float, float, float]
) -> None:
    found = estimate(FleetConfig(instance_types=types, variables=variables), nodes, TOKYO).usd_per_hour
    assert (found["head"], found["node"], found["all"]) == pytest.approx(usd, abs=0.006)


def test_the_dearest_of_several_types_counts() -> None:
    settings = FleetConfig(instance_types=("c6a.xlarge", "c7a.xlarge", "c6i.xlarge"))
    found = estimate(settings, 2, "us-east-1")
    assert found.node == "c7a.xlarge"
    assert found.usd_per_hour["node"] == pytest.approx(4 * 0.05132)


def test_a_given_price_stands_over_the_table_and_an_unknown_one_is_said() -> None:
    given = {"usd_per_hour": {"x9.large": 3.0, "endpoint": 0.5}}
    settings = FleetConfig(instance_types=("x9.large",), variables=given)
    found = estimate(settings, 2, "us-east-1").usd_per_hour
    assert found["node"] == 3.0
    assert found["beside"] == pytest.approx(0.005 + 2 * 0.5)
    unknown = estimate(FleetConfig(instance_types=("x9.large", "c7i.large")), 2, "us-east-1")
    assert unknown.usd_per_hour["node"] is unknown.usd_per_hour["all"] is None
    assert unknown.unpriced_types == ("x9.large",)


def test_a_network_of_ones_own_has_no_endpoints_of_ours() -> None:
    network = {"vpc_id": "vpc-1", "head_subnet_id": "subnet-1", "worker_subnet_id": "subnet-2"}
    found = estimate(FleetConfig(variables={"network": network}), 1, "us-east-1").usd_per_hour
    assert found["beside"] == pytest.approx(0.005)


def test_a_new_user_gets_prices(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_REGION", TOKYO)
    assert offline("--nodes", "3", "--dir", str(tmp_path / "fleet")) == 0
    said = capsys.readouterr().out
    table = json.loads((ROOT / "terraform" / "prices.json").read_text())
    assert f"a fleet in {TOKYO}, by the prices that came with gougi, read {table['read']}" in said
    assert "head    1 x c7i.xlarge" in said
    assert "nodes   3 x c7i.4xlarge    2.70 (0.8988 each)" in said
    assert "an hour costs 2.95 US dollars" in said
    assert "AWS was not asked" in said
    assert not (tmp_path / "fleet").exists()


def test_what_is_missing_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert offline("--dir", str(tmp_path / "fleet")) == 1
    assert (
        capsys.readouterr().err
        == "gougi: no region: set [fleet] region or AWS_REGION, such as AWS_REGION=ap-northeast-1\n"
    )
    assert offline("--rebuild") == 2
    assert "--offline makes no release" in capsys.readouterr().err


def test_a_profile_names_the_region(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "aws").write_text("[default]\nregion = eu-west-1\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "aws"))
    assert offline("--dir", str(tmp_path / "fleet")) == 0
    assert "a fleet in eu-west-1" in capsys.readouterr().out


def test_a_price_that_the_table_lacks_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("GOUGI_FLEET_REGION", "mars-1")
    assert offline("--dir", str(tmp_path / "fleet")) == 2
    said = capsys.readouterr().err
    assert said.startswith("gougi: mars-1: gougi has no prices for this region; it has prices for ")
    assert f" {TOKYO} " in said
    monkeypatch.setenv("GOUGI_FLEET_REGION", "me-south-1")
    assert offline("--dir", str(tmp_path / "fleet")) == 0
    said = capsys.readouterr().out
    assert "the cost of an hour is not known: no price of c7i.4xlarge, c7i.xlarge; give it in [fleet] variables" in said
