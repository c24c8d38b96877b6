"""Whether and when to try again."""

from __future__ import annotations

import random

import pytest

from master.game.loop import Backoff, Rivalry, ShownOut


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


def test_a_name_that_is_shown_out_again_and_again() -> None:
    shown_out = ShownOut(suspected=3, certain=5)
    assert [shown_out.again(1.0) for _ in range(5)] == [
        Rivalry.NONE,
        Rivalry.NONE,
        Rivalry.SUSPECTED,
        Rivalry.NONE,
        Rivalry.CERTAIN,
    ]
    assert shown_out.times == 5


def test_a_long_wait_or_anything_else_begins_anew() -> None:
    """A server that is restarted once a day, or a line that drops now and then, is no rival."""
    shown_out = ShownOut(suspected=2, certain=3)
    assert [shown_out.again(waited_s) for waited_s in (1.0, 1800.0, 1.0, 1800.0)] == [Rivalry.NONE] * 4
    for _ in range(10):
        shown_out.again(1.0)
        shown_out.over()
        assert shown_out.times == 0
    assert shown_out.again(1.0) is Rivalry.NONE


@pytest.mark.parametrize("seed", range(20))
def test_of_two_gougis_one_gives_up_within_minutes_and_the_other_stays(seed: int) -> None:
    """Two players with the delays of `Backoff`, on a server where each login ends the other's wait."""
    rng = random.Random(seed)
    backoff = Backoff(attempts=None)
    comes_at = {"first": 0.0, "second": rng.uniform(0, 1800)}
    since = dict.fromkeys(comes_at, 0.0)
    rows = {name: ShownOut() for name in comes_at}
    failures = dict.fromkeys(comes_at, 0)
    inside = ""
    while len(comes_at) or not inside:
        name = min(comes_at, key=comes_at.__getitem__)
        now = comes_at.pop(name)
        loser, inside, since[name] = inside, name, now
        if not loser:
            continue
        waited_s = now - since[loser]
        if rows[loser].again(waited_s) is Rivalry.CERTAIN:
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
