"""Random openings, natural ones, unusual positions; those that one side has already won are rejected."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lab.jit import jit
from lab.selfplay.deepen import deepen, list_root_moves
from lab.selfplay.state import ADJUDICATED, DECLARED, MATE_END, MOVE_LIMIT, PERPETUAL, REPEATED
from worker.jit.bits import count, mul_high
from worker.score import MATE, MATE_BOUND
from worker.search.state import NEVER
from worker.shogi.attacks import in_check, occupied
from worker.shogi.declaration import wins_by
from worker.shogi.makemove import fourth_time, make, perpetual_check, unmake

_ODDS: Final = 6
"""On the way to an unusual position, one move in this many is random."""
_TRIES: Final = 30
"""Number of random moves among which a good one is sought."""


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
    """Make one of the good moves, all equally likely; expects `list_root_moves` to have found some.

    A move is good if quick searches find it worse than the best by no more than a number of centipawns, drawn anew for
    each move, up to ``sp.natural``.
    """
    best_move, best = deepen(pos, nn, th, sp.quick_nodes, sp.quick_nodes, sp.hard_nodes)
    least = best - 1 - below(sp, np.uint64(sp.natural))
    for _ in range(_TRIES):
        count = list_root_moves(pos, th)
        make(pos, np.int64(th.root_moves[below(sp, np.uint64(count))]))
        score = np.int64(MATE)
        if list_root_moves(pos, th) != 0:
            _, theirs = deepen(pos, nn, th, sp.quick_nodes, sp.quick_nodes, sp.hard_nodes)
            score = -theirs
        if score >= least:
            return
        unmake(pos)
    make(pos, best_move)


@jit()
def open_game(pos: Any, nn: Any, th: Any, sp: Any, plies: int, quick_plies: int, margin: int) -> bool:
    """Make random moves: all legal ones equally likely, or all good ones (``sp.natural``). False: the line is rejected.

    A line is rejected if it ends in mate or check, or if its score exceeds ``margin``.

    Args:
        plies: number of random moves.
        quick_plies: plies after them, by quick searches, except one in `_ODDS` at random.
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
            move, _ = deepen(pos, nn, th, sp.quick_nodes, sp.quick_nodes, sp.hard_nodes)
        make(pos, move)
    if list_root_moves(pos, th) != 0 and not in_check(pos):
        _, score = deepen(pos, nn, th, sp.opening_nodes, sp.opening_nodes, sp.hard_nodes)
        if abs(score) <= margin:
            return True
    sp.rejected += 1
    return False


_MIDDLE: Final = 4
"""The rank between the two halves of the board, counted from 0."""


@jit()
def _end(pos: Any, sp: Any, how: int, points: int) -> bool:
    """Store the end of a game, ``points`` as the side to move sees it."""
    sp.end = how
    sp.result = points if pos.side == 0 else -points
    return True


@jit()
def _is_over(pos: Any, th: Any, sp: Any) -> bool:
    """Whether the rules end the game here. Lists the root's moves."""
    moves = list_root_moves(pos, th)
    if sp.count >= sp.most_moves:
        return _end(pos, sp, MOVE_LIMIT, 0)
    distance = fourth_time(pos)
    if distance != 0:
        checker = perpetual_check(pos, distance)
        return _end(pos, sp, REPEATED if checker == 0 else PERPETUAL, -checker)
    if moves == 0:
        return _end(pos, sp, MATE_END, -1)
    if wins_by(pos, th.entering_rule):
        return _end(pos, sp, DECLARED, 1)
    return False


@jit()
def _is_spared(pos: Any, sp: Any, score: int) -> bool:
    """Whether a decided game goes on anyway: a mate is in sight, a king is on its way into the enemy's camp, or few
    pieces are left on the board. A net cannot learn from positions that it never sees."""
    if abs(score) >= MATE_BOUND or count(occupied(pos)) <= sp.few_pieces:
        return True
    return pos.ksq[0] % 9 <= _MIDDLE or pos.ksq[1] % 9 >= _MIDDLE


@jit(whole=True)
def play(pos: Any, nn: Any, th: Any, sp: Any) -> None:
    """Play on from here to the end. The game is then in ``sp``. The table is kept from move to move."""
    sp.count = 0
    run = np.int64(0)  # consecutive scores with which black (positive) or white has won
    th.draw_ply = pos.ply + sp.most_moves
    while not _is_over(pos, th, sp):
        move, score = deepen(pos, nn, th, sp.soft_nodes, sp.loud_nodes, sp.hard_nodes)
        sp.nodes += th.nodes
        sp.moves[sp.count] = np.uint16(move & 0xFFFF)
        sp.scores[sp.count] = np.int16(score)
        sp.count += 1
        if sp.decided != 0:
            black = score if pos.side == 0 else -score
            if black >= sp.decided:
                run = max(run, np.int64(0)) + 1
            elif black <= -sp.decided:
                run = min(run, np.int64(0)) - 1
            else:
                run = np.int64(0)
            if abs(run) >= sp.decided_plies and not _is_spared(pos, sp, score):
                sp.end = ADJUDICATED
                sp.result = 1 if run > 0 else -1
                return
        make(pos, move)
