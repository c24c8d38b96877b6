"""Staged move picking: the table's move first, then the moves of each stage, best first, generated only when needed.

A list entry has the score (in units of history) in its high half, then the index in the list, counted down, then the
move. So the highest entry is the first one with the highest score, and contains its index. The picker's state lies in
the thread's Record by search ply.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit import jit
from worker.jit.bits import holds, lowest, shift_down, shift_up, toward_zero, without_lowest
from worker.jit.fields import four_words
from worker.jit.memory import ld16
from worker.jit.simd import vhmax64, vmax64
from worker.search import parameters as p
from worker.search import parts
from worker.search.exchange import VALUE, exchange_at_least
from worker.search.history import butterfly_address, capture_address, slot_of
from worker.search.node import stands_for_check
from worker.search.state import OFFSET
from worker.shogi.attacks import lance_attacks, no_squares, occupied, pieces
from worker.shogi.movegen import generate_captures, generate_evasions, generate_quiets, stand
from worker.shogi.pieces import BISHOP, BLACK, DROP_BIT, KING, KNIGHT, LANCE, PAWN, ROOK, SILVER
from worker.shogi.state import GOLDS


@jit()
def threats(pos: Any) -> tuple[Any, Any, Any]:
    """The squares that the enemy attacks, three bitboards: by pawns; also by lances and knights; also by silvers and
    golds."""
    if not parts.THREATS:
        return no_squares(), no_squares(), no_squares()
    colour = 1 - pos.side
    own = colour << 4
    by_pawns = _ahead(pos, pieces(pos, own + PAWN), colour)
    by_small = by_pawns
    lances = pieces(pos, own + LANCE)
    while lances:
        by_small |= lance_attacks(pos, colour, lowest(lances), occupied(pos))
        lances = without_lowest(lances)
    by_small |= _beside(_ahead(pos, _ahead(pos, pieces(pos, own + KNIGHT), colour), colour))
    silvers = pieces(pos, own + SILVER)
    golds = pieces(pos, own + GOLDS)
    ahead = _ahead(pos, silvers | golds, colour)
    gold_back = _ahead(pos, golds, 1 - colour)
    by_minor = by_small | ahead | gold_back | _beside(ahead | golds | _ahead(pos, silvers, 1 - colour))
    return by_pawns, by_small, by_minor


@jit()
def _ahead(pos: Any, squares: Any, colour: int) -> Any:
    """The squares in front of ``squares``, from the view of ``colour``."""
    # Only pawns with a square in front of them: from the last rank the next number is a square of another file.
    squares &= stand(pos, colour, PAWN)
    return shift_down(squares, 1) if colour == BLACK else shift_up(squares, 1)


@jit()
def _beside(squares: Any) -> Any:
    """The squares left and right of ``squares``; beyond the board's last file too, which has no pieces."""
    return shift_up(squares, 9) | shift_down(squares, 9)


@jit()
def threat_score(move: int, by_pawns: Any, by_small: Any, by_minor: Any) -> Any:
    """The part of a quiet move's score that depends on attacks by lesser pieces (int64, history): below 0 if one could
    take the piece on its target, above 0 if one could take it now.

    Args:
        by_pawns, by_small, by_minor: as returned by `threats`.
    """
    kind = (move >> 16) & 15
    if not parts.THREATS or kind == PAWN or kind == KING:
        return np.int64(0)
    if kind == LANCE or kind == KNIGHT:
        worth, lesser = np.int64(p.THREAT[0]), by_pawns
    elif (kind & 7) == BISHOP or (kind & 7) == ROOK:
        worth, lesser = np.int64(p.THREAT[2]), by_minor
    else:
        worth, lesser = np.int64(p.THREAT[1]), by_small
    if holds(lesser, move & 127):
        return -worth
    if not (move & DROP_BIT) and holds(lesser, (move >> 7) & 127):
        return worth
    return np.int64(0)


_MOVE_BITS: Final = 21
_MOVE_MASK: Final = (1 << _MOVE_BITS) - 1
_LAST_PLACE: Final = (1 << (32 - _MOVE_BITS)) - 1
_EVASION_CAPTURE: Final = 1 << 24
"""A score above every history."""
_LOOKED_FOR: Final = 6
"""This many quiet moves are picked from the whole list; of the rest only the promising ones come in order of score."""

