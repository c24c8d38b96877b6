"""Late moves: reductions, pruning of captures, and singular extensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import jit
from worker.jit.bits import toward_zero
from worker.jit.memory import ld16
from worker.score import MATE_BOUND, NO_SCORE
from worker.search import parameters as p
from worker.search import parts
from worker.search.exchange import VALUE, exchange_at_least
from worker.search.history import butterfly_address, capture_address, slot_of
from worker.search.state import OFFSET


@jit()
def reduction(th: Any, improving: bool, depth: int, number: int, delta: int) -> Any:
    """The base late-move reduction (int64, grains) of the ``number``-th move; ``delta``: width of the node's window."""
    product = th.log_table[depth] * th.log_table[number]
    grains = product - delta * p.REDUCTION_WINDOW // th.root_delta + p.REDUCTION_BASE
    if not improving:
        grains += product * p.REDUCTION_NOT_IMPROVING[0] // p.REDUCTION_NOT_IMPROVING[1]
    return grains


@jit()
def statistics(pos: Any, th: Any, ply: int, move: int, captured: int) -> Any:
    """The sum of a move's histories (int64, in units of history); for a capture with the captured piece's value."""
    if captured != 0:
        worth = p.STAT_CAPTURE[0] * VALUE[captured & 15] // p.STAT_CAPTURE[1]
        return worth + ld16(capture_address(th, move, captured))
    at = OFFSET + ply
    slot = 2 * slot_of(move)
    return 2 * ld16(butterfly_address(th, move)) + ld16(th.row[at - 1] + slot) + ld16(th.row[at - 2] + slot)


@jit()
def prunes_capture(
    pos: Any, th: Any, ply: int, move: int, captured: int, checks: bool, depth: int, reduced: int, alpha: int
) -> bool:
    """Whether a capture or check needs no search at this depth."""
    # A quiet check has an entry too. It is never updated and keeps its first value.
    history = ld16(capture_address(th, move, captured))
    if parts.FUTILITY and not checks and reduced < p.CAPTURE_FUTILITY_DEPTH:
        reach = th.static_eval[OFFSET + ply] + p.CAPTURE_FUTILITY_BASE + p.CAPTURE_FUTILITY_SLOPE * reduced
        reach += VALUE[captured & 15] + toward_zero(p.CAPTURE_FUTILITY_HISTORY * history, np.int64(p.GRAIN))
        if reach <= alpha:
            return True
    margin = max(
        p.CAPTURE_SEE_SLOPE * depth + toward_zero(history * p.CAPTURE_SEE_HISTORY, np.int64(p.GRAIN)), np.int64(0)
    )
    return parts.SEE_PRUNING and not exchange_at_least(pos, move, -margin)


@jit()
def late_reduction(
    th: Any,
    ply: int,
    base: int,
    depth: int,
    number: int,
    is_pv: bool,
    cut_node: int,
    table: tuple[int, int, int, int],
    alpha: int,
    correction: int,
    is_table_move: bool,
) -> Any:
    """The whole reduction of a move (int64, grains): ``base``, adjusted for the node and the move.

    ``table``: move, score and depth of the table's entry, and whether its move captures.
    """
    table_move, table_score, table_depth, table_captures = table
    at = OFFSET + ply
    grains = base
    if th.former_pv[at] != 0:
        grains -= p.REDUCTION_FORMER
        if is_pv:
            grains -= p.REDUCTION_PV
        if table_score > alpha:
            grains -= p.REDUCTION_FORMER_SCORE
        if table_depth >= depth:
            grains -= p.REDUCTION_FORMER_DEPTH
            if cut_node != 0:
                grains -= p.REDUCTION_FORMER_CUT
    grains += p.REDUCTION_LATE_BASE - number * p.REDUCTION_NUMBER - abs(correction) // p.REDUCTION_CORRECTION
    if cut_node != 0:
        grains += p.REDUCTION_CUT
        if table_move == 0:
            grains += p.REDUCTION_CUT_NO_MOVE
    if table_captures != 0:
        grains += p.REDUCTION_TABLE_CAPTURE
    all_node = not is_pv and cut_node == 0
    if th.cutoffs[at + 1] > 1:
        grains += p.REDUCTION_CUTOFFS
        if th.cutoffs[at + 1] > 2:
            grains += p.REDUCTION_MANY_CUTOFFS
        if all_node:
            grains += p.REDUCTION_CUTOFFS_ALL
    elif is_table_move:
        grains -= p.REDUCTION_TABLE_MOVE
    grains -= toward_zero(th.stat_score[at] * p.REDUCTION_HISTORY[0], np.int64(p.REDUCTION_HISTORY[1]))
    if all_node:
        grains += toward_zero(grains * p.REDUCTION_ALL[0], p.REDUCTION_ALL[1] * depth + p.REDUCTION_ALL[2])
    return grains


@jit()
def singular_extension(
    th: Any, ply: int, is_pv: bool, score: int, bar: int, table_captures: int, correction: int
) -> Any:
    """The extension (int64, 1 to 3 plies) of a move whose rivals reached only ``score``, which is below ``bar``."""
    at = OFFSET + ply
    trust = abs(correction) // p.SINGULAR_CORRECTION
    deep = ply > th.root_depth
    double = p.DOUBLE_BASE - trust
    double -= toward_zero(th.table_move_history * p.DOUBLE_TABLE_HISTORY[0], np.int64(p.DOUBLE_TABLE_HISTORY[1]))
    triple = p.TRIPLE_BASE - trust
    if is_pv:
        double += p.DOUBLE_PV
        triple += p.TRIPLE_PV
    if table_captures == 0:
        double -= p.DOUBLE_QUIET
        triple -= p.TRIPLE_QUIET
    if th.former_pv[at] != 0:
        triple += p.TRIPLE_FORMER
    if deep:
        double -= p.DOUBLE_DEEP
        triple -= p.TRIPLE_DEEP
    extension = np.int64(1)
    if parts.DOUBLE_EXTENSION and score < bar - double:
        extension += 1
    if parts.DOUBLE_EXTENSION and score < bar - triple:
        extension += 1
    return extension


@jit()
def is_worth_a_ply(table_score: int, table_depth: int) -> bool:
    """Whether the table move on the line gets at least one ply: its entry was deeper than that, or saw a mate after
    it."""
    seen = table_score != NO_SCORE and abs(table_score) >= MATE_BOUND
    return table_depth > (0 if seen else 1)


@jit()
def reverse_margin(depth: int, hit: bool, improving: bool, worsening: bool, correction: int) -> Any:
    """The margin (centipawns) over beta from which the evaluation lets the search prune a node of ``depth``."""
    slope: Any = min(p.REVERSE_SLOPE + p.REVERSE_SLOPE_GROWTH * depth, np.int64(p.REVERSE_SLOPE_MOST))
    if not hit:
        slope -= p.REVERSE_SLOPE_MISS
    off = (p.REVERSE_IMPROVING if improving else 0) + (p.REVERSE_WORSENING if worsening else 0)
    return slope * depth - off * slope // p.GRAIN + abs(correction) // p.REVERSE_CORRECTION
