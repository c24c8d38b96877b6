"""Random openings, natural ones, unusual positions, and those rejected that one side has won already."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lab.jit import jit
from lab.selfplay.deepen import deepen, list_root_moves
from worker.jit.bits import mul_high
from worker.score import MATE
from worker.search.state import NEVER
from worker.shogi.attacks import in_check
from worker.shogi.makemove import make, unmake

_ODDS: Final = 6
"""On the way to an unusual position one move in so many is random."""
_TRIES: Final = 30
"""Random moves of which a good one is sought."""


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
def _make_good_move(pos: Any, nn: Any, th: Any, sp: Any) -> None:
    """Make one of the good moves, each as likely as the others; expects `list_root_moves` to have found some.

    Good are those that quick searches find worse than the best by no more than a number of centipawns, which is drawn
    anew for each move, up to ``sp.natural``.
    """
    best_move, best = deepen(pos, nn, th, sp.quick_nodes, sp.hard_nodes)
    least = best - 1 - below(sp, np.uint64(sp.natural))
    for _ in range(_TRIES):
        count = list_root_moves(pos, th)
        make(pos, np.int64(th.root_moves[below(sp, np.uint64(count))]))
        score = np.int64(MATE)
        if list_root_moves(pos, th) != 0:
            _, theirs = deepen(pos, nn, th, sp.quick_nodes, sp.hard_nodes)
            score = -theirs
        if score >= least:
            return
        unmake(pos)
    make(pos, best_move)


@jit()
def open_game(pos: Any, nn: Any, th: Any, sp: Any, plies: int, quick_plies: int, margin: int) -> bool:
    """Make random moves: each legal one as likely as the others, or each good one (``sp.natural``). False: the line is
    rejected.

    A line is rejected where it ends in a mate or a check, or with a score beyond ``margin``.

    Args:
        plies: random moves.
        quick_plies: plies after them, by quick searches, but one in `_ODDS` at random.
        margin: centipawns.
    """
    th.draw_ply = NEVER
    for ply in range(plies + quick_plies):
        count = list_root_moves(pos, th)
        if count == 0:
            sp.rejected += 1
            return False
        if ply < plies and sp.natural != 0:
            _make_good_move(pos, nn, th, sp)
            continue
        move = np.int64(th.root_moves[below(sp, count)])
        if ply >= plies and below(sp, _ODDS) != 0:
            move, _ = deepen(pos, nn, th, sp.quick_nodes, sp.hard_nodes)
        make(pos, move)
    if list_root_moves(pos, th) != 0 and not in_check(pos):
        _, score = deepen(pos, nn, th, sp.opening_nodes, sp.hard_nodes)
        if abs(score) <= margin:
            return True
    sp.rejected += 1
    return False
