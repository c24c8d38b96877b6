"""One iteration at the root: the root's moves from ``first`` on, searched within (alpha, beta).

It returns early if a move other than the first takes over, so that this can be reported at once: the search may be
stopped long before the iteration ends. Its caller then continues from there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import jit
from worker.jit.bits import toward_zero
from worker.nnue.evaluation import evaluate_score
from worker.score import INFINITE, MATE, MATE_BOUND, NO_SCORE
from worker.search import parameters as p
from worker.search import tt
from worker.search.alphabeta import search
from worker.search.correction import corrected, correction_of, learn_correction, note_keys
from worker.search.history import learn_best, learn_continuations, slot_of
from worker.search.late_moves import is_worth_a_ply, late_reduction, reduction, statistics
from worker.search.node import ALL, CUT, PV, checks_by, do_move, enter_node, note_checks, update_pv
from worker.search.picker import EVASIONS, MAIN, next_move, start_picker
from worker.search.state import OFFSET, TRIED
from worker.shogi.makemove import unmake
from worker.shogi.pieces import DROP_BIT


@jit()
def _bring_to(th: Any, place: int, i: int) -> None:
    """Move the root move at ``i`` to ``place``, before the moves there."""
    move, score, effort = th.root_moves[i], th.root_scores[i], th.root_efforts[i]
    average, square = th.root_averages[i], th.root_squares[i]
    for j in range(i, place, -1):
        th.root_moves[j] = th.root_moves[j - 1]
        th.root_scores[j] = th.root_scores[j - 1]
        th.root_efforts[j] = th.root_efforts[j - 1]
        th.root_averages[j] = th.root_averages[j - 1]
        th.root_squares[j] = th.root_squares[j - 1]
    th.root_moves[place], th.root_scores[place], th.root_efforts[place] = move, score, effort
    th.root_averages[place], th.root_squares[place] = average, square


@jit()
def _bring_next(pos: Any, th: Any, i: int, depth: int) -> None:
    """Bring the picker's next move to ``i``; moves that its lists omit come last, in their order.

    The picker scores a list when it reaches it, so the score of quiet moves includes lessons from earlier moves.
    """
    while True:
        move = next_move(pos, th, np.int64(0), depth, np.int64(0))
        if move == 0:
            return
        for j in range(i, th.root_count):
            if th.root_moves[j] == move:
                _bring_to(th, i, j)
                return


@jit()
def _begin(pos: Any, nn: Any, th: Any, alpha: int, beta: int, depth: int, first: int) -> None:
    """Set up the root's data for the tree and for all calls of the iteration, and its list of moves."""
    at = OFFSET
    zero = np.int64(0)
    th.checks[at - 1] = 1
    checked = enter_node(pos, th, zero)
    note_checks(pos, th, zero)
    th.root_improved = 0
    th.root_left = depth
    th.root_table_move = th.root_moves[first]
    th.root_quiets = 0
    th.root_captures = 0
    th.root_delta = max(beta - alpha, np.int64(1))
    th.null_floor = 0
    th.excluded[at] = 0
    th.list_end[at - 1] = 0
    th.list_end[at] = 0
    th.cutoffs[at + 2] = 0
    th.former_pv[at] = 1
    th.follows_pv[at] = 1
    th.table_hit[at] = 1
    note_keys(pos, th, zero)
    if checked:
        th.static_eval[at] = NO_SCORE
        th.root_eval = NO_SCORE
    else:
        th.root_eval = evaluate_score(pos, nn)
        th.static_eval[at] = corrected(th.root_eval, correction_of(th, zero))
    th.root_correction = correction_of(th, zero)
    start_picker(pos, th, zero, EVASIONS if checked else MAIN, th.root_table_move)


@jit()
def _note_score(th: Any, i: int, score: int) -> None:
    square = score * abs(score)
    if th.root_averages[i] == NO_SCORE:
        th.root_averages[i] = score
        th.root_squares[i] = square
    else:
        th.root_averages[i] = toward_zero(th.root_averages[i] + score, np.int64(2))
        th.root_squares[i] = toward_zero(th.root_squares[i] + square, np.int64(2))


