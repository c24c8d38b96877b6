"""Answers a reader's questions about positions: one engine, one question at a time, the newest first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from worker.engine import Engine, Limits

MOVETIME_MS: Final = 1000
LINES: Final = 3


class OvertakenError(Exception):
    """A newer question came before the search of this one began."""


class Asker:
    """The engine starts with the first question.

    Args:
        start: starts it; called in a thread.
        movetime_ms: length of a search.
    """

    def __init__(self, start: Callable[[], Engine], movetime_ms: int = MOVETIME_MS) -> None:
        self._start = start
        self._movetime_ms = movetime_ms
        self._engine: Engine | None = None
        self._newest = 0
        self._turn = asyncio.Lock()

    async def ask(self, sfen: str) -> dict[str, Any]:
        """Search a position. It ends the search of the question before, which is then answered with its best line so
        far.

        Returns:
            ``move``, ``nodes`` and ``lines``, each with ``score`` from black's view, ``depth`` and ``pv``.

        Raises:
            EngineError: the position is not legal, or the engine does not work.
            OvertakenError: a newer question came first.
        """
        self._newest += 1
        number = self._newest
        if self._engine is not None:
            self._engine.stop()
        async with self._turn:
            if number != self._newest:
                raise OvertakenError
            return await asyncio.to_thread(self._search, sfen)

    def _search(self, sfen: str) -> dict[str, Any]:
        if self._engine is None:
            self._engine = self._start()
        self._engine.set_position(sfen)
        result = self._engine.go(Limits(movetime_ms=self._movetime_ms, multipv=LINES))
        sign = -1 if sfen.split()[1] == "w" else 1
        lines = [{"score": sign * line.score, "depth": line.depth, "pv": list(line.pv)} for line in result.lines]
        return {"move": result.bestmove, "nodes": result.nodes, "lines": lines}

    def close(self) -> None:
        """End the engine; it may take a second."""
        if self._engine is not None:
            self._engine.close()
