"""A GUI and a fleet for the USI front, in virtual time."""

from __future__ import annotations

from cluster.api import Decision, Known, Pondered, PonderSearch, SearchRequest, StartSearch
from master.usi.front import FleetFront
from master.usi.options import FleetOptions, FleetPlan, Instruction
from tests.answers import make_decision, make_progress
from tests.usi_bench import TIMES, UsiBench

PLAN = FleetPlan(nodes=2, hash_mb=16, threads=1, eval_file="", fv_scale=0, architecture="", mode="consult")


def decision(request: SearchRequest, *pv: str, score: int | None = 30, depth: int = 9, **fields: object) -> Decision:
    return make_decision(request.search_id, pv[0], score, depth, pv, 5000, 700, "vote", **fields)


class Bench(UsiBench):
    """A fleet with its front."""

    def __init__(self, plan: FleetPlan = PLAN, *, ready: bool = True) -> None:
        super().__init__(FleetFront(FleetOptions(plan), strict=True), ready=ready)

    def find(self, known: Known, *replies: str) -> None:
        """Pondering has found something about each of these replies."""
        self.feed(Pondered(self.pondered.search_id, dict.fromkeys(replies, known)))

    @property
    def request(self) -> SearchRequest:
        """The request of the last search that was started."""
        return [found.request for found in self.done if isinstance(found, StartSearch)][-1]

    @property
    def pondered(self) -> SearchRequest:
        return [found.request for found in self.done if isinstance(found, PonderSearch)][-1]

    def of(self, kind: type[Instruction]) -> list[Instruction]:
        """The instructions of a kind, so far."""
        return [found for found in self.done if isinstance(found, kind)]

    def decide(self, *pv: str, **fields: object) -> None:
        self.feed(decision(self.request, *pv, **fields))  # type: ignore[arg-type]

    def progress(self, score: int, *pv: str, after: float = 400, agreement: float = 1.0) -> None:
        progress = make_progress(self.request.search_id, 400, 8, score, pv, 4000, (), agreement)
        self.feed(progress, after)


def thinking(go: str = f"go {TIMES}", position: str = "position startpos") -> Bench:
    """A ready front that was given a position and a ``go``."""
    bench = Bench()
    bench.send(position, go)
    return bench
