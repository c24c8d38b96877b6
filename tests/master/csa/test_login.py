"""The parts of a login, the server's answers, and the offers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from master.csa import login
from master.csa.events import Severity, severity_of, with_advice
from master.csa.offer import other_game
from master.csa.protocol import CsaProtocol
from master.csa.summary import parse_summary
from tests.master.csa.transcripts import WITH_SUMMARY, summary_lines


@pytest.mark.parametrize(
    ("text", "severity", "advice"),
    [
        (
            "You are not allowed to specify TEBAN + for the game floodgate-300-10F",
            Severity.PERMANENT,
            "leave -B or -W out",
        ),
        ("Random turn preference is not allowed for handicapped games", Severity.PERMANENT, "put -B or -W after"),
        ("bad game name: floodgate300-10F.", Severity.PERMANENT, "NAME-TOTAL-BYOYOMI"),
        ("game name should consist of three parts like game-1500-60.", Severity.PERMANENT, "NAME-TOTAL-BYOYOMI"),
        ("invalid identifiers are found or too many characters are used.", Severity.PERMANENT, "NAME-TOTAL-BYOYOMI"),
        ("As the service is going to shutdown shortly, starting new games is not allowed now.", Severity.TEMPORARY, ""),
        ("unknown command: x", Severity.IGNORABLE, ""),
        ("you are in agree_waiting status. GAME is valid in connected or game_waiting status", Severity.IGNORABLE, ""),
        ("", Severity.IGNORABLE, ""),
    ],
)
def test_what_the_server_says_and_what_it_means(text: str, severity: Severity, advice: str) -> None:
    assert severity_of(text) is severity
    said = with_advice(text)
    assert said.startswith(text.rstrip("."))
    assert advice in said
    assert (";" in said) == bool(advice)


@pytest.mark.parametrize("text", ["floodgate300-10F", "test", "test-60", "test-60-5f", "x" * 33 + "-1-1", "-60-5F", ""])
def test_what_the_server_takes_for_its_default_game(text: str) -> None:
    assert login.parse_game_name(text) is None


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("floodgate300-10F", "floodgate-300-10F"),
        ("floodgate-300-10f", "floodgate-300-10F"),
        ("floodgate_300_10F", "floodgate-300-10F"),
        ("floodgate-300,10F", "floodgate-300-10F"),
        ("floodgate 300 10F", "floodgate-300-10F"),
        ("Floodgate-300-10F", "floodgate-300-10F"),
        ("floodgat-600-10F", "floodgate-600-10F"),
    ],
)
def test_a_misspelling_is_refused_with_the_likely_name(text: str, meant: str) -> None:
    with pytest.raises(login.GameNameError) as caught:
        login.check_game_name(text)
    assert str(caught.value).startswith(repr(text))
    assert str(caught.value).endswith(f"; did you mean {meant}?")
    assert login.check_game_name(meant) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("wcsc36", login.DEFAULT_GAME),
        ("test60-5F", login.DEFAULT_GAME),
        ("floodgate-300-10", "did you mean floodgate-300-10F?"),
    ],
)
def test_other_names_are_allowed_with_a_warning(text: str, says: str) -> None:
    (warning,) = login.check_game_name(text)
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
    with pytest.raises(login.GameNameError, match="^" + repr(text)) as caught:
        login.check_game_name(text)
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
    name, said = login.split_password(password)
    assert (None if name is None else name.game, said) == (game, trip)


@given(st.one_of(st.text(max_size=40), st.from_regex(r"[A-Za-z_-]{0,12}[0-9]{0,7}[-_ ,+]?[0-9]{0,7}[Ff]?(-[BWbwx])?")))
def test_any_text_is_taken_or_refused(text: str) -> None:
    try:
        warnings = login.check_game_name(text)
    except login.GameNameError:
        return
    assert warnings or login.parse_game_name(text) is not None


GAME = "test-60-5F"


@pytest.mark.parametrize(
    ("name", "game", "password"),
    [
        ("gougi", GAME, "trip"),
        ("a_b-c.d@e", GAME, "tr,ip"),
        ("gougi", GAME, "x" * 64),
        ("gougi", "", "issued-word"),
        ("gougi", "", "test-60-5F,trip"),
        ("gougi", "", "floodgate-300-10F,trip"),
    ],
)
def test_what_is_sent(name: str, game: str, password: str) -> None:
    assert login.check_login(name, game, password) == []
    CsaProtocol().login(name, login.login_password(game, password))


@pytest.mark.parametrize(
    ("name", "game", "password", "says"),
    [
        ("", GAME, "trip", "the login name '' must be 1 to 32"),
        ("two words", GAME, "trip", "the login name 'two words'"),
        ("a,b", GAME, "trip", "the login name 'a,b'"),
        ("x" * 33, GAME, "trip", "must be 1 to 32"),
        ("gougi", GAME, "", "the password is empty"),
        ("gougi", GAME, "s3 cret", "its character 3 is a space"),
        ("gougi", GAME, "s3cret\n", "its character 7 is no printable ASCII character"),
        ("gougi", GAME, "s3crét", "its character 5 is no printable"),
        ("gougi", GAME, "s3cret" * 50, "300 characters: is that the right file?"),
        ("gougi", GAME, "s3cret,", "ends in a comma"),
        ("gougi", "", "floodgate-300-10F", "GAME,TRIP"),
        ("gougi", "floodgate300-10F", "s3cret", "game name 'floodgate300-10F'"),
    ],
)
def test_what_is_refused_and_never_repeated(name: str, game: str, password: str, says: str) -> None:
    with pytest.raises(login.LoginError) as caught:
        login.check_login(name, game, password)
    assert says in str(caught.value)
    assert not password or password not in str(caught.value)
    assert "s3" not in str(caught.value)


def test_warnings() -> None:
    assert "floodgate-300-10F?" in login.check_login("gougi", "floodgate-300-10", "trip")[0]
    assert "holds a comma" in login.check_login("gougi", "", "issued,word")[0]
    assert "33 characters" in login.check_login("gougi", "", "x" * 33)[0]


OFFER = parse_summary(summary_lines("01_fischer_toryo.black")[1:-1])


@pytest.mark.parametrize("name", WITH_SUMMARY)
def test_the_recorded_games_are_the_requested_ones(name: str) -> None:
    summary = parse_summary(summary_lines(name)[1:-1])
    assert other_game(summary, summary.game_id.split("+")[-4]) == ""


@pytest.mark.parametrize("asked", ["", "test-60-5F", "test-60-5F-B", "issued2026"])
def test_what_may_be_played(asked: str) -> None:
    assert other_game(OFFER, asked) == ""
