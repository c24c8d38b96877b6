"""Waiting for other threads, processes and tasks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(what: Callable[[], T], timeout_s: float = 60.0) -> T:
    """The first value that counts as true."""
    deadline = time.monotonic() + timeout_s
    while not (found := what()):
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)
    return found


async def until(what: Callable[[], object], timeout_s: float = 20.0) -> None:
    """As `wait_for`, while the loop goes on."""
    async with asyncio.timeout(timeout_s):
        while not what():  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0.002)
