"""Brute force over the solver's own checks and evasions: fast, and with nothing else in common with the solver.

`tests.worker.mate.oracle` does without these too: an error there would mislead both.
"""

from __future__ import annotations

from typing import Any

from worker.jit import jit
from worker.mate.expansion import forcing_moves
from worker.shogi.attacks import update_checks
from worker.shogi.makemove import make, unmake


@jit()
def mates_within(pos: Any, n: int, plies: int) -> bool:
    """Brute force: whether the side to move mates by checks within ``plies`` (odd). Expects `update_checks`."""
    end = forcing_moves(pos, n, True)
    for i in range(n, end):
        make(pos, pos.moves[i])
        update_checks(pos)
        replies = forcing_moves(pos, end, False)
        mated = True
        if replies > end and plies <= 1:
            mated = False
        for j in range(end, replies):
            if not mated:
                break
            make(pos, pos.moves[j])
            update_checks(pos)
            mated = mates_within(pos, replies, plies - 2)
            unmake(pos)
        unmake(pos)
        if mated:
            return True
    return False
