"""The metadata client against a stand-in: tokens, what is there and what is not, and rubbish."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from cluster.node.departure import ENDPOINT_VARIABLE, InstanceMetadata, MetadataError, Notices
from tests.cluster.metadata_service import MetadataService, serving

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


def test_a_machine_in_service_is_not_being_ended(service: MetadataService) -> None:
    service.values["autoscaling/target-lifecycle-state"] = "InService"
    assert not InstanceMetadata(service.endpoint).notices(NOW).terminating


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
