"""The legal length of a variation, found without coming back to Python for each of its moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import jit
from worker.shogi.makemove import check_move, make, unmake
from worker.shogi.pieces import DROP_BIT


@jit()
def legal_length(pos: Any, moves: Any, count: int) -> int:
    """Count the moves at the beginning of ``moves[:count]`` that are legal; the position is left as it was.

    Args:
        moves: int64 array of moves whose piece is left out (`worker.shogi.notation.usi_code`), no more of them than
            the stacks of the position hold.
    """
    made = 0
    while made < count:
        move = moves[made]
        if move == 0:
            break
        origin = (move >> 7) & 127
        if move & DROP_BIT:
            move |= ((pos.side << 4) | origin) << 16
        else:
            move |= np.int64(pos.board[origin]) << 16
        if not check_move(pos, move):
            break
        make(pos, move)
        made += 1
    for _ in range(made):
        unmake(pos)
    return made
