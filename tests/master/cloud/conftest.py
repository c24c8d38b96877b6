"""AWS's stand-in for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from master.cloud.cloud import Cloud


@pytest.fixture
def login(monkeypatch: pytest.MonkeyPatch) -> None:
    """Login data that AWS would refuse."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")


@pytest.fixture
def aws(login: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An account with nothing in it."""
    from moto import mock_aws

    from tests.master.cloud.stand_in import placement_groups

    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    placement_groups(monkeypatch)
    with mock_aws():
        yield


@pytest.fixture
def cloud(aws: None) -> Cloud:
    return Cloud("us-east-1")