# Stages; each list runs on to its end.
_TABLE, _CAPTURES, _GOOD_CAPTURES, _QUIETS, _GOOD_QUIETS, _BAD_CAPTURES, _BAD_QUIETS = 0, 1, 2, 3, 4, 5, 6
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
    """Begin a list of this ``kind``: `MAIN`, `EVASIONS`, `QUIESCENCE`, `PROBCUT` (captures alone).

    ``table_move`` is pseudo-legal, 0: none.
    """
    at = OFFSET + ply
    begin = th.list_end[at - 1]
    th.pick_stage[at] = kind if table_move != 0 else kind + 1
    th.pick_tt[at] = table_move
    th.pick_begin[at] = begin
    th.pick_at[at] = begin
    th.pick_bad[at] = begin
    th.pick_quiets[at] = begin
    th.list_end[at] = begin


@jit()
def _score_captures(pos: Any, th: Any, begin: int, end: int) -> None:
    for i in range(begin, end):
        move = pos.moves[i]
        captured = np.int64(pos.board[move & 127]) & 15
        score = p.CAPTURE_VALUE * VALUE[captured]
        if parts.CAPTURE_HISTORY:
            score += ld16(capture_address(th, move, captured))
        pos.moves[i] = _entry(score, move, i - begin)


@jit()
def _score_quiets(pos: Any, th: Any, ply: int, quiets: int, end: int) -> None:
    at = OFFSET + ply
    begin = th.pick_begin[at]
    row1, row2, row3 = th.row[at - 1], th.row[at - 2], th.row[at - 3]
    row4, row6 = th.row[at - 4], th.row[at - 6]
    pawn_row = th.pawn_row[at]
    by_pawns, by_small, by_minor = threats(pos)
    for i in range(quiets, end):
        move = pos.moves[i]
        slot = 2 * slot_of(move)
        score = 2 * ld16(butterfly_address(th, move))
        if parts.PAWN_HISTORY:
            score += 2 * ld16(pawn_row + slot)
        if parts.CONTINUATION_HISTORY:
            score += ld16(row1 + slot) + ld16(row2 + slot) + ld16(row3 + slot) + ld16(row4 + slot) + ld16(row6 + slot)
        if (
            parts.SAFE_CHECKS
            and stands_for_check(th, ply, move)
            and exchange_at_least(pos, move, np.int64(p.CHECK_SEE))
        ):
            score += p.CHECK_BONUS
        score += threat_score(move, by_pawns, by_small, by_minor)
        pos.moves[i] = _entry(score, move, i - begin)


@jit()
def _score_evasions(pos: Any, th: Any, ply: int, begin: int, end: int) -> None:
    row = th.row[OFFSET + ply - 1]
    for i in range(begin, end):
        move = pos.moves[i]
        captured = np.int64(pos.board[move & 127]) & 15
        if captured != 0 and not (move & DROP_BIT):
            score = _EVASION_CAPTURE + VALUE[captured]
        else:
            score = ld16(butterfly_address(th, move)) + ld16(row + 2 * slot_of(move))
        pos.moves[i] = _entry(score, move, i - begin)


@jit()
def _entry(score: int, move: int, place: int) -> Any:
    """An entry of a list, ``place`` is its index in the list."""
    return (score << 32) | ((_LAST_PLACE - place) << _MOVE_BITS) | move


@jit()
def _moved(entry: int, place: int) -> Any:
    """The entry for another place."""
    return _entry(entry >> 32, entry & _MOVE_MASK, place)


@jit()
def gather_promising(pos: Any, begin: int, at: int, end: int, least: int) -> Any:
    """Bring the entries from ``at`` on that score ``least`` or more to ``at``, in their order; returns their end.

    Args:
        begin: the begin of the list, from which places count.
    """
    limit = least << 32
    kept = at
    for i in range(at, end):
        entry = pos.moves[i]
        if entry >= limit:
            # The displaced entry is never brought to the front again, so its index no longer matters.
            pos.moves[i] = pos.moves[kept]
            pos.moves[kept] = _moved(entry, kept - begin)
            kept += 1
    return kept


@jit()
def _highest(pos: Any, at: int, end: int) -> Any:
    """The highest entry from ``at`` on, eight at a time if there are that many."""
    if end - at < 8:
        highest = pos.moves[at]
        for i in range(at + 1, end):
            highest = max(highest, pos.moves[i])
        return highest
    last = end - 8
    a, b = four_words(pos.moves, last), four_words(pos.moves, last + 4)
    while at < last:
        a, b = vmax64(a, four_words(pos.moves, at)), vmax64(b, four_words(pos.moves, at + 4))
        at += 8
    return vhmax64(vmax64(a, b))


