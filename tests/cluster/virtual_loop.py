"""An event loop in virtual time."""

from __future__ import annotations

import asyncio
import selectors
from typing import Any


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its clock jumps to the next timer."""

    def __init__(self) -> None:
        self._now = 0.0
        selector = selectors.DefaultSelector()
        select = selector.select

        def jump(timeout: float | None = None) -> Any:
            assert timeout is not None, "nothing will ever happen again"
            self._now += timeout
            return select(0)

        vars(selector)["select"] = jump
        super().__init__(selector)

    def time(self) -> float:
        return self._now
