"""One iteration at the root: the root's moves from ``first`` on, searched within (alpha, beta)."""

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
def search_root(pos: Any, nn: Any, th: Any, alpha: int, beta: int, depth: int, first: int) -> Any:
    """Search ``th.root_moves[first:]`` to ``depth``; a move that raises alpha goes to place ``first``.

    Returns the best score (fail-soft). ``th.root_improved`` says whether a line was found: the move at ``first`` then
    is the best one so far, ``th.pv`` its line, also where the search was stopped.
    """
    update_checks(pos)
    th.root_improved = 0
    th.null_floor = 0
    th.root_depth = depth
    th.excluded[OFFSET] = 0
    th.list_end[OFFSET - 1] = 0
    th.list_end[OFFSET] = 0
    th.cutoffs[OFFSET + 1] = 0
    th.static_eval[OFFSET] = NO_SCORE if in_check(pos) else evaluate_score(pos, nn)
    zero = np.int64(0)
    best = np.int64(-INFINITE)
    for i in range(first, th.root_count):
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
        else:
            th.root_scores[i] = -MATE
    return best
