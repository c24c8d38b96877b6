"""One iteration at the root: the root's moves from ``first`` on, searched within (alpha, beta).

It returns early where another move than the first takes over, so that this can be told at once: the search may be
stopped, and the move wanted, long before the iteration ends. Its caller then goes on from there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import jit
from worker.nnue.evaluation import evaluate_score
from worker.score import INFINITE, MATE, NO_SCORE
from worker.search.alphabeta import reduction, search
from worker.search.node import do_move, update_pv
from worker.search.state import OFFSET
from worker.shogi.attacks import in_check, update_checks
from worker.shogi.makemove import unmake
from worker.shogi.pieces import DROP_BIT


@jit()
def search_root(pos: Any, nn: Any, th: Any, alpha: int, beta: int, depth: int, first: int, begin: int) -> Any:
    """Search ``th.root_moves[begin:]`` to ``depth``; a move that raises alpha goes to place ``first``.

    ``begin`` is ``first``, or to go on, the ``th.root_next`` that an earlier call left; alpha is what it returned then.

    Returns the best score (fail-soft). ``th.root_next`` is behind the last move unless the iteration is to go on.
    ``th.root_improved`` says whether it has found a line: the move at ``first`` then is the best one so far, ``th.pv``
    its line, also where the search was stopped.
    """
    update_checks(pos)
    best = np.int64(-INFINITE)
    if begin == first:
        th.root_improved = 0
    else:
        best = np.int64(alpha)
    th.root_next = th.root_count
    th.null_floor = 0
    th.root_depth = depth
    th.excluded[OFFSET] = 0
    th.list_end[OFFSET - 1] = 0
    th.list_end[OFFSET] = 0
    th.cutoffs[OFFSET + 1] = 0
    th.static_eval[OFFSET] = NO_SCORE if in_check(pos) else evaluate_score(pos, nn)
    zero = np.int64(0)
    for i in range(begin, th.root_count):
        move = th.root_moves[i]
        quiet = (move & DROP_BIT) != 0 or pos.board[move & 127] == 0
        th.pv_length[1] = 0
        do_move(pos, th, zero, move)
        score = np.int64(0)
        full = i == first
        if not full:
            shallow = depth - 1
            if depth >= 3 and quiet and i - first > 3:
                shallow = max(np.int64(1), depth - 1 - reduction(th, depth, i - first) + 1)
            score = -search(pos, nn, th, np.int64(1), -alpha - 1, -alpha, min(shallow, depth - 1), np.int64(1))
            if score > alpha and shallow < depth - 1:
                score = -search(pos, nn, th, np.int64(1), -alpha - 1, -alpha, depth - 1, np.int64(1))
            full = score > alpha and score < beta
        if full:
            score = -search(pos, nn, th, np.int64(1), -beta, -alpha, depth - 1, np.int64(0))
        unmake(pos)
        if th.stopped != 0:
            break
        if score > best:
            best = score
        if i == first or score > alpha:
            th.root_scores[i] = score
            update_pv(th, zero, move)
            th.root_improved = 1
            for j in range(i, first, -1):
                th.root_moves[j] = th.root_moves[j - 1]
                th.root_scores[j] = th.root_scores[j - 1]
            th.root_moves[first] = move
            th.root_scores[first] = score
            if score > alpha:
                if score >= beta:
                    break
                alpha = score
                if i > first:
                    th.root_next = i + 1
                    break
        else:
            th.root_scores[i] = -MATE
    return best
