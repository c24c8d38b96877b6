"""The clock in whole games, in virtual time: no flag falls that the clock can save, and the time is used.

The games are those of `benchmarks.clock`, which describes them and defines "usable".
"""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.clock import BAD_LINKS, CONTROLS, DELAY_KEPT, GUARD_MS, KINDS, LINKS, SETTINGS, play
from worker.clock import GameClock, Watch
from worker.clock.timecontrol import TimeControl


@pytest.mark.parametrize("name", CONTROLS)
@pytest.mark.parametrize("kind", ["even", "lost", "won"])
def test_no_flag_falls_and_the_time_is_used(name: str, kind: str) -> None:
    control, rng = CONTROLS[name], random.Random(f"{name} {kind}")
    links = list(LINKS.values())
    used = free = 0
    for number in range(9):
        game = play(
            control,
            links[number % len(links)],
            kind,
            rng,
            max_moves=(None, 256, 320)[number // len(links) % 3],
            delay_kept=name in DELAY_KEPT,
            ponder=number % 2 == 1,
        )
        assert not game.flag_fell
        used, free = used + game.used_ms, free + game.usable_ms - game.held_ms
    if kind != "won":
        assert used >= 0.93 * free


@pytest.mark.parametrize("link", ["far", *BAD_LINKS])
@pytest.mark.parametrize("name", [name for name, control in CONTROLS.items() if not control.byoyomi_ms])
def test_games_that_do_not_end_are_not_lost_on_time(name: str, link: str) -> None:
    """Over bad links too, if there is main time to pay for them; each move may cost a second for good."""
    rng = random.Random(f"{name} {link}")
    for max_moves in (256, None):
        game = play(
            CONTROLS[name],
            (LINKS | BAD_LINKS)[link],
            "stuck",
            rng,
            max_moves=max_moves,
            delay_kept=name in DELAY_KEPT,
        )
        assert not game.flag_fell


@pytest.mark.parametrize("name", ["WCSC 15m+5F", "10s+1F", "sudden death 15m", "15m, rounded up", "60s+1F, in ms"])
def test_nothing_is_left_over_if_the_game_ends_at_the_limit(name: str) -> None:
    rng = random.Random(name)
    games = [play(CONTROLS[name], LINKS["near"], "even", rng, max_moves=80) for _ in range(10)]
    assert not any(game.flag_fell for game in games)
    assert {game.moves for game in games} == {40}
    assert sum(game.used_ms for game in games) >= 0.975 * sum(game.usable_ms for game in games)


def soft(clock: GameClock, soft_ms: int, *_: object) -> float:
    return soft_ms


def hard(clock: GameClock, soft_ms: int, hard_ms: int, *_: object) -> float:
    return hard_ms + GUARD_MS


def either(
    clock: GameClock, soft_ms: int, hard_ms: int, now_ms: float, watch: Watch, score: int, rng: random.Random
) -> float:
    return rng.choice([0.0, soft_ms, hard_ms, rng.uniform(0, hard_ms)])


@pytest.mark.parametrize("name", CONTROLS)
def test_no_flag_falls_if_every_move_takes_its_full_time(name: str) -> None:
    rng = random.Random(name)
    for number in range(4):
        link = list(LINKS.values())[number % len(LINKS)]
        assert not play(CONTROLS[name], link, "even", rng, max_moves=(None, 320)[number % 2], spend=hard).flag_fell


@settings(max_examples=50)
@given(
    total=st.integers(0, 3600),
    byoyomi=st.integers(0, 60),
    increment=st.integers(0, 30),
    least=st.sampled_from([0, 0, 1]),
    roundup=st.booleans(),
    unit_ms=st.sampled_from([1000, 1000, 1, 60_000]),
    link=st.sampled_from(sorted(LINKS)),
    spend=st.sampled_from([soft, hard, either]),
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 1 << 30),
)
@example(42, 0, 0, 0, False, 1, "far", soft, "stuck", 0)
def test_no_flag_falls_under_any_control(
    total: int,
    byoyomi: int,
    increment: int,
    least: int,
    roundup: bool,
    unit_ms: int,
    link: str,
    spend: object,
    kind: str,
    seed: int,
) -> None:
    scale = max(1000, unit_ms)
    control = TimeControl(total * scale, byoyomi * scale, increment * scale, 0, least * scale, unit_ms, roundup)
    cost_of_a_move_at_once = control.charge(SETTINGS.network_margin_ms + SETTINGS.least_ms)
    if cost_of_a_move_at_once >= control.byoyomi_ms + control.increment_ms:
        if control.total_ms <= 130 * cost_of_a_move_at_once:
            return  # the moves of a game cost more than its time, for any player
        if spend is hard:
            return  # no time comes back, and this searcher answers at the last moment
    game = play(control, LINKS[link], kind, random.Random(seed), max_moves=256, spend=spend)  # type: ignore[arg-type]
    assert not game.flag_fell


def test_the_simulation_can_lose_on_time() -> None:
    """A searcher that is twenty times as late as the player allows."""

    def late(clock: GameClock, soft_ms: int, hard_ms: int, *_: object) -> float:
        return hard_ms + 20.0 * GUARD_MS

    assert play(CONTROLS["byoyomi 10s"], LINKS["near"], "even", random.Random(1), spend=late).flag_fell
