"""The moves of a mate search, exact: the legal checks, or the legal answers to one, no more and no fewer.

A king may be absent on the attacker's side, as in composed problems.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import jit
from worker.shogi.attacks import all_squares, in_check, pieces
from worker.shogi.checks import board_checks, discoverers, drop_checks, keep_checks
from worker.shogi.makemove import is_legal
from worker.shogi.movegen import generate_evasions


@jit()
def forcing_moves(pos: Any, n: int, attacks: bool) -> int:
    """Write the legal moves of a mate search to ``pos.moves`` from ``n`` on and return the end.

    ``attacks``: those that give check (the enemy king must be on the board). Else: the answers to a check, in which the
    side to move must be. Expects `attacks.update_checks`. A promotion comes before its twin that declines it, drops
    come from the pawn up to the gold.
    """
    begin = n
    if in_check(pos):
        n = generate_evasions(pos, n, np.int64(1))
        if attacks:
            n = keep_checks(pos, begin, n, discoverers(pos))
    elif attacks:
        n = drop_checks(pos, board_checks(pos, n, all_squares() & ~pieces(pos, pos.side * 16), discoverers(pos)))
    kept = begin
    for i in range(begin, n):
        move = pos.moves[i]
        if is_legal(pos, move, n):
            pos.moves[kept] = move
            kept += 1
    return kept
