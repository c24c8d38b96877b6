"""The keys that make and unmake keep are those of the position from scratch."""

from __future__ import annotations

import random

from benchmarks.playouts import STARTS
from worker.shogi import Position
from worker.shogi.makemove import make_null, unmake_null


def keys(position: Position) -> tuple[int, int]:
    return int(position.record.key), int(position.record.board_key)


def fresh(position: Position) -> tuple[int, int]:
    """Read anew from its SFEN; of the board's key also that hands are nothing to it."""
    board, turn, _hands, number = position.sfen().split()
    bare = Position.from_sfen(f"{board} {turn} - {number}")
    assert int(bare.record.key) == int(bare.record.board_key)
    return int(Position.from_sfen(position.sfen()).record.key), int(bare.record.key)


def test_kept_keys_are_those_from_scratch() -> None:
    rng = random.Random(5)
    for start in STARTS:
        position = Position.from_sfen(start)
        known = [keys(position)]
        for _ in range(250):
            moves = position.legal_moves()
            if len(known) > 1 and (not moves or rng.random() < 0.3):
                position.pop()
                known.pop()
            elif moves:
                position.push(rng.choice(moves))
                known.append(fresh(position))
            assert keys(position) == known[-1]
            if not position.in_check():
                make_null(position.record)
                assert keys(position) == tuple(key ^ 1 for key in known[-1])
                unmake_null(position.record)
                assert keys(position) == known[-1]
