"""The score of the last move, as long as its game goes on."""

from __future__ import annotations

from worker.clock.promise import Promise
from worker.shogi import STARTPOS

PROMISE = Promise(STARTPOS, ("7g7f",), 80)


def test_the_next_moves_of_the_game_know_it() -> None:
    assert PROMISE.at(STARTPOS, ("7g7f", "3c3d", "2g2f")) == 80
    assert PROMISE.at(STARTPOS, ("7g7f", "3c3d")) == -80  # the other side is to move


def test_another_game_knows_nothing() -> None:
    assert PROMISE.at("other", ("7g7f", "3c3d", "2g2f")) is None
    assert PROMISE.at(STARTPOS, ("2g2f", "3c3d", "7g7f")) is None
    assert PROMISE.at(STARTPOS, ("7g7f",)) is None
    assert PROMISE.at(STARTPOS, ()) is None
    assert PROMISE.at(STARTPOS, ("7g7f", "3c3d", "2g2f", "8c8d", "2f2e", "8d8e")) is None
    assert Promise().at(STARTPOS, ("7g7f",)) is None
