"""History tables for move ordering and reductions: int16 in one buffer, updated with gravity.

Butterfly (colour, origin or drop, promotion, target), the same by search ply near the root, captures, continuations (a
move after the one made 1 to 6 plies before, split by whether that move evaded a check and whether it captured), and by
pawn structure.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import jit
from worker.jit.bits import toward_zero
from worker.jit.memory import ld16, st8, st16
from worker.search import parameters as p
from worker.search import parts
from worker.search.state import (
    BUTTERFLY_LIMIT,
    CAPTURE_LIMIT,
    CONTINUATION_LIMIT,
    H_BUTTERFLY,
    H_CAPTURE,
    H_CONTINUATION,
    MARK_SHIFT,
    OFFSET,
    ORIGINS,
    PAWN_LIMIT,
    SLOTS,
    TABLE_MOVE_LIMIT,
    TRIED,
)
from worker.shogi.pieces import DROP_BIT, PAWN, PROMOTE_BIT


@jit()
def clamp(value: int, least: int, most: int) -> Any:
    return min(max(value, least), most)


@jit()
def slot_of(move: int) -> Any:
    """The slot of a move: the piece as it stands after the move, on its target."""
    return ((move >> 16) | ((move >> 11) & 8)) * 81 + (move & 127)


@jit()
def butterfly_address(th: Any, move: int) -> Any:
    origin = (move >> 7) & 127
    if move & DROP_BIT:
        origin += 81
    elif move & PROMOTE_BIT:
        origin += ORIGINS // 2
    return th.histories + H_BUTTERFLY + (((move >> 20) * ORIGINS + origin) * 81 + (move & 127)) * 2


@jit()
def capture_address(th: Any, move: int, captured: int) -> Any:
    return th.histories + H_CAPTURE + (slot_of(move) * 16 + (captured & 15)) * 2


@jit()
def continuation_row(th: Any, checked: int, captures: int, slot: int) -> Any:
    """The address of the row for replies to a move, by the move's slot; slot 0 stands for no move."""
    return th.shared + H_CONTINUATION + ((checked * 2 + captures) * SLOTS + slot) * (SLOTS * 2)


@jit()
def learn(address: int, bonus: int, limit: int) -> None:
    """Move an int16 towards ± ``limit`` by ``bonus``; the step shrinks as it gets nearer."""
    bonus = clamp(bonus, -limit, limit)
    value = ld16(address)
    st16(address, value + bonus - toward_zero(value * abs(bonus), limit))


@jit()
def learn_shared(th: Any, address: int, bonus: int, limit: int) -> None:
    """`learn` in a shared table, and mark the value's block for `worker.search.history_exchange`."""
    learn(address, bonus, limit)
    st8(th.marks + (address >> MARK_SHIFT), np.int64(1))


@jit()
def _learn_one(th: Any, at: int, slot: int, back: int, bonus: int) -> None:
    """Learn in the table of the move ``back`` plies before. ``bonus``: history times `p.GRAIN`."""
    if th.slot[at - back] == 0:
        return
    bonus = toward_zero(bonus, np.int64(p.GRAIN))
    if back == 1:
        bonus += p.CONTINUATION_FIRST
    learn_shared(th, th.row[at - back] + 2 * slot, bonus, np.int64(CONTINUATION_LIMIT))


@jit()
def learn_continuations(th: Any, ply: int, slot: int, bonus: int) -> None:
    """Learn how good a move (its slot) at ``ply`` is after the previous moves; in check after the last two only."""
    if not parts.CONTINUATION_HISTORY:
        return
    at = OFFSET + ply
    _learn_one(th, at, slot, np.int64(1), bonus * p.CONTINUATION[0])
    _learn_one(th, at, slot, np.int64(2), bonus * p.CONTINUATION[1])
    if th.checked[at] != 0:
        return
    _learn_one(th, at, slot, np.int64(3), bonus * p.CONTINUATION[2])
    _learn_one(th, at, slot, np.int64(4), bonus * p.CONTINUATION[3])
    _learn_one(th, at, slot, np.int64(5), bonus * p.CONTINUATION[4])
    _learn_one(th, at, slot, np.int64(6), bonus * p.CONTINUATION[5])


