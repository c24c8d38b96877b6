"""Tests that are coroutines."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any

import uvloop


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run the test on a new loop, for at most 50 s."""

    @functools.wraps(test)
    def run(*arguments: Any, **fixtures: Any) -> None:
        uvloop.run(asyncio.wait_for(test(*arguments, **fixtures), 50))

    return run
