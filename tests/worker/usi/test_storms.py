"""The USI front with a single engine under random events: each command of the GUI is answered once."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.usi_bench import LINES
from tests.worker.usi.bench import Bench, info
from worker.book import BookReply
from worker.clock import Signs
from worker.engine import SearchResult
from worker.mate import MateResult, MateStatus
from worker.usi.events import Failed, GuiLine, MateSolved, Prepare, Prepared, SolveMate, Tick
from worker.usi.single import BeginSearch, EndSearch, Iterated, Searched, Shown

OPTIONS = (
    "setoption name USI_Hash value 3",
    "setoption name USI_Hash value 4",
    "setoption name USI_Hash value many",
    "setoption name Stochastic_Ponder value true",
)


class Storm:
    """An engine that searches one thing after the other, each for a random time unless it is told to end."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.bench = Bench(ready=False)
        self.jobs: list[BeginSearch] = []
        self.ended = 0
        self.others: list[object] = []
        self.seen = 0

    def feed(self, event: object) -> None:
        self.bench.book = BookReply("7g7f" if self.rng.random() < 0.1 else None)
        self.bench.feed(event, self.rng.choice([0, 1, 400]))
        new, self.seen = self.bench.done[self.seen :], len(self.bench.done)
        for instruction in new:
            match instruction:
                case Prepare():
                    self.others.append(Prepared())
                case SolveMate():
                    self.others.append(MateSolved(MateResult(MateStatus.NO_MATE, (), 1, 1)))
                case BeginSearch(search_id):
                    assert all(job.search_id < search_id for job in self.jobs), "numbers rise"
                    self.jobs.append(instruction)
                case EndSearch(search_id):
                    assert search_id >= self.ended, "an end of one search ends all before it"
                    self.ended = search_id

    def engine(self) -> None:
        """The engine, or one of its side tasks, sends an event."""
        if self.others and self.rng.random() < 0.5:
            self.feed(self.others.pop(0))
        elif self.jobs:
            number, limits = self.jobs[0].search_id, self.jobs[0].limits
            if number > self.ended and self.rng.random() < 0.6:
                self.feed(Shown(number, info("7g7f")))
                self.feed(Iterated(number, Signs(10, "7g7f", 30)))
            elif number <= self.ended or not limits.infinite:
                self.jobs.pop(0)
                done = Searched(number, SearchResult("7g7f", None, 9, 9, (info("7g7f"),)))
                self.feed(done if self.rng.random() < 0.9 else Failed(number, "no"))


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), texts=st.lists(st.sampled_from(LINES + OPTIONS), max_size=50))
def test_everything_is_answered_once(seed: int, texts: list[str]) -> None:
    storm = Storm(seed)
    for text in texts:
        storm.feed(GuiLine(text, storm.bench.now))
        while storm.rng.random() < 0.5:
            storm.engine()
        if storm.rng.random() < 0.3:
            storm.feed(Tick())
    for _ in range(400):
        if not storm.jobs and not storm.others:
            break
        storm.engine()
        storm.feed(GuiLine("stop", storm.bench.now))
    said = [line.split()[0] for line in storm.bench.take() if line]
    assert said.count("bestmove") == sum(text.startswith("go") and "mate" not in text for text in texts)
    assert said.count("checkmate") == sum(text.startswith("go mate") for text in texts)
    assert said.count("readyok") == texts.count("isready")
