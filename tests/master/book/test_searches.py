"""The key of a position, and searches turned around."""

from __future__ import annotations

import random

import pytest

from master.book.lessons import BookSearch, PositionKey, reference_seconds
from worker.shogi import STARTPOS, Position, move_to_usi


def test_units() -> None:
    assert reference_seconds(2_500_000) == 2.5


def test_a_transposition_has_the_same_key() -> None:
    keys = set()
    for moves in ("7g7f 3c3d 2g2f 8c8d", "2g2f 8c8d 7g7f 3c3d", "7g7f 3c3d 2g2f 8c8d 1g1f 1c1d"):
        position = Position.startpos()
        position.push_all(moves.split())
        keys.add(PositionKey.of(position.sfen()))
    assert len(keys) == 2


def test_colours_are_one() -> None:
    start = Position.startpos()
    turned = Position.from_sfen(STARTPOS.replace(" b ", " w "))
    assert PositionKey.of(start.sfen()).text == PositionKey.of(turned.sfen()).text
    assert (PositionKey.of(start.sfen()).flipped, PositionKey.of(turned.sfen()).flipped) == (False, True)


@pytest.mark.parametrize("seed", range(8))
def test_a_search_turned_is_legal_on_the_board_turned(seed: int) -> None:
    rng = random.Random(seed)
    position = Position.startpos()
    for _ in range(rng.randrange(80)):
        if moves := position.legal_moves():
            position.push(rng.choice(moves))
    if not position.legal_moves():
        return
    key = PositionKey.of(position.sfen())
    there = Position.from_sfen(f"{key.text} 1")
    move = move_to_usi(rng.choice(position.legal_moves()))
    turned = key.turn(BookSearch(move, 12, 3, 0.5, (move,)))
    there.push_usi(turned.move)
    assert key.turn(turned).move == move
    assert turned.pv == (turned.move,)
    assert len(there.legal_moves()) == _replies(position, move)


def _replies(position: Position, move: str) -> int:
    position.push_usi(move)
    return len(position.legal_moves())
