"""Lessons from the times of the GUI's ``go`` lines, alone and in games against a GUI's clock."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from master.usi.charges import Answered, Asked, Charges
from tests.master.usi.bench import Bench
from worker.shogi import STARTPOS

FIRST = Asked(STARTPOS, ("7g7f", "3c3d"), 60_000, 0, 0)
NEXT = replace(FIRST, moves=("7g7f", "3c3d", "2g2f", "8c8d"))
START_MS = 100


def worst_after(thought_ms: float, first: Asked, second: Asked) -> float:
    """The worst delay that is assumed after one move."""
    charges = Charges()
    delays = charges.delays(START_MS)
    charges.asked(first)
    charges.answered(Answered(thought_ms, 0, 0))
    charges.asked(second)
    assert charges.delays(START_MS) is delays
    return delays.worst_ms / 1.4 if delays.worst_ms > START_MS else 0


@pytest.mark.parametrize(
    ("first", "left_ms", "thought_ms", "expected"),
    [
        (FIRST, 56_750, 2_500, 750),  # counted in milliseconds
        (FIRST, 57_500, 2_700, 0),  # charged less than it took
        (FIRST, 56_000, 3_000, 1_000),  # whole seconds: 4 to 5 s were charged
        (FIRST, 57_000, 3_200, 0),  # 3 to 4 s: nothing is sure
        (replace(FIRST, increment_ms=2_000), 57_250, 2_500, 2_250),
        (replace(FIRST, byoyomi_ms=5_000), 0, 57_000, 3_000),  # 60 s at the least
        (replace(FIRST, left_ms=0, byoyomi_ms=5_000), 0, 1_000, 0),  # byoyomi tells nothing
        (FIRST, 60_001, 1_000, 0),  # somebody has set the clock
        (FIRST, 20_000, 1_000, 0),
    ],
)
def test_what_a_move_was_charged_beyond_its_thinking(
    first: Asked, left_ms: int, thought_ms: float, expected: float
) -> None:
    assert worst_after(thought_ms, first, replace(NEXT, left_ms=left_ms)) == pytest.approx(expected)


@pytest.mark.parametrize(
    "second",
    [replace(NEXT, moves=NEXT.moves[:3]), replace(NEXT, moves=("2g2f",) * 4), replace(NEXT, sfen="other")],
)
def test_another_game_tells_nothing_of_this_one(second: Asked) -> None:
    assert worst_after(1000, FIRST, replace(second, left_ms=50_000)) == 0


def test_a_move_that_was_not_answered_tells_nothing() -> None:
    charges = Charges()
    delays = charges.delays(START_MS)
    charges.asked(FIRST)
    charges.asked(replace(NEXT, left_ms=50_000))
    assert delays.worst_ms == START_MS


def test_another_start_value_begins_anew() -> None:
    charges = Charges()
    assert charges.delays(100) is charges.delays(100)
    assert charges.delays(100) is not charges.delays(200)


class Clock:
    """A GUI's clock, and what lies between it and us, that take ``delay_ms`` more of each move than we do."""

    def __init__(self, delay_ms: int, total_ms: int, increment_ms: int = 0, byoyomi_ms: int = 0, unit_ms: int = 1):
        self.delay_ms = delay_ms
        self.left_ms, self.increment_ms, self.byoyomi_ms, self.unit_ms = total_ms, increment_ms, byoyomi_ms, unit_ms
        self.bench = Bench()
        self.moves: list[str] = []
        self._shuffle = itertools.cycle(("2h3h", "8b7b", "3h2h", "7b8b"))

    def move(self, lag_ms: float = 5) -> float:
        """One move of ours, ``lag_ms`` after the soft time, and one of the opponent's. What is left on the clock while
        the flag has not fallen: below 0 it has."""
        bench = self.bench
        times = f"btime {self.left_ms} wtime 60000"
        times += f" byoyomi {self.byoyomi_ms}" if self.byoyomi_ms else f" binc {self.increment_ms} winc 1000"
        bench.send(
            f"position startpos moves {' '.join(self.moves)}" if self.moves else "position startpos", f"go {times}"
        )
        began = bench.now
        bench.now += min(bench.request.soft_ms + lag_ms, bench.request.hard_ms)
        ours = next(self._shuffle)
        bench.decide(ours)
        charged = (bench.now - began + self.delay_ms) // self.unit_ms * self.unit_ms
        left = self.left_ms + self.increment_ms + self.byoyomi_ms - charged
        self.left_ms = int(max(0, self.left_ms + self.increment_ms - charged))
        self.moves += [ours, next(self._shuffle)]
        return left


@pytest.mark.parametrize("increment_ms", [1000, 1500])
def test_a_slow_way_to_the_clock_does_not_lose_the_game(increment_ms: int) -> None:
    """A GUI over a network that counts milliseconds: each move costs 0.7 s more than we take."""
    clock = Clock(700, 20_001, increment_ms)
    assert min(clock.move() for _ in range(120)) > 0


def test_what_was_learned_in_main_time_holds_in_byoyomi() -> None:
    clock = Clock(2_600, 90_000, byoyomi_ms=6_000, unit_ms=1000)
    assert min(clock.move() for _ in range(60)) > 0
    assert clock.left_ms == 0, "or this shows nothing"


def test_what_was_learned_holds_in_the_next_game() -> None:
    clock = Clock(900, 60_001, 1000)
    bench = clock.bench
    bench.send("position startpos", "go btime 0 wtime 0 byoyomi 8000")
    before = bench.request.hard_ms
    bench.decide("7g7f")
    for _ in range(30):
        clock.move()
    bench.send("usinewgame", "position startpos", "go btime 0 wtime 0 byoyomi 8000")
    assert bench.request.hard_ms <= before - 500


def test_a_least_thinking_time_is_no_delay() -> None:
    clock = Clock(0, 600_001, 1000)
    clock.bench.send("setoption name MinimumThinkingTime value 9000")
    for _ in range(20):
        clock.move(0)
    clock.bench.send("setoption name MinimumThinkingTime value 0")
    assert clock.bench.front._thinking._charges.delays(120).usual_ms == 120
