"""Positions of random play-outs, for tests and for the soak test."""

from __future__ import annotations

import random
from collections.abc import Iterator

from worker.shogi import HANDICAPS, Position

STARTS = (
    *HANDICAPS.values(),
    "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1",
    "8l/1l+R2P3/p2pBG1pp/kps1p4/Nn1P2G2/P1P1P2PP/1PS6/1KSG3+r1/LN2+p3L w Sbgn3p 124",
    "4k4/9/9/9/9/9/9/9/4K4 b RBGSNLPrb3g3s3n3l17p 1",
)


def positions(seed: int, number: int) -> Iterator[Position]:
    """``number`` positions with at least one legal move, from lively random games."""
    rng = random.Random(seed)
    position = Position.from_sfen(rng.choice(STARTS))
    while number:
        moves = position.legal_moves()
        if not moves or len(position.history) > 150:
            position = Position.from_sfen(rng.choice(STARTS))
            continue
        yield position
        number -= 1
        lively = [move for move in moves if position.piece_on(move & 127) or move & 1 << 15]
        position.push(rng.choice(lively if lively and rng.random() < 0.4 else moves))
