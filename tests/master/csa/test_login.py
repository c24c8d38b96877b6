"""Names and passwords, looked at before anything is started."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from master.csa.login import LoginError, check_login, login_password
from master.csa.protocol import CsaProtocol

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
    assert check_login(name, game, password) == []
    CsaProtocol().login(name, login_password(game, password))


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
    with pytest.raises(LoginError) as caught:
        check_login(name, game, password)
    assert says in str(caught.value)
    assert not password or password not in str(caught.value)
    assert "s3" not in str(caught.value)


def test_warnings() -> None:
    assert "floodgate-300-10F?" in check_login("gougi", "floodgate-300-10", "trip")[0]
    assert "holds a comma" in check_login("gougi", "", "issued,word")[0]
    assert "33 characters" in check_login("gougi", "", "x" * 33)[0]


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=300))
def test_what_passes_is_a_login_that_the_protocol_takes(name: str, game: str, password: str) -> None:
    try:
        check_login(name, game, password)
    except LoginError:
        return
    assert CsaProtocol().login(name, login_password(game, password)).count(" ") == 2


def test_a_password_that_is_not_known_here_is_looked_at_elsewhere() -> None:
    assert check_login("gougi", GAME, None) == check_login("gougi", "", None) == []
    with pytest.raises(LoginError, match="did you mean floodgate-300-10F"):
        check_login("gougi", "floodgate300-10F", None)
