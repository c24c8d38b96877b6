"""One move's search without a driver in Python: `worker.search.thread` in compiled code, for one line, by nodes only.

Between two calls of Python lie 30 microseconds and more, and a teacher's search takes some 700.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit import jit
from worker.jit.memory import st16
from worker.score import INFINITE, MATE, MATE_BOUND, MAX_PLY, NO_SCORE
from worker.search.parameters import WINDOW, WINDOW_GROWTH, WINDOW_SPREAD
from worker.search.root import search_root
from worker.search.state import (
    H_CONTINUATION,
    H_CORRECTION_MOVES,
    H_LOW_PLY,
    LOW_PLIES,
    LOW_PLY_BEGINS,
    NEVER,
    OFFSET,
    ORIGINS,
)
from worker.shogi.makemove import legal_moves

MAX_DEPTH: Final = MAX_PLY - 8
_GENERATIONS: Final = 32


@jit()
def begin_search(th: Any) -> None:
    """Clear everything that depends on the root (`ThreadState.begin_search`), and age the table. The rules and the
    limits stay as they are."""
    th.nodes = 0
    th.next_poll = 0
    th.node_limit = NEVER
    th.stopped = 0
    th.tt_generation = (th.tt_generation + 1) & (_GENERATIONS - 1)
    th.root_changes = 0
    th.last_pv_length = 0
    for i in range(LOW_PLIES * ORIGINS * 81):
        st16(th.histories + H_LOW_PLY + 2 * i, np.int64(LOW_PLY_BEGINS))
    for i in range(len(th.slot)):
        th.slot[i] = 0
        th.row[i] = th.histories + H_CONTINUATION
        th.correction_row[i] = th.histories + H_CORRECTION_MOVES
        th.reduction[i] = 0
        th.stat_score[i] = 0
        th.move_count[i] = 0
        th.excluded[i] = 0
        th.checked[i] = 0
        th.table_hit[i] = 0
        th.cutoffs[i] = 0
    for i in range(OFFSET):
        th.static_eval[i] = NO_SCORE


@jit()
def list_root_moves(pos: Any, th: Any) -> Any:
    """Make the legal moves those of the root, and return how many there are. Calls `update_checks`."""
    count = np.int64(legal_moves(pos, np.int64(0), th.every_move))
    th.root_count = count
    for i in range(count):
        th.root_moves[i] = pos.moves[i]
        th.root_scores[i] = -MATE
        th.root_averages[i] = NO_SCORE
        th.root_efforts[i] = 0
    return count


@jit()
def _note_line(th: Any) -> None:
    """Let the next iteration follow the line of this one."""
    for i in range(th.pv_length[0]):
        th.last_pv[i] = th.pv[i]
    th.last_pv_length = th.pv_length[0]


@jit()
def deepen(pos: Any, nn: Any, th: Any, soft_nodes: int, hard_nodes: int) -> Any:
    """Search deeper and deeper; expects `list_root_moves` to have found some. Returns (move, score).

    Args:
        soft_nodes: no iteration begins once so many nodes are searched.
        hard_nodes: an iteration that gets there is cut short; the first one never is.
    """
    begin_search(th)
    best_move = np.int64(0)
    best = np.int64(0)
    zero, one = np.int64(0), np.int64(1)
    for depth in range(one, np.int64(MAX_DEPTH + 1)):
        delta, centre = np.int64(2 * INFINITE), zero
        if depth > 1 and abs(best) < MATE_BOUND:
            delta = np.int64(WINDOW) + abs(th.root_squares[0]) // WINDOW_SPREAD
            centre = th.root_averages[0]
        alpha = max(np.int64(-INFINITE), centre - delta)
        beta = min(np.int64(INFINITE), centre + delta)
        th.seldepth = 0
        failed_high = zero
        while True:
            less = max(one, depth - failed_high)
            score = np.int64(search_root(pos, nn, th, alpha, beta, less, zero, zero))
            while th.root_next < th.root_count and th.stopped == 0:
                score = np.int64(search_root(pos, nn, th, score, beta, less, zero, th.root_next))
            if th.stopped != 0:
                # What was proven before the stop stands.
                if th.root_improved != 0 and th.root_scores[0] > alpha:
                    best_move = th.root_moves[0]
                    best = th.root_scores[0]
                return best_move, best
            if score <= alpha and alpha > -INFINITE:
                beta = alpha
                alpha = max(np.int64(-INFINITE), score - delta) if score > -MATE_BOUND else np.int64(-INFINITE)
                failed_high = zero
            elif score >= beta and beta < INFINITE:
                alpha = max(alpha, beta - delta)
                beta = min(np.int64(INFINITE), score + delta) if score < MATE_BOUND else np.int64(INFINITE)
                failed_high += 1
            else:
                break
            delta += delta // WINDOW_GROWTH
        best_move = th.root_moves[0]
        best = score
        _note_line(th)
        if th.nodes >= soft_nodes:
            break
        th.node_limit = hard_nodes
        th.next_poll = 0
    return best_move, best