@jit()
def learn_quiet(th: Any, ply: int, move: int, bonus: int) -> None:
    """Learn how good a quiet move is in a node of ``ply``."""
    learn(butterfly_address(th, move), bonus, np.int64(BUTTERFLY_LIMIT))
    slot = slot_of(move)
    learn_continuations(th, ply, slot, toward_zero(bonus * p.SHARE_CONTINUATION, np.int64(p.GRAIN)))
    if parts.PAWN_HISTORY:
        share = p.SHARE_PAWN_BONUS if bonus > 0 else p.SHARE_PAWN_MALUS
        learn_shared(
            th,
            th.pawn_row[OFFSET + ply] + 2 * slot,
            toward_zero(bonus * share, np.int64(p.GRAIN)),
            np.int64(PAWN_LIMIT),
        )


@jit()
def _is_pawn_push(move: int) -> bool:
    """Whether a move changes the pawn structure, so that its row does not apply: a pawn move or a promotion."""
    return ((move >> 16) & 15) == PAWN or (move & PROMOTE_BIT) != 0


@jit()
def learn_prior_pawn(th: Any, ply: int, prior: int, bonus: int) -> None:
    """Learn the value of the quiet move that led to the position at ``ply``, by pawn structure."""
    if parts.PAWN_HISTORY and not _is_pawn_push(prior):
        learn_shared(th, th.pawn_row[OFFSET + ply] + 2 * slot_of(prior), bonus, np.int64(PAWN_LIMIT))


@jit()
def learn_change(th: Any, ply: int, prior: int, hit: bool) -> None:
    """Learn, from the change of the evaluation, how good the quiet move was that led here."""
    at = OFFSET + ply
    change = clamp(
        -(th.static_eval[at - 1] + th.static_eval[at]), np.int64(p.CHANGE_RANGE[0]), np.int64(p.CHANGE_RANGE[1])
    )
    change += p.CHANGE_OFFSET
    learn(butterfly_address(th, prior), change * p.CHANGE_BUTTERFLY, np.int64(BUTTERFLY_LIMIT))
    if not hit:
        learn_prior_pawn(th, ply, prior, change * p.CHANGE_PAWN)


@jit()
def learn_table_move(th: Any, bonus: int) -> None:
    """Change, by ``bonus``, the measure of how often the table's move is the best."""
    value = th.table_move_history
    th.table_move_history = value + bonus - toward_zero(value * abs(bonus), np.int64(TABLE_MOVE_LIMIT))


@jit()
def learn_table_cut(th: Any, ply: int, table_move: int, captures: bool, prior: int, depth: int) -> None:
    """Raise the table's move that cuts off at ``ply``, if it is quiet, and lower an early move that led here.

    Args:
        table_move: packed (`worker.shogi`).
        captures: whether it is a capture.
        prior: the move that led here if it is quiet, else 0.
        depth: plies; of the node that is cut off.
    """
    if not captures:
        bonus = min(p.TABLE_BONUS[0] * depth + p.TABLE_BONUS[1], np.int64(p.TABLE_BONUS[2]))
        learn_quiet(th, ply, table_move, bonus)
    if prior != 0 and th.move_count[OFFSET + ply - 1] <= p.TABLE_PRIOR_MOVES:
        learn_continuations(th, ply - np.int64(1), slot_of(prior), np.int64(-p.TABLE_PRIOR_MALUS))


@jit()
def learn_multicut(th: Any, depth: int) -> None:
    """Count a table move that other moves equal."""
    malus = max(p.MULTICUT_MALUS[0] + p.MULTICUT_MALUS[1] * depth, np.int64(p.MULTICUT_MALUS[2]))
    learn_table_move(th, malus)


