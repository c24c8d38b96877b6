"""Staged move picking: the table's move first, then what a stage generates, best first, and only as far as needed.

A list entry is ``score << 32 | move``. The picker's state lies in the thread's Record by search ply.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit import jit
from worker.jit.bitboard import bitboard
from worker.jit.memory import ld16
from worker.search.exchange import exchange_at_least, note_check_squares
from worker.search.history import butterfly_address, capture_address, quiet_history
from worker.search.parts import part
from worker.search.state import OFFSET
from worker.search.values import PROMOTION_GAIN, VALUE
from worker.shogi.attacks import single
from worker.shogi.movegen import generate_captures, generate_evasions, generate_quiets
from worker.shogi.pieces import DROP_BIT, PROMOTE_BIT

_CAPTURE_HISTORY = part("capture_history")
_KILLERS = part("killers")
_SAFE_CHECKS = part("safe_checks")

_MOVE_MASK: Final = (1 << 32) - 1
_KILLER_BONUS: Final = 40_000
_CHECK_BONUS: Final = 16_000
"""For a move that checks directly and loses nothing by it."""
_SORT_FROM: Final = 1

# Stages; each list runs on to its end.
_TABLE, _CAPTURES, _GOOD_CAPTURES, _QUIETS, _REST, _BAD_CAPTURES = 0, 1, 2, 3, 4, 5
_EVASION_TABLE, _EVASIONS, _EVASION_REST = 10, 11, 12
_QUIESCENCE_TABLE, _QUIESCENCE_CAPTURES, _QUIESCENCE_REST = 20, 21, 22
_PROBCUT_TABLE, _PROBCUT_CAPTURES, _PROBCUT_REST = 24, 25, 26
_DONE = 30

MAIN: Final = _TABLE
EVASIONS: Final = _EVASION_TABLE
QUIESCENCE: Final = _QUIESCENCE_TABLE
PROBCUT: Final = _PROBCUT_TABLE


@jit()
def start_picker(pos: Any, th: Any, ply: int, kind: int, table_move: int) -> None:
    """Begin a list of a ``kind``: `MAIN`, `EVASIONS`, `QUIESCENCE`, `PROBCUT` (captures alone).

    ``table_move`` is pseudo-legal, 0: none.
    """
    at = OFFSET + ply
    begin = th.list_end[at - 1]
    th.pick_stage[at] = kind if table_move != 0 else kind + 1
    th.pick_tt[at] = table_move
    th.pick_begin[at] = begin
    th.pick_at[at] = begin
    th.pick_bad[at] = begin
    th.list_end[at] = begin


@jit()
def _score_captures(pos: Any, th: Any, begin: int, end: int) -> None:
    for i in range(begin, end):
        move = pos.moves[i]
        captured = np.int64(pos.board[move & 127]) & 15
        score = 16 * VALUE[captured]
        if _CAPTURE_HISTORY:
            score += ld16(capture_address(th, move, captured)) // 4
        if move & PROMOTE_BIT:
            score += 8 * PROMOTION_GAIN[(move >> 16) & 15]
        pos.moves[i] = (score << 32) | move


@jit()
def _score_quiets(pos: Any, th: Any, ply: int, begin: int, end: int) -> None:
    if _SAFE_CHECKS:
        note_check_squares(pos, th)
    killer0 = th.killers[2 * (OFFSET + ply)] if _KILLERS else np.int64(0)
    killer1 = th.killers[2 * (OFFSET + ply) + 1] if _KILLERS else np.int64(0)
    for i in range(begin, end):
        move = pos.moves[i]
        score = quiet_history(th, ply, move)
        if move == killer0:
            score += _KILLER_BONUS
        elif move == killer1:
            score += _KILLER_BONUS // 2
        kind = ((move >> 16) | ((move >> 11) & 8)) & 15
        checking = bitboard(th.check_squares[2 * kind], th.check_squares[2 * kind + 1])
        if _SAFE_CHECKS and (checking & single(move & 127)) and exchange_at_least(pos, move, np.int64(0)):
            score += _CHECK_BONUS
        pos.moves[i] = (score << 32) | move


@jit()
def _score_evasions(pos: Any, th: Any, begin: int, end: int) -> None:
    for i in range(begin, end):
        move = pos.moves[i]
        captured = np.int64(pos.board[move & 127]) & 15
        if captured != 0 and not (move & DROP_BIT):
            score = 100_000 + 16 * VALUE[captured] - ((move >> 16) & 15)
        else:
            score = ld16(butterfly_address(th, move))
        pos.moves[i] = (score << 32) | move


@jit()
def _sort_promising(pos: Any, begin: int, end: int, least: int) -> None:
    """Insertion sort, falling, of the entries that score ``least`` or more; they come first."""
    limit = least << 32
    sorted_end = begin
    for i in range(begin, end):
        entry = pos.moves[i]
        if entry >= limit:
            pos.moves[i] = pos.moves[sorted_end]
            j = sorted_end
            # By score alone: most scores are equal, and comparing the moves behind them would reverse the list.
            score = entry >> 32
            while j > begin and (pos.moves[j - 1] >> 32) < score:
                pos.moves[j] = pos.moves[j - 1]
                j -= 1
            pos.moves[j] = entry
            sorted_end += 1


@jit()
def _best_first(pos: Any, at: int, end: int) -> Any:
    """Bring the best of the rest to ``at`` and give it."""
    best = at
    entry = pos.moves[at]
    for i in range(at + 1, end):
        if pos.moves[i] > entry:
            entry = pos.moves[i]
            best = i
    pos.moves[best] = pos.moves[at]
    pos.moves[at] = entry
    return entry & _MOVE_MASK


@jit()
def next_move(pos: Any, th: Any, ply: int, skip_quiets: int) -> Any:
    """The next pseudo-legal move, 0 after the last. ``skip_quiets`` 1 leaves quiet moves out from now on."""
    at = OFFSET + ply
    table_move = th.pick_tt[at]
    while True:
        stage = th.pick_stage[at]
        if stage == _GOOD_CAPTURES:
            if th.pick_at[at] < th.list_end[at]:
                i = th.pick_at[at]
                move = _best_first(pos, i, th.list_end[at])
                th.pick_at[at] = i + 1
                if move == table_move:
                    continue
                if not exchange_at_least(pos, move, np.int64(0)):
                    pos.moves[th.pick_bad[at]] = move
                    th.pick_bad[at] += 1
                    continue
                return move
            th.pick_stage[at] = _QUIETS
        elif stage == _REST:
            if th.pick_at[at] < th.list_end[at] and skip_quiets == 0:
                i = th.pick_at[at]
                th.pick_at[at] = i + 1
                move = pos.moves[i] & _MOVE_MASK
                if move == table_move:
                    continue
                return move
            th.pick_stage[at] = _BAD_CAPTURES
            th.pick_at[at] = th.pick_begin[at]
        elif stage == _BAD_CAPTURES:
            i = th.pick_at[at]
            if i < th.pick_bad[at]:
                th.pick_at[at] = i + 1
                return pos.moves[i]
            th.pick_stage[at] = _DONE
        elif stage == _EVASION_REST or stage == _QUIESCENCE_REST or stage == _PROBCUT_REST:
            i = th.pick_at[at]
            if i < th.list_end[at]:
                move = _best_first(pos, i, th.list_end[at])
                th.pick_at[at] = i + 1
                if move == table_move:
                    continue
                return move
            th.pick_stage[at] = _DONE
        elif stage == _TABLE or stage == _EVASION_TABLE or stage == _QUIESCENCE_TABLE:
            th.pick_stage[at] = stage + 1
            return table_move
        elif stage == _CAPTURES or stage == _QUIESCENCE_CAPTURES or stage == _PROBCUT_CAPTURES:
            begin = th.pick_begin[at]
            th.list_end[at] = generate_captures(pos, begin, th.every_move)
            _score_captures(pos, th, begin, th.list_end[at])
            th.pick_stage[at] = stage + 1
        elif stage == _QUIETS:
            if skip_quiets != 0:
                th.pick_stage[at] = _BAD_CAPTURES
                th.pick_at[at] = th.pick_begin[at]
            else:
                begin = th.list_end[at]
                th.list_end[at] = generate_quiets(pos, begin, th.every_move)
                _score_quiets(pos, th, ply, begin, th.list_end[at])
                _sort_promising(pos, begin, th.list_end[at], np.int64(_SORT_FROM))
                th.pick_at[at] = begin
                th.pick_stage[at] = _REST
        elif stage == _EVASIONS:
            begin = th.pick_begin[at]
            th.list_end[at] = generate_evasions(pos, begin, th.every_move)
            _score_evasions(pos, th, begin, th.list_end[at])
            th.pick_stage[at] = _EVASION_REST
        else:
            return np.int64(0)
