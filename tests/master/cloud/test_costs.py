"""Prices and the ledger, in virtual time."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from master.cloud.costs import Ledger, LedgerError, Machine, Prices, decode, observed, on_demand_prices, vcpus
from master.cloud.prices import planned, prices
from master.config import FleetConfig

HOUR = 3600.0
HEAD = Machine("i-head", "c7i.xlarge", "a", False, 1000.0)
NODE = Machine("i-1", "c7i.4xlarge", "a", False, 1000.0)
SPOT = Machine("i-2", "c7i.4xlarge", "b", True, 1000.0)
PRICES = Prices({"c7i.xlarge": 0.2, "c7i.4xlarge": 0.8}, {("c7i.4xlarge", "b"): 0.3})


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("c7i.large", 2), ("c7i.xlarge", 4), ("c7i.48xlarge", 192), ("m7i-flex.2xlarge", 8), ("c7i.metal-24xl", None)],
)
def test_the_size_is_in_the_name(kind: str, expected: int | None) -> None:
    assert vcpus(kind) == expected


def test_prices_follow_the_vcpus_of_a_family() -> None:
    table = {"per_vcpu": {"c7i": {"us-east-1": 0.05}}}
    types = ["c7i.xlarge", "c7i.4xlarge", "x9.large"]
    assert on_demand_prices(table, types, "us-east-1", {"c7i.xlarge": 0.1}) == {"c7i.xlarge": 0.1, "c7i.4xlarge": 0.8}
    assert on_demand_prices(table, types, "mars-1", {}) == {}


def test_the_table_that_ships_knows_our_default_types_in_tokyo() -> None:
    known = prices(["c7i.4xlarge", "c7i.xlarge"], "ap-northeast-1")
    assert known.on_demand["c7i.4xlarge"] == pytest.approx(4 * known.on_demand["c7i.xlarge"])
    assert "read 20" in known.source


def test_what_a_fleet_will_cost_is_known_or_assumed_rather_too_dear() -> None:
    known = FleetConfig(nodes=2, instance_types=("c7i.4xlarge",), variables={"head_instance_type": "c7i.xlarge"})
    table = prices(["c7i.4xlarge", "c7i.xlarge"], "us-east-1").on_demand
    assert planned(known, "us-east-1") == (pytest.approx(2 * table["c7i.4xlarge"] + table["c7i.xlarge"]), ())
    usd, unpriced = planned(FleetConfig(nodes=1, instance_types=("c7i.xlarge", "x9.metal")), "us-east-1")
    assert unpriced == ("x9.metal",)
    assert usd > 48 * table["c7i.xlarge"]


def test_a_head_of_which_nothing_is_said_is_terraforms_and_no_node() -> None:
    known = prices(["c7a.48xlarge", "c7i.xlarge"], "us-east-1").on_demand
    usd, _ = planned(FleetConfig(nodes=1, instance_types=("c7a.48xlarge",)), "us-east-1")
    assert usd == pytest.approx(known["c7a.48xlarge"] + known["c7i.xlarge"])


def test_a_spot_machine_costs_the_markets_price_and_else_no_more_than_on_demand() -> None:
    assert (PRICES.of(NODE), PRICES.of(SPOT)) == (0.8, 0.3)
    assert Prices({"c7i.4xlarge": 0.8}).of(SPOT) == 0.8
    assert Prices({}).of(NODE) is None


def test_machines_cost_from_their_launch_on_whenever_they_are_first_seen() -> None:
    ledger = observed(Ledger(), [HEAD, NODE, SPOT], PRICES, 1000 + HOUR, HEAD.launched)
    assert ledger.usd == pytest.approx(1.3)
    assert ledger.by_type()["c7i.4xlarge", True] == pytest.approx((1.0, 0.3))
    assert next(iter(ledger.by_type())) == ("c7i.4xlarge", False)


def test_the_first_minute_is_always_paid() -> None:
    assert observed(Ledger(), [NODE], PRICES, 1010.0, 0).usd == pytest.approx(0.8 / 60)


def test_a_machine_that_went_keeps_what_it_cost() -> None:
    first = observed(Ledger(), [HEAD, NODE], PRICES, 1000 + HOUR, HEAD.launched)
    second = observed(first, [HEAD], PRICES, 1000 + 3 * HOUR, HEAD.launched)
    assert second.accounts["i-1"] == first.accounts["i-1"]
    assert second.usd == pytest.approx(0.8 + 3 * 0.2)


def test_a_spot_price_counts_for_the_time_in_which_it_held() -> None:
    first = observed(Ledger(), [SPOT], PRICES, 1000 + HOUR, 0)
    dearer = Prices(PRICES.on_demand, {("c7i.4xlarge", "b"): 0.5})
    assert observed(first, [SPOT], dearer, 1000 + 2 * HOUR, 0).usd == pytest.approx(0.3 + 0.5)


def test_a_head_that_starts_again_begins_another_run() -> None:
    first = observed(Ledger(), [HEAD], PRICES, 1000 + HOUR, HEAD.launched)
    again = Machine("i-head", "c7i.xlarge", "a", False, 50_000.0)
    second = observed(first, [again], PRICES, 50_000 + 2 * HOUR, again.launched)
    assert second.run_usd == pytest.approx(0.4)
    assert second.usd == pytest.approx(0.6)
    third = observed(second, [again], PRICES, 50_000 + 3 * HOUR, again.launched)
    assert third.run_usd == pytest.approx(0.6)
    assert third.usd == pytest.approx(0.8)


def test_why_it_ended_holds_until_the_next_run() -> None:
    ended = Ledger(run_began=HEAD.launched, ended="idle")
    assert observed(ended, [HEAD], PRICES, 2000.0, HEAD.launched).ended == "idle"
    assert observed(ended, [HEAD], PRICES, 2000.0, 1999.0).ended == ""


@given(looks=st.lists(st.floats(1000, 100_000), min_size=1, max_size=20))
def test_how_often_one_looks_changes_nothing(looks: list[float]) -> None:
    ledger = Ledger()
    for now in sorted(looks):
        ledger = observed(ledger, [HEAD, NODE], PRICES, now, HEAD.launched)
    hours = max(max(looks) - 1000, 60) / HOUR
    assert ledger.usd == pytest.approx(hours * 1.0)
    assert ledger.run_usd == pytest.approx(ledger.usd)


def test_a_ledger_survives_its_bytes() -> None:
    ledger = observed(Ledger(), [HEAD, SPOT], PRICES, 9000.0, HEAD.launched)
    assert decode(ledger.encode()) == ledger


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"accounts": {"i-1": 3}}', json.dumps({"accounts": []}).encode()]
)
def test_bytes_that_are_no_ledger(data: bytes) -> None:
    with pytest.raises(LedgerError, match="no ledger"):
        decode(data)
