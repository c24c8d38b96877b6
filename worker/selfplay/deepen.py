"""One move's search without a driver in Python: `worker.search.thread` in compiled code, for one line, by nodes only.

Between two calls of Python lie 30 microseconds and more, and a teacher's search takes some 700.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit import jit
from worker.score import INFINITE, MATE, MATE_BOUND, MAX_PLY
from worker.search.root import search_root
from worker.search.state import NEVER
from worker.shogi.makemove import legal_moves

MAX_DEPTH: Final = MAX_PLY - 8
_WINDOW: Final = 24
_WINDOW_FROM_DEPTH: Final = 5
_GENERATIONS: Final = 32


@jit()
def begin_search(th: Any) -> None:
    """Forget what was true near another root, and age the table. The rules and the limits stay as they are."""
    th.nodes = 0
    th.next_poll = 0
    th.node_limit = NEVER
    th.stopped = 0
    th.tt_generation = (th.tt_generation + 1) & (_GENERATIONS - 1)
    for i in range(len(th.killers)):
        th.killers[i] = 0
    for i in range(len(th.excluded)):
        th.excluded[i] = 0


@jit()
def list_root_moves(pos: Any, th: Any) -> Any:
    """Make the legal moves those of the root, and return how many there are. Calls `update_checks`."""
    count = np.int64(legal_moves(pos, np.int64(0), th.every_move))
    th.root_count = count
    for i in range(count):
        th.root_moves[i] = pos.moves[i]
        th.root_scores[i] = -MATE
    return count


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
    zero = np.int64(0)
    for depth in range(np.int64(1), np.int64(MAX_DEPTH + 1)):
        delta = np.int64(2 * INFINITE)
        if depth >= _WINDOW_FROM_DEPTH and abs(best) < MATE_BOUND:
            delta = np.int64(_WINDOW)
        alpha = max(np.int64(-INFINITE), best - delta)
        beta = min(np.int64(INFINITE), best + delta)
        th.seldepth = 0
        while True:
            score = np.int64(search_root(pos, nn, th, alpha, beta, depth, zero, zero))
            while th.root_next < th.root_count and th.stopped == 0:
                score = np.int64(search_root(pos, nn, th, score, beta, depth, zero, th.root_next))
            if th.stopped != 0:
                # What was proven before the stop stands.
                if th.root_improved != 0 and th.root_scores[0] > alpha:
                    best_move = th.root_moves[0]
                    best = th.root_scores[0]
                return best_move, best
            if score <= alpha and alpha > -INFINITE:
                beta = (alpha + beta) // 2
                alpha = max(np.int64(-INFINITE), score - delta) if score > -MATE_BOUND else np.int64(-INFINITE)
            elif score >= beta and beta < INFINITE:
                beta = min(np.int64(INFINITE), score + delta) if score < MATE_BOUND else np.int64(INFINITE)
            else:
                break
            delta += delta
        best_move = th.root_moves[0]
        best = score
        if th.nodes >= soft_nodes:
            break
        th.node_limit = hard_nodes
        th.next_poll = 0
    return best_move, best
