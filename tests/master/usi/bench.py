"""A GUI and a fleet for the USI front, in virtual time."""

from __future__ import annotations

from cluster.api import Decision, Known, Progress, RootLine, SearchRequest
from master.usi.events import (
    Decided,
    Event,
    FleetPlan,
    GuiLine,
    Instruction,
    NewGame,
    PonderSearch,
    Prepare,
    Prepared,
    Progressed,
    Say,
    StartSearch,
    StopSearch,
    Tick,
)
from master.usi.front import UsiFront
from master.usi.options import FleetOptions
from worker.book import BookReply, BookSettings
from worker.shogi import Position

PLAN = FleetPlan(nodes=2, hash_mb=16, threads=1, eval_file="", fv_scale=0, mode="auto", vote="majority")
TIMES = "btime 60000 wtime 60000 binc 1000 winc 1000"


def decision(request: SearchRequest, *pv: str, score: int | None = 30, depth: int = 9, **fields: object) -> Decision:
    lines = () if score is None else (RootLine(score, depth, pv),)
    made = Decision(request.search_id, pv[0], score, depth, pv, 5000, 700, "vote", lines=lines)
    return Decision(**{**{name: getattr(made, name) for name in made.__slots__}, **fields})  # type: ignore[arg-type]


class Bench:
    """``said`` are the lines for the GUI since the last `take`, ``done`` all other instructions."""

    def __init__(self, plan: FleetPlan = PLAN, *, ready: bool = True) -> None:
        self.now = 1000.0
        self.answer: Known | None = None
        """What pondering has found out."""
        self.asked: list[SearchRequest] = []
        self.book = BookReply(None)
        self.said: list[str] = []
        self.done: list[Instruction] = []
        self.front = UsiFront(FleetOptions(plan), self._known, self._ask_book)
        if ready:
            self.send("isready")
            self.feed(Prepared())
            assert self.take() == ["readyok"]
            self.done.clear()

    def _known(self, request: SearchRequest) -> Known | None:
        self.asked.append(request)
        return self.answer

    def _ask_book(self, _position: Position, _settings: BookSettings, _only: tuple[str, ...]) -> BookReply:
        return self.book

    def feed(self, event: Event, after: float = 0) -> list[Instruction]:
        self.now += after
        out = self.front.handle(event, self.now)
        for instruction in out:
            if isinstance(instruction, Say):
                self.said.append(instruction.text)
            else:
                self.done.append(instruction)
        return out

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
        """Of the last search that was started."""
        return [found.request for found in self.done if isinstance(found, StartSearch)][-1]

    @property
    def pondered(self) -> SearchRequest:
        return [found.request for found in self.done if isinstance(found, PonderSearch)][-1]

    def of(self, kind: type[Instruction]) -> list[Instruction]:
        """The instructions of a kind, so far."""
        return [found for found in self.done if isinstance(found, kind)]

    def decide(self, *pv: str, **fields: object) -> None:
        self.feed(Decided(decision(self.request, *pv, **fields)))  # type: ignore[arg-type]

    def progress(self, score: int, *pv: str, after: float = 400, agreement: float = 1.0) -> None:
        request = self.request
        lines = (RootLine(score, 8, pv),)
        self.feed(Progressed(Progress(request.search_id, 400, 8, score, pv, 4000, (), agreement, lines)), after)


__all__ = ["PLAN", "TIMES", "Bench", "NewGame", "Prepare", "StopSearch", "decision"]
