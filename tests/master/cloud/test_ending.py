"""The ends of a fleet by itself, in virtual time."""

from __future__ import annotations

import pytest

from master.cloud.ending import EndRule

HOUR = 3600.0
BEGAN = 10_000.0


@pytest.mark.parametrize(
    ("now", "last_move", "ends"),
    [
        (BEGAN + 1.9 * HOUR, None, False),
        (BEGAN + 2.0 * HOUR, None, True),
        (BEGAN + 3.0 * HOUR, BEGAN + 1.5 * HOUR, False),
        (BEGAN + 3.5 * HOUR, BEGAN + 1.5 * HOUR, True),
        (BEGAN + 1.0 * HOUR, BEGAN - 9.0 * HOUR, False),  # a record of another run
    ],
)
def test_idle(now: float, last_move: float | None, ends: bool) -> None:
    assert bool(EndRule(idle_hours=2).why(now, BEGAN, last_move, 0.0)) is ends


@pytest.mark.parametrize(
    ("quiet_s", "usd", "ends"),
    [
        (10, 9.99, False),
        (10, 10.0, False),  # a game is being played
        (10, 10.99, False),
        (10, 11.0, True),  # a tenth over it: no game is worth more
        (299, 10.5, False),
        (300, 10.0, True),
    ],
)
def test_the_cap_lets_a_game_end_but_not_at_any_price(quiet_s: float, usd: float, ends: bool) -> None:
    now = BEGAN + HOUR
    assert bool(EndRule(price_cap_usd=10.0).why(now, BEGAN, now - quiet_s, usd)) is ends


def test_the_cap_where_no_game_was_played() -> None:
    assert EndRule(price_cap_usd=10.0).why(BEGAN + 1, BEGAN, None, 10.0) == (
        "price cap: 10.00 of 10.00 US dollars are spent"
    )


def test_without_rules_it_goes_on_for_ever() -> None:
    assert EndRule().why(BEGAN + 1e6, BEGAN, None, 1e6) == ""