@jit()
def bring_next(pos: Any, begin: int, at: int, end: int) -> Any:
    """Bring the highest entry to ``at``, and the entry there to its place; returns its move.

    Most nodes need only a few moves of the list, so it is not sorted beforehand.

    Args:
        begin: the begin of the list, from which places count.
    """
    entry = _highest(pos, at, end)
    place = _LAST_PLACE - ((entry >> _MOVE_BITS) & _LAST_PLACE)
    pos.moves[begin + place] = _moved(pos.moves[at], place)
    pos.moves[at] = entry
    return entry & _MOVE_MASK


@jit()
def next_move(pos: Any, th: Any, ply: int, depth: int, skip_quiets: int) -> Any:
    """The next pseudo-legal move, 0 after the last. ``skip_quiets`` 1 leaves quiet moves out from now on.

    The deeper the node (``depth``), the more quiet moves are sorted.
    """
    at = OFFSET + ply
    table_move = th.pick_tt[at]
    begin = th.pick_begin[at]
    while True:
        stage = th.pick_stage[at]
        if stage == _GOOD_CAPTURES:
            if th.pick_at[at] < th.list_end[at]:
                i = th.pick_at[at]
                move = bring_next(pos, begin, i, th.list_end[at])
                th.pick_at[at] = i + 1
                if move == table_move:
                    continue
                if not exchange_at_least(pos, move, -toward_zero(pos.moves[i] >> 32, np.int64(p.GOOD_CAPTURE))):
                    pos.moves[th.pick_bad[at]] = move
                    th.pick_bad[at] += 1
                    continue
                return move
            th.pick_stage[at] = _QUIETS
        elif stage == _GOOD_QUIETS:
            i = th.pick_at[at]
            if i < th.list_end[at] and skip_quiets == 0:
                searched_for = i - th.pick_quiets[at]
                if searched_for < _LOOKED_FOR:
                    bring_next(pos, begin, i, th.list_end[at])
                else:
                    if searched_for == _LOOKED_FOR:
                        th.pick_promising[at] = gather_promising(pos, begin, i, th.list_end[at], -p.SORT_SLOPE * depth)
                    if i < th.pick_promising[at]:
                        bring_next(pos, begin, i, th.pick_promising[at])
                th.pick_at[at] = i + 1
                entry = pos.moves[i]
                move = entry & _MOVE_MASK
                if (entry >> 32) > p.GOOD_QUIET and move != table_move:
                    return move
            else:
                th.pick_stage[at] = _BAD_CAPTURES
                th.pick_at[at] = th.pick_begin[at]
        elif stage == _BAD_CAPTURES:
            i = th.pick_at[at]
            if i < th.pick_bad[at]:
                th.pick_at[at] = i + 1
                return pos.moves[i]
            th.pick_stage[at] = _BAD_QUIETS
            th.pick_at[at] = th.pick_quiets[at]
        elif stage == _BAD_QUIETS:
            i = th.pick_at[at]
            if i < th.list_end[at] and skip_quiets == 0:
                th.pick_at[at] = i + 1
                entry = pos.moves[i]
                move = entry & _MOVE_MASK
                if (entry >> 32) <= p.GOOD_QUIET and move != table_move:
                    return move
            else:
                th.pick_stage[at] = _DONE
        elif stage == _EVASION_REST or stage == _QUIESCENCE_REST or stage == _PROBCUT_REST:
            i = th.pick_at[at]
            if i < th.list_end[at]:
                move = bring_next(pos, begin, i, th.list_end[at])
                th.pick_at[at] = i + 1
                if move == table_move:
                    continue
                return move
            th.pick_stage[at] = _DONE
        elif stage == _TABLE or stage == _EVASION_TABLE or stage == _QUIESCENCE_TABLE or stage == _PROBCUT_TABLE:
            th.pick_stage[at] = stage + 1
            return table_move
        elif stage == _CAPTURES or stage == _QUIESCENCE_CAPTURES or stage == _PROBCUT_CAPTURES:
            th.list_end[at] = generate_captures(pos, begin, th.every_move)
            th.pick_quiets[at] = th.list_end[at]
            _score_captures(pos, th, begin, th.list_end[at])
            th.pick_stage[at] = stage + 1
        elif stage == _QUIETS:
            if skip_quiets == 0:
                th.list_end[at] = generate_quiets(pos, th.pick_quiets[at], th.every_move)
                _score_quiets(pos, th, ply, th.pick_quiets[at], th.list_end[at])
            th.pick_at[at] = th.pick_quiets[at]
            th.pick_stage[at] = _GOOD_QUIETS
        elif stage == _EVASIONS:
            th.list_end[at] = generate_evasions(pos, begin, th.every_move)
            _score_evasions(pos, th, ply, begin, th.list_end[at])
            th.pick_stage[at] = _EVASION_REST
        else:
            return np.int64(0)
