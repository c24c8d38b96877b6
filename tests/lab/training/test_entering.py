"""Start positions with the kings far up."""

from __future__ import annotations

import random

from lab.selfplay.teacher import entering_start
from worker.shogi.pieces import SQUARES


def test_they_are_even_whole_and_the_same_for_a_seed() -> None:
    rng = random.Random("seed")
    positions = [entering_start(rng) for _ in range(30)]
    again = random.Random("seed")
    assert [entering_start(again).sfen() for _ in range(30)] == [position.sfen() for position in positions]
    for position in positions:
        black, white = (int(square) for square in position.record.ksq)
        assert white == SQUARES - 1 - black
        assert black % 9 <= 4
        assert position.hand(0) == position.hand(1)
        on_board = sum(position.piece_on(square) != 0 for square in range(SQUARES))
        assert on_board + 2 * sum(position.hand(0)) == 40
        assert not position.in_check() and position.legal_moves()
    assert len({position.key for position in positions}) == 30
