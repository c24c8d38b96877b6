"""Game names: what they say, and which are refused before anybody logs in with them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from master.csa.login import DEFAULT_GAME, GameNameError, check_game_name, parse_game_name, split_password
from worker.clock.timecontrol import TimeControl


@pytest.mark.parametrize(
    ("text", "game", "time", "side"),
    [
        ("floodgate-300-10F", "floodgate-300-10F", TimeControl(300_000, increment_ms=10_000), "*"),
        ("test-60-5F-B", "test-60-5F", TimeControl(60_000, increment_ms=5_000), "B"),
        ("test-60-10-w", "test-60-10", TimeControl(60_000, byoyomi_ms=10_000), "W"),
        ("a.b@c_d-e-0-0", "a.b@c_d-e-0-0", TimeControl(), "*"),
        ("wcsc-2026-900-5F", "wcsc-2026-900-5F", TimeControl(900_000, increment_ms=5_000), "*"),
        ("x" * 32 + "-1-1", "x" * 32 + "-1-1", TimeControl(1_000, byoyomi_ms=1_000), "*"),
    ],
)
def test_what_a_name_says(text: str, game: str, time: TimeControl, side: str) -> None:
    name = parse_game_name(text)
    assert name is not None
    assert (name.game, name.time(), name.side) == (game, time, side)
    assert check_game_name(text) == []


@pytest.mark.parametrize("text", ["floodgate300-10F", "test", "test-60", "test-60-5f", "x" * 33 + "-1-1", "-60-5F", ""])
def test_what_the_server_takes_for_its_default_game(text: str) -> None:
    assert parse_game_name(text) is None


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("floodgate300-10F", "floodgate-300-10F"),
        ("floodgate-300-10f", "floodgate-300-10F"),
        ("floodgate_300_10F", "floodgate-300-10F"),
        ("floodgate-300+10F", "floodgate-300-10F"),
        ("floodgate-300,10F", "floodgate-300-10F"),
        ("floodgate 300 10F", "floodgate-300-10F"),
        ("floodgate-600-F10", "floodgate-300-10F"),
        ("floodgate", "floodgate-300-10F"),
        ("Floodgate-300-10F", "floodgate-300-10F"),
        ("floodgat-600-10F", "floodgate-600-10F"),
        ("floodgate--300-10F", "floodgate-300-10F"),
        ("flodgate300", "floodgate-300-10F"),
        ("test60-5F", "test-60-5F"),
        ("test-60-5f-b", "test-60-5F-B"),
        ("my game-60-5F", "my_game-60-5F"),
    ],
)
def test_a_misspelling_is_refused_with_the_likely_name(text: str, meant: str) -> None:
    with pytest.raises(GameNameError) as caught:
        check_game_name(text)
    assert str(caught.value).startswith(repr(text))
    assert str(caught.value).endswith(f"; did you mean {meant}?")
    assert check_game_name(meant) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("wcsc36", DEFAULT_GAME),
        ("denryu-2025", DEFAULT_GAME),
        ("test60-5", "did you mean test-60-5?"),
        ("floodgate-300-10", "did you mean floodgate-300-10F?"),
        ("floodgate-60-5F", "floodgate is not known to pair floodgate-60-5F"),
    ],
)
def test_other_names_are_allowed_with_a_warning(text: str, says: str) -> None:
    (warning,) = check_game_name(text)
    assert says in warning


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("floodgate-300-10F-B", "nobody chooses a side on floodgate; the name is floodgate-300-10F"),
        ("hc2p_test-60-5F", "hc2p_test-60-5F-B"),
        ("x" * 33 + "-60-5F", "33 characters"),
        ("テスト", "'テ' has no place"),
        ("a,b", "',' has no place"),
    ],
)
def test_names_that_bring_no_game_are_refused(text: str, says: str) -> None:
    with pytest.raises(GameNameError, match="^" + repr(text)) as caught:
        check_game_name(text)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("password", "game", "trip"),
    [
        ("test-60-5F,pwa", "test-60-5F", "pwa"),
        ("test-60-5F-B,tr,ip", "test-60-5F", "tr,ip"),
        ("test-60-5F", "test-60-5F", ""),
        ("justapassword", None, "justapassword"),
        ("floodgate300-10F,trip", None, "trip"),
        ("test-60-5F,", None, "test-60-5F,"),
        ("test-60-5F,trip,", "test-60-5F", "trip"),
    ],
)
def test_a_password_is_taken_apart_as_the_server_does_it(password: str, game: str | None, trip: str) -> None:
    name, said = split_password(password)
    assert (None if name is None else name.game, said) == (game, trip)


def test_offered_times() -> None:
    name = parse_game_name("test-60-5F")
    assert name is not None
    assert name.allows(TimeControl(60_000, increment_ms=5_000, least_ms=1_000, delay_ms=1))
    assert name.allows(TimeControl(60_000, increment_ms=5_000, unit_ms=1))
    for other in (TimeControl(60_000, byoyomi_ms=5_000), TimeControl(59_000, increment_ms=5_000), TimeControl()):
        assert not name.allows(other)
    watch = parse_game_name("test-900-060")  # the server's stop watch: seconds, said to be minutes
    assert watch is not None
    assert not watch.allows(TimeControl(54_000_000, byoyomi_ms=3_600_000, unit_ms=60_000))


@given(st.one_of(st.text(max_size=40), st.from_regex(r"[A-Za-z_-]{0,12}[0-9]{0,7}[-_ ,+]?[0-9]{0,7}[Ff]?(-[BWbwx])?")))
def test_any_text_is_taken_or_refused(text: str) -> None:
    try:
        warnings = check_game_name(text)
    except GameNameError:
        return
    assert warnings or parse_game_name(text) is not None
