"""Shards as tasks of real Ray. A worker process that is killed: `tests.lab.tuning.test_ray_tasks`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from cluster.api import FleetError
from lab.selfplay.run import TeachingError, make_on_ray
from tests.cluster.ray_head import Head, ray_head
from tests.lab.selfplay.terms import NET, terms


@pytest.fixture(scope="module")
def head() -> Iterator[Head]:
    with ray_head(2) as head:
        yield head


@pytest.mark.slow
def test_a_task_that_fails_says_why(head: Head) -> None:
    with pytest.raises(TeachingError, match=r"shard 0 was lost 3 times: .*another version of Gougi"):
        asyncio.run(make_on_ray(head.address, NET, terms(code="other"), [0], lambda _event: None))


def test_where_no_ray_is_that_is_said() -> None:
    with pytest.raises(FleetError, match=r"no Ray cluster at 127\.0\.0\.1:1: "):
        asyncio.run(make_on_ray("127.0.0.1:1", NET, terms(), [0], lambda _event: None))