@jit()
def learn_best(
    pos: Any,
    th: Any,
    ply: int,
    is_pv: bool,
    best_move: int,
    table_move: int,
    depth: int,
    tried_quiets: int,
    tried_captures: int,
) -> None:
    """Raise the best move, and lower the moves that were tried before it and a first move that it refutes."""
    at = OFFSET + ply
    bonus = min(p.BONUS[0] * depth + p.BONUS[1], np.int64(p.BONUS[2]))
    bonus += toward_zero(th.stat_score[at - 1], np.int64(p.BONUS_STAT))
    if best_move == table_move:
        bonus += p.BONUS_TABLE_MOVE
    if not is_pv:
        bonus += toward_zero(bonus * (tried_quiets + tried_captures) * p.BONUS_TRIED, np.int64(p.GRAIN))
    malus: Any = min(p.MALUS[0] * depth + p.MALUS[1], np.int64(p.MALUS[2]))
    captured = np.int64(0)
    if not (best_move & DROP_BIT):
        captured = np.int64(pos.board[best_move & 127])
    tried_at = at * 2 * TRIED
    if captured == 0:
        learn_quiet(th, ply, best_move, toward_zero(bonus * p.BONUS_QUIET, np.int64(p.GRAIN)))
        fading = malus * p.MALUS_QUIET // p.GRAIN
        for i in range(tried_quiets):
            fading = fading * p.MALUS_QUIET_FADE // p.GRAIN
            learn_quiet(th, ply, th.tried[tried_at + i], -fading)
    else:
        learn(
            capture_address(th, best_move, captured),
            toward_zero(bonus * p.BONUS_CAPTURE, np.int64(p.GRAIN)),
            np.int64(CAPTURE_LIMIT),
        )
    prior = pos.st_move[pos.ply - 1] if ply > 0 else np.int64(0)
    if prior != 0 and pos.st_captured[pos.ply - 1] == 0 and th.move_count[at - 1] == 1 + th.table_hit[at - 1]:
        learn_continuations(th, ply - np.int64(1), slot_of(prior), -(malus * p.MALUS_PRIOR // p.GRAIN))
    for i in range(tried_captures):
        other = th.tried[tried_at + TRIED + i]
        learn(
            capture_address(th, other, np.int64(pos.board[other & 127])),
            -(malus * p.MALUS_CAPTURE // p.GRAIN),
            np.int64(CAPTURE_LIMIT),
        )


@jit()
def learn_prior(pos: Any, th: Any, ply: int, best: int, depth: int) -> None:
    """Raise the move that led to a node where no move was good enough."""
    prior = pos.st_move[pos.ply - 1]
    if prior == 0:
        return
    at = OFFSET + ply
    captured = np.int64(pos.st_captured[pos.ply - 1])
    if captured != 0:
        learn(capture_address(th, prior, captured), np.int64(p.PRIOR_CAPTURE), np.int64(CAPTURE_LIMIT))
        return
    scale = p.PRIOR_BASE - toward_zero(th.stat_score[at - 1], np.int64(p.PRIOR_STAT))
    scale += min(p.PRIOR_DEPTH[0] * depth, np.int64(p.PRIOR_DEPTH[1]))
    if th.move_count[at - 1] > p.PRIOR_LATE_MOVES:
        scale += p.PRIOR_LATE
    if th.checked[at] == 0 and best <= th.static_eval[at] - p.PRIOR_BELOW_MARGIN:
        scale += p.PRIOR_BELOW
    if th.checked[at - 1] == 0 and best <= -th.static_eval[at - 1] - p.PRIOR_ABOVE_MARGIN:
        scale += p.PRIOR_ABOVE
    # A move without other merit was still a good answer to the previous move (`CONTINUATION_FIRST`).
    bonus = min(p.PRIOR_BONUS[0] * depth + p.PRIOR_BONUS[1], np.int64(p.PRIOR_BONUS[2])) * max(scale, np.int64(0))
    before = ply - np.int64(1)
    learn_continuations(th, before, slot_of(prior), bonus * p.PRIOR_CONTINUATION[0] // p.PRIOR_CONTINUATION[1])
    learn(butterfly_address(th, prior), bonus * p.PRIOR_BUTTERFLY[0] // p.PRIOR_BUTTERFLY[1], np.int64(BUTTERFLY_LIMIT))
    learn_prior_pawn(th, ply, prior, bonus * p.PRIOR_PAWN[0] // p.PRIOR_PAWN[1])
