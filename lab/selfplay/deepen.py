"""One move's search without a Python driver: `worker.search.thread` in compiled code, for one line, by nodes only.

Each call from Python costs 30 microseconds and more, and a teacher's search takes some 700.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lab.jit import jit
from lab.selfplay.walk import is_loud
from worker.score import INFINITE, MATE, MATE_BOUND, NO_SCORE
from worker.search.root import first_window, next_window, search_root
from worker.search.state import MAX_DEPTH, NEVER, begin_search
from worker.search.tt import GENERATIONS
from worker.shogi.makemove import legal_moves


@jit()
def list_root_moves(pos: Any, th: Any) -> Any:
    """Make the legal moves those of the root, and return how many there are. Calls `update_checks`."""
    count = np.int64(legal_moves(pos, np.int64(0), th.every_move))
    th.root_count = count
    th.root_whole = 1
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
def deepen(pos: Any, nn: Any, th: Any, soft_nodes: int, play_nodes: int, hard_nodes: int) -> Any:
    """Search deeper and deeper; expects `list_root_moves` to have found some. Returns (move, score).

    Args:
        soft_nodes: no iteration begins after this number of nodes,
        play_nodes: and after this one if the best move makes the position loud (`lab.selfplay.walk.is_loud`).
        hard_nodes: an iteration that reaches this number is aborted, except the first one.
    """
    begin_search(th)
    th.node_limit = NEVER
    th.tt_generation = (th.tt_generation + 1) & (GENERATIONS - 1)
    best_move = np.int64(0)
    best = np.int64(0)
    zero, one = np.int64(0), np.int64(1)
    for depth in range(one, np.int64(MAX_DEPTH + 1)):
        delta, centre = np.int64(2 * INFINITE), zero
        if depth > 1 and abs(best) < MATE_BOUND:
            centre, delta = first_window(th, zero)
        floor, ceiling = np.int64(-INFINITE), np.int64(INFINITE)
        alpha, beta = max(floor, centre - delta), min(ceiling, centre + delta)
        th.seldepth = 0
        th.root_depth = depth
        failed_high = zero
        while True:
            less = max(one, depth - failed_high)
            score = np.int64(search_root(pos, nn, th, alpha, beta, less, zero, zero))
            while th.root_next < th.root_count and th.stopped == 0:
                score = np.int64(search_root(pos, nn, th, score, beta, less, zero, th.root_next))
            if th.stopped != 0:
                # Results proven before the stop remain valid.
                if th.root_improved != 0 and th.root_scores[0] > alpha:
                    best_move = th.root_moves[0]
                    best = th.root_scores[0]
                return best_move, best
            best_move = th.root_moves[0]
            best = score
            if (score > alpha or alpha == floor) and (score < beta or beta == ceiling):
                break
            failed_high = zero if score <= alpha else failed_high + 1
            alpha, beta, delta = next_window(alpha, beta, delta, score, floor, ceiling)
        _note_line(th)
        if th.nodes >= soft_nodes or (th.nodes >= play_nodes and is_loud(pos, best_move)):
            break
        th.node_limit = hard_nodes
        th.next_poll = 0
    return best_move, best
