"""Mate in three plies, for nodes where the enemy king has few squares left: a check, any answer, a mate in one."""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import jit
from worker.mate.checks import forcing_moves
from worker.search.mate1 import mate_in_one
from worker.shogi.attacks import in_check, update_checks
from worker.shogi.makemove import make, unmake

_MOST_ANSWERS = 4
"""A check with more answers is no promising one."""


@jit()
def _every_answer_is_mated(pos: Any, n: int) -> bool:
    """Whether the side to move, in check, is mated on the board or by the move after whatever it answers."""
    end = forcing_moves(pos, n, False)
    if end - n > _MOST_ANSWERS:
        return False
    for i in range(n, end):
        make(pos, pos.moves[i])
        update_checks(pos)
        mated = not in_check(pos) and mate_in_one(pos, end) != 0
        unmake(pos)
        if not mated:
            return False
    return True


@jit()
def mate_in_three(pos: Any, n: int) -> Any:
    """The first move (int64) of a mate in three plies (or one), 0 where none is found.

    Lists are written to ``pos.moves`` from ``n`` on. Expects `update_checks`, the side to move not in check and the
    enemy king on the board.
    """
    end = forcing_moves(pos, n, True)
    for i in range(n, end):
        move = pos.moves[i]
        make(pos, move)
        update_checks(pos)
        mated = _every_answer_is_mated(pos, end)
        unmake(pos)
        if mated:
            return move
    return np.int64(0)
