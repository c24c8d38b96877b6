"""A GUI and a fleet for the USI front, in virtual time."""

from __future__ import annotations

from cluster.api import (
    Decision,
    Known,
    Pondered,
    PonderSearch,
    SearchRequest,
    StartSearch,
    StopSearch,
)
from master.usi.events import Event, FleetPlan, Instruction
from master.usi.front import FleetFront
from master.usi.options import FleetOptions
from tests.answers import make_decision, make_progress
from worker.book import BookReply
from worker.usi.events import AskBook, BookReplied, GuiLine, NewGame, Prepare, Prepared, Say, Tick

PLAN = FleetPlan(nodes=2, hash_mb=16, threads=1, eval_file="", fv_scale=0, mode="auto", vote="majority")
TIMES = "btime 60000 wtime 60000 binc 1000 winc 1000"


def decision(request: SearchRequest, *pv: str, score: int | None = 30, depth: int = 9, **fields: object) -> Decision:
    return make_decision(request.search_id, pv[0], score, depth, pv, 5000, 700, "vote", **fields)


class Bench:
    """``said`` are the lines for the GUI since the last `take`, ``done`` all other instructions."""

    def __init__(self, plan: FleetPlan = PLAN, *, ready: bool = True) -> None:
        self.now = 1000.0
        self.book: BookReply | None = BookReply(None)
        """The book's immediate answer; None: it takes its time."""
        self.said: list[str] = []
        self.done: list[Instruction] = []
        self.asked: list[AskBook] = []
        """The book's questions."""
        self.front = FleetFront(FleetOptions(plan), strict=True)
        if ready:
            self.send("isready")
            self.feed(Prepared())
            assert self.take() == ["readyok"]
            self.done.clear()

    def feed(self, event: Event, after: float = 0) -> list[Instruction]:
        self.now += after
        out = self.front.handle(event, self.now)
        for instruction in out:
            if isinstance(instruction, Say):
                self.said.append(instruction.text)
            elif isinstance(instruction, AskBook):
                self.asked.append(instruction)
                if self.book is not None:
                    out = [*out, *self.feed(BookReplied(self.book))]
            else:
                self.done.append(instruction)
        return out

    def find(self, known: Known, *replies: str) -> None:
        """Pondering has found something about each of these replies."""
        self.feed(Pondered(self.pondered.search_id, dict.fromkeys(replies, known)))

    def send(self, *lines: str, after: float = 0) -> None:
        for line in lines:
            self.feed(GuiLine(line, self.now + after), after)

    def tick(self, after: float) -> None:
        """Go on in time, with a `Tick` whenever one is due."""
        end = self.now + after
        while (wake := self.front.wake_ms()) is not None and wake <= end:
            self.feed(Tick(), max(0.0, wake - self.now))
        self.now = end

    def take(self) -> list[str]:
        said, self.said = self.said, []
        return said

    def moves(self) -> list[str]:
        """The ``bestmove`` lines since the last `take`, which this is."""
        return [line for line in self.take() if line.startswith("bestmove")]

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


__all__ = ["PLAN", "TIMES", "Bench", "NewGame", "Prepare", "StopSearch", "decision", "thinking"]
