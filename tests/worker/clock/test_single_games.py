"""The single engine in whole games against a GUI's clock, in virtual time: no flag falls, and the time is used.

The engine is asked between its iterations only, each of which takes one and a half to three times as long as the one
before; its deadline is the hard limit.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.clock import Signs, Watch
from worker.clock.gui_clock import GuiClock, Turn
from worker.shogi import STARTPOS
from worker.usi.options import Options

Spend = Callable[[Turn, float, random.Random], float]


def iterate(turn: Turn, now_ms: float, rng: random.Random) -> float:
    """The time of a search."""
    elapsed, iteration, depth = 0.0, 1.0, 1
    while True:
        iteration *= rng.uniform(1.5, 3.0)
        depth += 1
        if elapsed + iteration >= turn.hard_ms:
            return float(turn.hard_ms)
        elapsed += iteration
        effort = rng.random() if depth >= 10 else None
        signs = Signs(elapsed, "7g7f", int(rng.gauss(0, 60)), changes=rng.choice([0, 0, 0, 1]), effort=effort)
        if not turn.goes_on(signs, now_ms + elapsed):
            return elapsed


def to_the_end(turn: Turn, now_ms: float, rng: random.Random) -> float:
    return float(turn.hard_ms)


def play(
    total_ms: int,
    increment_ms: int,
    byoyomi_ms: int,
    rng: random.Random,
    *,
    unit_ms: int = 1,
    delay_ms: Callable[[], float] = lambda: 0.0,
    spend: Spend = iterate,
    moves: int = 70,
    **options: object,
) -> tuple[float, float]:
    """Black's side of a game: the least time by which its flag did not fall (below 0: it fell), and the rest of the
    main time."""
    values, clock, now = Options(), GuiClock(), 0.0
    for name, value in options.items():
        values.set(name, str(value))
    left, least = float(total_ms), float("inf")
    for number in range(moves):
        line = ("7g7f", "3c3d") * number
        times = {"btime": int(left), "wtime": 1000, "binc": increment_ms, "byoyomi": byoyomi_ms}
        watch = Watch(clock.expected_score(STARTPOS, line))
        turn = clock.turn(
            times,
            STARTPOS,
            line,
            values.time_options,
            colour=0,
            ply=2 * number,
            began_ms=now,
            now_ms=now + rng.uniform(0, 2),
            watch=watch,
        )
        assert turn is not None
        began, now = now, now + spend(turn, now, rng) + rng.uniform(0, 10)
        clock.answered(turn, STARTPOS, line, int(rng.gauss(0, 60)), now, aimed=False)
        charged = (now - began + delay_ms()) // unit_ms * unit_ms
        least = min(least, left + increment_ms + byoyomi_ms - charged)
        left = max(0.0, left + increment_ms - charged)
        now += 1000
    return least, left


@settings(max_examples=40)
@given(
    total=st.integers(0, 600_000),
    increment=st.integers(0, 5_000),
    byoyomi=st.integers(0, 30_000),
    whole=st.booleans(),
    delay=st.sampled_from([0, 20, 120, 500]),
    spend=st.sampled_from([iterate, to_the_end]),
    seed=st.integers(0, 1 << 30),
)
def test_no_flag_falls_if_the_delays_are_those_of_the_option(
    total: int, increment: int, byoyomi: int, whole: bool, delay: int, spend: Spend, seed: int
) -> None:
    """``NetworkDelay`` 100 ms above the worst delay of the line: engine and machine have their delays too."""
    rng = random.Random(seed)
    unit = 1000 if whole else 1
    total, increment, byoyomi = (time // unit * unit for time in (total, increment, byoyomi))
    if byoyomi + increment < 4 * (delay + 100):
        return  # the new time does not pay for the delays, or for half of them only
    least, _ = play(
        total,
        increment,
        byoyomi,
        rng,
        unit_ms=unit,
        delay_ms=lambda: rng.uniform(0, delay),
        spend=spend,
        NetworkDelay=delay + 100,
    )
    assert least > 0


@pytest.mark.parametrize("byoyomi", [100, 500, 3000])
def test_a_short_byoyomi_on_one_machine_is_never_overrun(byoyomi: int) -> None:
    least, _ = play(0, 0, byoyomi, random.Random(byoyomi), delay_ms=lambda: 5.0)
    assert 0 < least <= byoyomi * 0.6


@pytest.mark.parametrize(("total", "increment"), [(5_000, 50), (60_000, 0), (300_000, 2_000), (900_000, 5_000)])
def test_main_time_is_used(total: int, increment: int) -> None:
    """Over games of 140 plies, by an engine that learns in each of them how short the delay is."""
    rng = random.Random(total)
    games = [play(total, increment, 0, rng, delay_ms=lambda: rng.uniform(0, 5)) for _ in range(5)]
    assert all(least > 0 for least, _ in games)
    assert sum(left for _, left in games) / len(games) < 0.1 * total
