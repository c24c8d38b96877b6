"""Whether and when to try again."""

from __future__ import annotations

import random

import pytest

from master.game.loop import CERTAIN, Backoff, times_shown_out


def test_delays_grow_and_end() -> None:
    backoff = Backoff(first_s=1, factor=2, most_s=10, attempts=6)
    endless = Backoff(attempts=None).delay_s(10**6, random.Random(1))
    assert endless is not None
    assert 60 <= endless <= 120
    delays = [backoff.delay_s(failures, random.Random(1)) for failures in range(1, 7)]
    assert delays[-1] is None
    for delay, longest in zip(delays, [1, 2, 4, 8, 10], strict=False):
        assert delay is not None
        assert longest / 2 <= delay <= longest


def test_a_long_wait_begins_the_row_anew() -> None:
    """A server that is restarted once a day, or a line that drops now and then, is no second Gougi."""
    times = 0
    for waited_s, expected in ((1.0, 1), (1.0, 2), (1800.0, 0), (1.0, 1)):
        times = times_shown_out(times, waited_s)
        assert times == expected


@pytest.mark.parametrize("seed", range(20))
def test_of_two_gougis_one_gives_up_within_minutes_and_the_other_stays(seed: int) -> None:
    """Two players with the delays of `Backoff`, on a server where each login ends the other's wait."""
    rng = random.Random(seed)
    backoff = Backoff(attempts=None)
    comes_at = {"first": 0.0, "second": rng.uniform(0, 1800)}
    since = dict.fromkeys(comes_at, 0.0)
    rows = dict.fromkeys(comes_at, 0)
    failures = dict.fromkeys(comes_at, 0)
    inside = ""
    while len(comes_at) or not inside:
        name = min(comes_at, key=comes_at.__getitem__)
        now = comes_at.pop(name)
        loser, inside, since[name] = inside, name, now
        if not loser:
            continue
        waited_s = now - since[loser]
        rows[loser] = times_shown_out(rows[loser], waited_s)
        if rows[loser] >= CERTAIN:
            break
        failures[loser] = 1 if waited_s >= 60 else failures[loser] + 1
        delay_s = backoff.delay_s(failures[loser], rng)
        assert delay_s is not None
        comes_at[loser] = now + delay_s
    else:
        pytest.fail("they never met")
    assert inside != loser
    assert now - max(since.values()) == 0
    assert now < 1800 + 20 * 60