@jit()
def _note_tried(th: Any, move: int, captured: int) -> None:
    """Remember a move that did not raise alpha."""
    tried_at = OFFSET * 2 * TRIED
    if captured != 0:
        th.tried[tried_at + TRIED + th.root_captures] = move
        th.root_captures += 1
    else:
        th.tried[tried_at + th.root_quiets] = move
        th.root_quiets += 1


@jit()
def _learn(pos: Any, th: Any, best_move: int, best: int, first: int) -> None:
    """Learn from an iteration that has searched all its moves from the place ``first`` on; ``best_move`` 0: none raised
    alpha."""
    at = OFFSET
    zero = np.int64(0)
    if best_move != 0:
        learn_best(pos, th, zero, True, best_move, th.root_table_move, th.root_left, th.root_quiets, th.root_captures)
    # If only some moves are searched, the best score is a lower bound of the root's.
    exact = (th.root_whole != 0 and first == 0) or best > th.static_eval[at]
    if exact and th.checked[at] == 0 and (best > th.static_eval[at]) == (best_move != 0):
        if best_move == 0 or (best_move & DROP_BIT) or pos.board[best_move & 127] == 0:
            learn_correction(th, zero, best - th.static_eval[at], th.root_left, best_move)


@jit()
def search_root(pos: Any, nn: Any, th: Any, alpha: int, beta: int, depth: int, first: int, begin: int) -> Any:
    """Search ``th.root_moves[begin:]`` to ``depth``; a move that raises alpha goes to place ``first``.

    The iteration it belongs to is ``th.root_depth``; ``depth`` may be less, after scores above the window.

    ``begin`` is ``first``, or, to continue, ``th.root_next`` from an earlier call; alpha is then that call's result.
    Between the calls of an iteration the Records must not change: the list of moves is in the position's.

    Returns the best score (fail-soft). ``th.root_next`` is past the last move unless the iteration has to continue.
    ``th.root_improved`` says whether it has found a line: then the move at ``first`` is the best so far and ``th.pv``
    its line, even if the search was stopped.
    """
    best = np.int64(-INFINITE)
    alpha_before = alpha
    if begin == first:
        _begin(pos, nn, th, alpha, beta, depth, first)
    else:
        best = np.int64(alpha)
    at = OFFSET
    zero, one = np.int64(0), np.int64(1)
    th.root_next = th.root_count
    correction = th.root_correction
    improving = th.checked[at] == 0 and th.static_eval[at] >= beta
    table_move = th.root_table_move
    table_captures = one if not (table_move & DROP_BIT) and pos.board[table_move & 127] != 0 else zero
    # The table's score and depth are those of the last search here, at whatever window.
    data = tt.probe(th, pos.key)
    table_score, table_depth = np.int64(NO_SCORE), np.int64(tt.UNSEARCHED)
    if data != np.uint64(0) and tt.entry_bound(data) != 0:
        table_score, table_depth = tt.entry_score(data, zero), tt.entry_depth(data)
    for i in range(begin, th.root_count):
        _bring_next(pos, th, i, depth)
        move = th.root_moves[i]
        number = i - first + 1
        captured = zero
        if not (move & DROP_BIT):
            captured = np.int64(pos.board[move & 127])
        left = th.root_left
        new_depth = left - 1
        th.move_count[at] = number
        th.stat_score[at] = statistics(pos, th, zero, move, captured)
        grains = reduction(th, improving, left, number, beta - alpha) + p.REDUCTION_FORMER_FIRST
        table = (table_move, table_score, table_depth, table_captures)
        grains = late_reduction(th, zero, grains, left, number, True, zero, table, alpha, correction, number == 1)
        th.pv_length[1] = 0
        nodes = th.nodes
        do_move(pos, th, zero, move, checks_by(pos, th, zero, move))
        score: Any = zero
        full = number == 1
        if not full and left >= 2:
            shallow = max(one, min(new_depth - toward_zero(grains, np.int64(p.GRAIN)), new_depth + 2)) + 1
            th.reduction[at] = new_depth - shallow
            score = -search(pos, nn, th, one, -alpha - 1, -alpha, shallow, np.int64(CUT))
            th.reduction[at] = 0
            if score > alpha and th.stopped == 0:
                if new_depth > shallow:
                    score = -search(pos, nn, th, one, -alpha - 1, -alpha, new_depth, np.int64(CUT))
                learn_continuations(th, zero, slot_of(move), np.int64(p.RESEARCH_BONUS))
            full = score > alpha
        elif not full:
            score = -search(pos, nn, th, one, -alpha - 1, -alpha, new_depth, np.int64(CUT))
            full = score > alpha
        if full and th.stopped == 0:
            th.pv_length[1] = 0
            if number == 1 and is_worth_a_ply(table_score, table_depth):
                new_depth = max(new_depth, one)
            # A null window only asks whether a score holds: then no root move has a line.
            kind = np.int64(PV if th.root_delta > 1 else ALL)
            score = -search(pos, nn, th, one, -beta, -alpha, new_depth, kind)
        unmake(pos)
        if th.stopped != 0:
            break
        th.root_efforts[i] += th.nodes - nodes
        _note_score(th, i, score)
        if score > best:
            best = score
        if score <= alpha and number <= TRIED:
            _note_tried(th, move, captured)
        if i == first or score > alpha:
            th.root_scores[i] = score
            update_pv(th, zero, move)
            th.root_improved = 1
            if i > first and first == 0:  # for the best line only
                th.root_changes += 1
            _bring_to(th, first, i)
            if score > alpha:
                if score >= beta:
                    break
                alpha = score
                if left > p.ALPHA_DEPTHS[0] and left < p.ALPHA_DEPTHS[1] and abs(score) < MATE_BOUND:
                    th.root_left = left - p.ALPHA_LESS
                if i > first:
                    th.root_next = i + 1
                    break
        else:
            th.root_scores[i] = -MATE
    if th.stopped == 0 and th.root_next == th.root_count:
        has_best = best > alpha_before or begin > first
        kept = th.root_moves[first] if has_best else zero
        _learn(pos, th, kept, best, first)
        if first == 0:
            bound = tt.LOWER if best >= beta else (tt.EXACT if has_best else tt.UPPER)
            if th.root_whole == 0:
                bound = tt.LOWER if has_best else 0
            if bound != 0:
                tt.store(th, pos.key, zero, kept, best, th.root_eval, th.root_left, bound, one)
    return best


