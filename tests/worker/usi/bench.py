"""A GUI and a single engine for the USI front, in virtual time."""

from __future__ import annotations

from tests.usi_bench import TIMES, UsiBench
from worker.clock import Signs
from worker.engine import Bound, SearchInfo, SearchResult
from worker.usi.front import UsiFront
from worker.usi.options import Options
from worker.usi.single import BeginSearch, EndSearch, Iterated, Searched, Shown, SingleThinking


def info(*pv: str, depth: int = 9, score: int = 30, time_ms: int = 700, multipv: int = 1) -> SearchInfo:
    return SearchInfo(depth, depth + 2, score, Bound.EXACT, 5000, time_ms, 100, pv, multipv)


class Bench(UsiBench):
    """A single engine with its front."""

    def __init__(self, *, ready: bool = True) -> None:
        self.options = Options()
        super().__init__(UsiFront(self.options, SingleThinking(self.options, strict=True), strict=True), ready=ready)

    @property
    def search(self) -> BeginSearch:
        """The last search that was begun."""
        return [found for found in self.done if isinstance(found, BeginSearch)][-1]

    @property
    def ended(self) -> list[int]:
        """The numbers of the searches that were told to end."""
        return [found.search_id for found in self.done if isinstance(found, EndSearch)]

    def show(self, line: SearchInfo) -> None:
        self.feed(Shown(self.search.search_id, line))

    def iterate(self, elapsed_ms: float, move: str = "7g7f") -> bool:
        """An iteration is over. Returns whether the search continues."""
        self.now += elapsed_ms
        return not self.front.handle(Iterated(self.search.search_id, Signs(elapsed_ms, move, 30)), self.now)

    def find(self, *pv: str, score: int = 30, search: BeginSearch | None = None) -> None:
        """A search ends with this line; by default the last search."""
        ponder = pv[1] if len(pv) > 1 else None
        result = SearchResult(pv[0], ponder, 5000, 700, (info(*pv, score=score),))
        self.feed(Searched((search or self.search).search_id, result))


def thinking(go: str = f"go {TIMES}", position: str = "position startpos") -> Bench:
    """A ready front that was given a position and a ``go``."""
    bench = Bench()
    bench.send(position, go)
    return bench
