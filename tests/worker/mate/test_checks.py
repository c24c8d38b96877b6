"""The generator of forcing moves against legal moves that are tried out."""

from __future__ import annotations

import itertools

import pytest

from benchmarks.playouts import positions
from benchmarks.puzzles import CLASSICAL, KOTOBUKI, random_positions
from worker.mate.expansion import forcing_moves
from worker.shogi import Position


def _checks(position: Position) -> list[int]:
    found = []
    for move in position.legal_moves():
        position.push(move)
        if position.in_check():
            found.append(move)
        position.pop()
    return found


def _generated(position: Position, attacks: bool) -> list[int]:
    record = position.record
    return [int(move) for move in record.moves[: forcing_moves(record, 0, attacks)]]


def _agree(position: Position) -> None:
    if position.record.ksq[1 - position.turn] >= 0:
        generated = _generated(position, True)
        assert len(set(generated)) == len(generated)
        assert set(generated) == set(_checks(position)), position
    if position.in_check():
        assert set(_generated(position, False)) == set(position.legal_moves()), position


def test_checks_of_play_outs() -> None:
    for position in positions(5, 1000):
        _agree(position)


def test_checks_around_a_king() -> None:
    for position in itertools.islice(random_positions(1), 1000):
        _agree(position)
        for move in _generated(position, True)[:3]:
            position.push(move)
            _agree(position)
            position.pop()


@pytest.mark.parametrize("sfen", [sfen for _, sfen in CLASSICAL.values()] + [KOTOBUKI])
def test_checks_of_classical_problems(sfen: str) -> None:
    _agree(Position.from_sfen(sfen))


def test_a_drop_pawn_mate_is_no_check() -> None:
    position = Position.from_sfen("7lk/7p1/8S/9/9/9/9/9/9 b P 1")
    assert position.parse_usi("1c1b+") in _generated(position, True)
    assert all(not move & 1 << 15 for move in _generated(position, True))


def test_a_discovered_check_by_the_king() -> None:
    position = Position.from_sfen("4k4/9/9/9/4K4/9/4R4/9/9 b - 1")
    assert len(_generated(position, True)) == 6