@jit()
def first_window(th: Any, first: int) -> Any:
    """The aspiration window of an iteration for the move at ``first``: its centre and half width (int64, cp)."""
    return th.root_averages[first], p.WINDOW + abs(th.root_squares[first]) // p.WINDOW_SPREAD


@jit()
def next_window(alpha: int, beta: int, delta: int, score: int, floor: int, ceiling: int) -> Any:
    """The window for another search, and its half width: (alpha, beta, delta), int64.

    ``score`` fell out of (alpha, beta) on a side that is not yet at the limit, ``floor`` or ``ceiling``.
    """
    if score <= alpha:
        beta = alpha
        alpha = max(floor, score - delta) if score > -MATE_BOUND else floor
    else:
        alpha = max(alpha, beta - delta)
        beta = min(ceiling, score + delta) if score < MATE_BOUND else ceiling
    return alpha, beta, delta + delta // p.WINDOW_GROWTH


@jit(whole=True)
def search_root_in(
    positions: Any, evaluations: Any, threads: Any, alpha: int, beta: int, depth: int, first: int, begin: int
) -> Any:
    """`search_root` with arrays of one Record each.

    For a Record from Python, numba needs 5 µs to determine the type; for an array 0.1 µs.
    """
    return search_root(positions[0], evaluations[0], threads[0], alpha, beta, depth, first, begin)
