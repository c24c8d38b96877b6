"""The fleet in games against a GUI's clock that takes more of each move than the fleet does."""

from __future__ import annotations

import itertools

import pytest

from tests.master.usi.bench import Bench


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
    assert clock.bench.front._thinking._clock.charges.delays(120).usual_ms == 120
