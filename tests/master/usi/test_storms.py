"""The USI front under random events from the GUI and the fleet: its guarantees hold."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.api import Decision, Pondered, PonderSearch, StartSearch
from master.usi.options import Event, FleetEvent
from tests.answers import make_known, make_progress
from tests.master.usi.bench import Bench, decision
from tests.usi_bench import LINES
from worker.mate import MateResult, MateStatus
from worker.usi.events import Failed, GuiLine, MateSolved, Prepare, Prepared, SendToGui, SolveMate, Tick

OPTIONS = ("setoption name Nodes value 3", "setoption name Nodes value many", "setoption name MultiPV value 2")


class Storm:
    """A fleet that obeys after a delay, or in its own way, with counts of the answers that the GUI should get."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.bench = Bench(ready=False)
        self.due: list[Event] = []
        """Events that the fleet will send."""
        self.sent = {"go": 0, "mate": 0, "isready": 0}
        self.heard = {"bestmove": 0, "checkmate": 0, "readyok": 0}
        self.starts = 0
        self.knows = False
        """Pondering finds something."""

    def feed(self, event: Event, after: float = 0) -> None:
        for instruction in self.bench.feed(event, after):
            match instruction:
                case Prepare(plan, _):
                    fails = plan is not None and self.rng.random() < 0.1 and self.heard["readyok"]
                    self.due.append(Prepared("not now", self.rng.random() < 0.7) if fails else Prepared())
                case StartSearch(request):
                    assert self.starts < request.search_id, "search ids rise"
                    self.starts = request.search_id
                    line = decision(request, "7g7f" if not request.moves else "2g2f")
                    self.due.append(line if self.rng.random() < 0.9 else Failed(request.search_id, "no"))
                case PonderSearch(request) if self.knows:
                    known = make_known("2g2f", 1, 1, 1, 1, 1, ("2g2f",))
                    self.due.append(Pondered(request.search_id, {"3c3d": known}))
                case SolveMate():
                    self.due.append(MateSolved(MateResult(MateStatus.NO_MATE, (), 1, 1)))
                case SendToGui(text) if text.split(" ")[0] in self.heard:
                    self.heard[text.split(" ")[0]] += 1

    def line(self, text: str) -> None:
        words = text.split()
        if words[:2] == ["go", "mate"]:
            self.sent["mate"] += 1
        elif words[:1] == ["go"]:
            self.sent["go"] += 1
        elif words == ["isready"]:
            self.sent["isready"] += 1
        self.feed(GuiLine(text, self.bench.now))

    def fleet(self) -> None:
        """The fleet sends one of its possible events. `Prepared` is never overtaken: nothing runs before."""
        if self.due:
            event = self.due.pop(0)
            if isinstance(event, Decision) and self.rng.random() < 0.5:
                self.feed(make_progress(event.search_id, 10, 4, 3, event.pv, 100, (), 0.5))
            self.feed(event)

    def check(self) -> None:
        assert self.heard["bestmove"] <= self.sent["go"], "a bestmove that nobody asked for"
        assert self.heard["checkmate"] <= self.sent["mate"]
        assert self.heard["readyok"] <= self.sent["isready"]


@settings(max_examples=75)
@given(seed=st.integers(0, 2**32), texts=st.lists(st.sampled_from(LINES + OPTIONS), max_size=60))
def test_everything_is_answered_once(seed: int, texts: list[str]) -> None:
    storm = Storm(seed)
    storm.knows = seed % 2 == 1
    for text in ["isready", *texts]:
        storm.line(text)
        while storm.rng.random() < 0.5:
            storm.fleet()
        if storm.rng.random() < 0.3:
            storm.feed(Tick(), storm.rng.choice([0, 50, 3000, 7000]))
        storm.feed(FleetEvent(storm.rng.choice(["node_lost", "dealt", "node_joined"]), {"live": 1, "why": "x\ny"}))
        storm.check()
    for _ in range(100):  # all requests are answered in the end
        storm.line("stop")
        while storm.due:
            storm.fleet()
    storm.check()
    assert storm.heard == {
        "bestmove": storm.sent["go"],
        "checkmate": storm.sent["mate"],
        "readyok": storm.sent["isready"],
    }


@settings(max_examples=50)
@given(st.lists(st.text(max_size=40), max_size=10))
def test_no_line_is_an_exception(texts: list[str]) -> None:
    bench = Bench()
    for text in texts:
        bench.send(text, f"go {text}", f"position {text}", f"setoption {text}")
