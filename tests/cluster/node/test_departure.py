"""A machine's departure: the nodes that are asked to leave, when, and when the machine may go. Virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from cluster.machine.presence import NodePresence, NodeState
from cluster.node.departure import (
    ENDPOINT_VARIABLE,
    Ask,
    Departure,
    InstanceMetadata,
    LogEntry,
    MetadataError,
    Notices,
    Release,
)
from tests.cluster.metadata_service import MetadataService, serving

A = NodePresence(101, 7, "node-1", 800_000)
B = NodePresence(102, 8, "node-2", 900_000)
TAKEN = Notices(interruption="terminate", left_ms=120_000)


def gone(node: NodePresence) -> NodePresence:
    return replace(node, state=NodeState.DISMISSED)


def asked(instructions: list[object]) -> list[str]:
    return [each.node.node_id for each in instructions if isinstance(each, Ask)]


def said(instructions: list[object]) -> dict[str, dict[str, object]]:
    return {each.name: each.fields for each in instructions if isinstance(each, LogEntry)}


def test_nothing_is_said_and_nothing_done() -> None:
    departure = Departure()
    assert departure.step(Notices(), (A, B), 0) == []
    assert not departure.why


def test_an_interruption_sends_all_nodes_away_and_then_releases_the_machine() -> None:
    departure = Departure()
    first = departure.step(TAKEN, (A, B), 1_000)
    assert asked(first) == ["node-1", "node-2"]
    assert said(first)["machine_leaves"] == {
        "why": "spot interruption (terminate)",
        "nodes": ["node-1", "node-2"],
    }
    assert departure.step(TAKEN, (replace(A, state=NodeState.LEAVING), gone(B)), 1_100) == []
    last = departure.step(TAKEN, (gone(A), gone(B)), 1_200)
    assert last[-1] == Release("spot interruption (terminate)")
    assert said(last)["machine_released"]["not_dismissed"] == []
    assert departure.step(TAKEN, (A,), 1_300) == []


def test_a_group_that_ends_the_machine_does_the_same() -> None:
    assert asked(Departure().step(Notices(terminating=True), (A,), 0)) == ["node-1"]


def test_a_recommendation_alone_sends_nobody_away() -> None:
    departure = Departure()
    assert said(departure.step(Notices(rebalance=True), (A,), 0)) == {"rebalance_recommended": {}}
    assert departure.step(Notices(rebalance=True), (A,), 3_600_000) == []
    assert departure.at_risk and not departure.why
    assert asked(departure.step(Notices(rebalance=True, terminating=True), (A,), 3_601_000)) == ["node-1"]


def test_a_node_that_is_not_dismissed_is_asked_again() -> None:
    departure = Departure(again_ms=1_000)
    leaving = replace(A, state=NodeState.LEAVING)
    asks = [now for now in range(0, 3_000, 100) if asked(departure.step(TAKEN, (leaving,), now))]
    assert asks == [0, 1_000, 2_000]


def test_a_node_that_comes_late_is_sent_away_too() -> None:
    departure = Departure()
    departure.step(TAKEN, (A,), 0)
    assert asked(departure.step(TAKEN, (gone(A), B), 50)) == ["node-2"]


def test_without_nodes_the_machine_goes_at_once() -> None:
    assert Departure().step(TAKEN, (), 0)[-1] == Release("spot interruption (terminate)")


def test_the_limit_ends_it_if_no_master_dismisses_it() -> None:
    departure = Departure(limit_ms=20_000)
    departure.step(TAKEN, (A,), 0)
    assert not departure.step(TAKEN, (A,), 19_999)[1:]
    last = departure.step(TAKEN, (A,), 20_000)
    assert last[-1] == Release("spot interruption (terminate)")
    assert said(last)["machine_released"]["not_dismissed"] == ["node-1"]


def test_a_notice_that_is_seen_late_leaves_a_margin_before_the_end() -> None:
    departure = Departure(limit_ms=20_000)
    departure.step(Notices(interruption="stop", left_ms=8_000), (A,), 0)
    assert not departure.step(TAKEN, (A,), 2_900)[1:]
    assert departure.step(TAKEN, (A,), 3_000)[-1] == Release("spot interruption (stop)")
    over = Departure()
    assert over.step(Notices(interruption="terminate", left_ms=0), (A,), 0)[-1] == Release(
        "spot interruption (terminate)"
    )


def test_a_notice_that_is_taken_back_changes_nothing_any_more() -> None:
    departure = Departure()
    departure.step(TAKEN, (A,), 0)
    assert departure.step(Notices(), (gone(A),), 100)[-1] == Release("spot interruption (terminate)")


NOW = datetime(2026, 9, 18, 8, 20, 0, tzinfo=UTC)


@pytest.fixture
def service() -> Iterator[MetadataService]:
    with serving() as made:
        yield made


def test_nothing_is_said_of_the_machine(service: MetadataService) -> None:
    assert InstanceMetadata(service.endpoint).notices(NOW) == Notices()


def test_all_notices_are_read(service: MetadataService) -> None:
    service.values |= {
        "spot/instance-action": '{"action": "terminate", "time": "2026-09-18T08:22:00Z"}',
        "events/recommendations/rebalance": '{"noticeTime": "2026-09-18T08:19:00Z"}',
        "autoscaling/target-lifecycle-state": "Terminated",
    }
    assert InstanceMetadata(service.endpoint).notices(NOW) == Notices("terminate", 120_000, True, True)


def test_a_token_is_fetched_once_and_again_when_it_has_ended(service: MetadataService) -> None:
    service.values["instance-id"] = "i-1"
    metadata = InstanceMetadata(service.endpoint)
    assert [metadata.get("instance-id"), metadata.get("instance-id")] == ["i-1", "i-1"]
    assert service.tokens_given == 1
    service.token = "another"
    assert metadata.get("instance-id") == "i-1"
    assert service.tokens_given == 2


def test_the_environment_names_the_endpoint(service: MetadataService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINT_VARIABLE, service.endpoint + "/")
    assert InstanceMetadata().endpoint == service.endpoint


def test_nobody_answers() -> None:
    with serving() as service:
        endpoint = service.endpoint
    with pytest.raises(MetadataError, match=f"{endpoint}: no answer"):
        InstanceMetadata(endpoint).notices(NOW)


@pytest.mark.parametrize("text", ["soon", "{}", '{"action": "terminate", "time": "tomorrow"}', "[]"])
def test_a_notice_that_cannot_be_read(service: MetadataService, text: str) -> None:
    service.values["spot/instance-action"] = text
    with pytest.raises(MetadataError, match="spot/instance-action: expected action and time"):
        InstanceMetadata(service.endpoint).notices(NOW)
