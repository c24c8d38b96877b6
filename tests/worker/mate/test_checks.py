"""The generator of forcing moves, compared with legal moves that are tried out."""

from __future__ import annotations

import itertools
import random

import pytest

from benchmarks.playouts import positions
from benchmarks.puzzles import CLASSICAL, KOTOBUKI, random_positions
from worker.mate.expansion import forcing_moves
from worker.mate.state import covers, fewest, hand_of, held, most, one_of
from worker.shogi import Position
from worker.shogi.pieces import GOLD, MAX_IN_GAME, PAWN


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
    for position in positions(5, 200):
        _agree(position)


def test_checks_around_a_king() -> None:
    for position in itertools.islice(random_positions(1), 150):
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


KINDS = range(PAWN, GOLD + 1)


def _random_counts(rng: random.Random) -> list[int]:
    return [rng.randint(0, MAX_IN_GAME[kind]) for kind in KINDS]


def _pack(counts: list[int]) -> int:
    return sum(count * int(one_of(kind)) for kind, count in zip(KINDS, counts, strict=True))


def _unpack(hand: int) -> list[int]:
    return [int(held(hand, kind)) for kind in KINDS]


def test_comparing_and_combining() -> None:
    rng = random.Random(3)
    for _ in range(500):
        a, b = _random_counts(rng), _random_counts(rng)
        if rng.random() < 0.5:
            b = [rng.randint(0, count) for count in a]
        pairs = list(zip(a, b, strict=True))
        assert _unpack(_pack(a)) == a
        assert covers(_pack(a), _pack(b)) == all(x >= y for x, y in pairs)
        assert _unpack(most(_pack(a), _pack(b))) == [max(pair) for pair in pairs]
        assert _unpack(fewest(_pack(a), _pack(b))) == [min(pair) for pair in pairs]


def test_the_hand_of_a_position() -> None:
    position = Position.from_sfen("4k4/9/9/9/9/9/9/9/4K4 b RB2G3S2N4L18P 1")
    assert _unpack(hand_of(position.record, 0)) == [18, 4, 2, 3, 1, 1, 2]
    assert hand_of(position.record, 1) == 0
