"""An engine that answers the live page's questions, for the tests."""

from __future__ import annotations

import threading
from typing import Any

from master.live.asking import Asker
from worker.engine import Bound, EngineError, Limits, SearchInfo, SearchResult


class Searcher:
    """An engine whose searches last until they are stopped, if so configured."""

    name, can_split, rules = "searcher", True, None

    def __init__(self, waits: bool = False) -> None:
        self.waits = waits
        self.begun = threading.Event()
        self.searched: list[str] = []
        self.closed = False
        self._stopped = threading.Event()

    def set_position(self, sfen: str, moves: Any = ()) -> None:
        if len(sfen.split()) != 4:
            raise EngineError(f"no SFEN: {sfen}")
        self._sfen = sfen
        self._stopped.clear()

    def go(self, limits: Limits, on_info: Any = None) -> SearchResult:
        self.searched.append(self._sfen)
        self.begun.set()
        if self.waits:
            assert self._stopped.wait(20)
        line = SearchInfo(3, 3, 50, Bound.EXACT, 100, 1, 0, ("7g7f", "3c3d"))
        return SearchResult("7g7f", None, 100, 1, (line,) * limits.multipv)

    def stop(self) -> None:
        self._stopped.set()

    def new_game(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


def made(searcher: Searcher) -> Asker:
    return Asker(lambda: searcher)  # type: ignore[arg-type,return-value]
