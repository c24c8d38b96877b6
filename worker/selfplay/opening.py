"""Random openings, and those rejected that one side has won already."""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import jit
from worker.jit.bits import mul_high
from worker.search.state import NEVER
from worker.selfplay.deepen import deepen, list_root_moves
from worker.shogi.attacks import in_check
from worker.shogi.makemove import make, unmake


@jit()
def below(sp: Any, limit: Any) -> Any:
    """A random number from 0 to ``limit - 1`` (SplitMix64: Steele, Lea and Flood 2014)."""
    sp.random += np.uint64(0x9E3779B97F4A7C15)
    word = sp.random
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word = word ^ (word >> np.uint64(31))
    return np.int64(mul_high(word, np.uint64(limit)))


@jit()
def rewind(pos: Any) -> None:
    """Take every move back."""
    while pos.ply > 0:
        unmake(pos)


@jit()
def open_game(pos: Any, nn: Any, th: Any, sp: Any, plies: int) -> bool:
    """Make ``plies`` random moves, each legal one as likely as the others. False: the line is rejected.

    A line is rejected where it ends in a mate or a check, or with a score beyond ``sp.opening_margin``.
    """
    for _ in range(plies):
        count = list_root_moves(pos, th)
        if count == 0:
            sp.rejected += 1
            return False
        make(pos, th.root_moves[below(sp, count)])
    th.draw_ply = NEVER
    if list_root_moves(pos, th) != 0 and not in_check(pos):
        _, score = deepen(pos, nn, th, sp.opening_nodes, sp.hard_nodes)
        if abs(score) <= sp.opening_margin:
            return True
    sp.rejected += 1
    return False
