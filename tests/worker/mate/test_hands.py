"""Hands as integers against plain counts."""

from __future__ import annotations

import random

from worker.mate.state import covers, fewest, hand_of, held, most, one_of
from worker.shogi import Position
from worker.shogi.pieces import GOLD, MAX_IN_GAME, PAWN

KINDS = range(PAWN, GOLD + 1)


def _random_counts(rng: random.Random) -> list[int]:
    return [rng.randint(0, MAX_IN_GAME[kind]) for kind in KINDS]


def _pack(counts: list[int]) -> int:
    return sum(count * int(one_of(kind)) for kind, count in zip(KINDS, counts, strict=True))


def _unpack(hand: int) -> list[int]:
    return [int(held(hand, kind)) for kind in KINDS]


def test_comparing_and_combining() -> None:
    rng = random.Random(3)
    for _ in range(3000):
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
