"""Steps of every node of the tree: poll the clock, test whether the game is over, note which moves check, make a move,
keep the PV."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit import jit
from worker.jit.bits import high, low
from worker.jit.fields import sixteen_equal
from worker.jit.llvm import never_inline
from worker.jit.memory import atomic_ld64, ld8
from worker.jit.system import hand_over, monotonic_ns
from worker.score import MATE, MATE_BOUND, MAX_EVAL, NO_SCORE
from worker.search import parts
from worker.search.correction import correction_row, follow_keys
from worker.search.history import continuation_row, slot_of
from worker.search.state import CHECK_WORDS, OFFSET, PV_ROW
from worker.search.tt import entry_bound, entry_score, prefetch_entry, probe
from worker.shogi import tables
from worker.shogi.attacks import (
    bishop_attacks,
    forward_ray,
    in_check,
    line_attacks,
    no_squares,
    occupied,
    rook_attacks,
    step_attacks,
    update_checks,
    update_unchecked,
)
from worker.shogi.checks import discoverers
from worker.shogi.declaration import wins_by
from worker.shogi.makemove import (
    fourth_time,
    is_legal,
    keys_after,
    make_known,
    make_null,
    perpetual_check,
    repetition_distance,
)
from worker.shogi.pieces import (
    BISHOP,
    DRAGON,
    DROP_BIT,
    GOLD,
    HORSE,
    KING,
    KNIGHT,
    LANCE,
    PAWN,
    PRO_PAWN,
    PRO_SILVER,
    ROOK,
    SILVER,
)
from worker.shogi.tables import LINE_FILE

_DIRECTION = tables.DIRECTION


@jit()
def _note(th: Any, first: int, kind: int, squares: Any) -> None:
    th.check_squares[first + 2 * kind] = low(squares)
    th.check_squares[first + 2 * kind + 1] = high(squares)


@jit()
def note_checks(pos: Any, th: Any, ply: int) -> None:
    """Find the squares from which each piece gives check; call before `checks_by` and before quiet moves are scored."""
    first = (OFFSET + ply) * CHECK_WORDS
    enemy = 1 - pos.side
    king = pos.ksq[enemy]
    if king < 0:
        for i in range(CHECK_WORDS):
            th.check_squares[first + i] = np.uint64(0)
        return
    # The squares that the king would attack if it were such a piece of its own colour.
    occ = occupied(pos)
    bishop = bishop_attacks(pos, king, occ)
    file = line_attacks(pos, king, LINE_FILE, occ)
    rook = rook_attacks(pos, king, occ)
    near = step_attacks(pos, enemy, KING, king)
    gold = step_attacks(pos, enemy, GOLD, king)
    _note(th, first, PAWN, step_attacks(pos, enemy, PAWN, king))
    _note(th, first, LANCE, file & forward_ray(pos, enemy, king))
    _note(th, first, KNIGHT, step_attacks(pos, enemy, KNIGHT, king))
    _note(th, first, SILVER, step_attacks(pos, enemy, SILVER, king))
    _note(th, first, BISHOP, bishop)
    _note(th, first, ROOK, rook)
    _note(th, first, GOLD, gold)
    _note(th, first, KING, no_squares())
    for kind in range(PRO_PAWN, PRO_SILVER + 1):
        _note(th, first, kind, gold)
    _note(th, first, HORSE, bishop | near)
    _note(th, first, DRAGON, rook | near)
    # In slot 0: the pieces that can uncover a check.
    _note(th, first, np.int64(0), discoverers(pos))


@jit()
def stands_for_check(th: Any, ply: int, move: int) -> bool:
    """Whether the moved piece itself checks from its target. Expects `note_checks`."""
    kind = ((move >> 16) | ((move >> 11) & 8)) & 15
    return _has(th, (OFFSET + ply) * CHECK_WORDS + 2 * kind, move & 127)


@jit()
def _has(th: Any, words: int, square: int) -> bool:
    """Whether the two words from ``words`` on contain a square."""
    return (th.check_squares[words + (square >> 6)] >> np.uint64(square & 63)) & np.uint64(1) != np.uint64(0)


@jit()
def checks_by(pos: Any, th: Any, ply: int, move: int) -> bool:
    """Whether a legal move checks. Expects `note_checks`, and an enemy king that is not in check."""
    if stands_for_check(th, ply, move):
        return True
    origin = (move >> 7) & 127
    if move & DROP_BIT or not _has(th, (OFFSET + ply) * CHECK_WORDS, origin):
        return False
    rays = pos.tables + _DIRECTION + pos.ksq[1 - pos.side] * 81
    return ld8(rays + origin) != ld8(rays + (move & 127))


ALL, CUT, PV = 0, 1, 2
"""Kinds of nodes: a fail-low, a fail-high or an exact score is expected. A PV node may have a null window."""
POLL_NODES: Final = 1024
"""Nodes between two checks of the stop flag and the clock: about a millisecond."""
REPETITION_WINDOW: Final = 16
"""Plies back for which repetitions are detected."""
NEAR_ROOT: Final = 2
"""Up to this many plies from the root, a fourth occurrence is detected in the whole game, not only in those sixteen
plies: the player chooses the root's move by its replies."""
_SAME_SIDE: Final = 0x1555
"""The plies with the same side to move among the last sixteen (bit 0: the oldest), without the last two: a side needs
two moves to return."""
REPETITION_WIN: Final = MAX_EVAL
"""A win by the opponent's perpetual check, or by a better hand on the same board: above evaluations, below mates."""


@jit()
def poll(th: Any) -> None:
    """Check the node limit, the stop flag and the clock; set ``stopped`` if one of them ends the search."""
    if th.nodes >= th.pause_at:
        hand_over(th.pause_done, th.pause_go)
    if th.nodes >= th.node_limit or atomic_ld64(th.stop_flag) != 0:
        th.stopped = 1
    elif th.deadline_ns != 0 and monotonic_ns() >= th.deadline_ns:
        th.stopped = 1
    th.next_poll = min(th.nodes + POLL_NODES, th.node_limit, th.pause_at)


@jit()
def enter_node(pos: Any, th: Any, ply: int) -> bool:
    """Note facts of this node for the nodes below; returns whether the side to move is in check."""
    at = OFFSET + ply
    if th.checks[at - 1] != 0:
        update_checks(pos)
    else:
        update_unchecked(pos)
    checked = in_check(pos)
    th.checked[at] = 1 if checked else 0
    return checked


@jit()
def _hand_change(pos: Any, distance: int) -> Any:
    """Compare the hand of the side to move with its hand ``distance`` plies ago, when the board stood like this.

    Returns:
        int64. 1: more pieces of some kind and fewer of none, -1: fewer of some kind and more of none, 0: neither.
    """
    more = less = False
    for kind in range(PAWN, KING):
        changes: Any = np.int64(0)
        at = pos.ply - distance
        while at < pos.ply:
            move = pos.st_move[at]
            if move & DROP_BIT:
                if ((move >> 16) & 15) == kind:
                    changes -= 1
            elif pos.st_captured[at] != 0 and (pos.st_captured[at] & 7) == kind:
                changes += 1
            at += 2
        more = more or changes > 0
        less = less or changes < 0
    if more and not less:
        return np.int64(1)
    return np.int64(-1) if less and not more else np.int64(0)


@jit()
def _passes(pos: Any, distance: int) -> bool:
    """Whether one of the last ``distance`` moves was a null move: no repetition spans it."""
    for i in range(pos.ply - distance, pos.ply):
        if pos.st_move[i] == 0:
            return True
    return False


@jit()
def repetition_score(pos: Any, th: Any, ply: int) -> Any:
    """The score of a position that is repeated in the tree, or occurs for the fourth time in the game; `NO_SCORE`
    otherwise.

    A second occurrence of a position from the game is not a draw yet: the other side may still deviate. If the board
    repeats in the tree with a better hand, the side to move has only gained: that counts as a win. With a worse hand it
    counts as a loss.
    """
    # Most positions are new: one test of the boards of the last sixteen plies shows that. Near the start of the game it
    # reads the field before `st_board`, which at worst costs time.
    if sixteen_equal(pos.st_board, pos.ply - REPETITION_WINDOW, pos.board_key) & _SAME_SIDE == 0:
        return _fourth(pos, th, ply) if ply <= NEAR_ROOT else np.int64(NO_SCORE)
    return _known_board(pos, th, ply)


@jit()
def _fourth(pos: Any, th: Any, ply: int) -> Any:
    """The score of a position that occurs for the fourth time; `NO_SCORE` otherwise, and if a null move led here."""
    never_inline()
    distance = fourth_time(pos)
    if distance == 0 or _passes(pos, ply):
        return np.int64(NO_SCORE)
    return _repeated(pos, th, ply, distance)


@jit()
def _known_board(pos: Any, th: Any, ply: int) -> Any:
    """`repetition_score` if the same board occurred in one of the last sixteen plies."""
    never_inline()
    window: Any = min(ply - 1, np.int64(REPETITION_WINDOW))
    key = pos.board_key
    distance = np.int64(4)
    while distance <= window:
        if pos.st_board[pos.ply - distance] == key:
            if _passes(pos, distance):
                return np.int64(NO_SCORE)
            if pos.st_key[pos.ply - distance] == pos.key:
                return _repeated(pos, th, ply, distance)
            if parts.SUPERIOR_POSITIONS:
                change = _hand_change(pos, distance)
                if change != 0:
                    return change * REPETITION_WIN - change * ply
        distance += 2
    if ply <= NEAR_ROOT or repetition_distance(pos, max(np.int64(0), pos.ply - REPETITION_WINDOW)) != 0:
        return _fourth(pos, th, ply)
    return np.int64(NO_SCORE)


@jit()
def _repeated(pos: Any, th: Any, ply: int, distance: int) -> Any:
    """A draw, unless one side gave check throughout: that side loses."""
    checker = perpetual_check(pos, distance)
    if checker > 0:
        return np.int64(-REPETITION_WIN) + ply
    if checker < 0:
        return np.int64(REPETITION_WIN) - ply
    return th.draw_value[pos.side]


@jit()
def game_end_score(pos: Any, th: Any, ply: int) -> Any:
    """The score if the rules end the game here without a mate, `NO_SCORE` otherwise.

    The move limit comes first (it draws a mate too), then repetition, then a declaration. Expects `enter_node`.
    """
    if pos.ply >= th.draw_ply:
        return th.draw_value[pos.side]
    score = repetition_score(pos, th, ply)
    if score == NO_SCORE and wins_by(pos, th.entering_rule):
        return np.int64(MATE - 1) - ply
    return score


@jit()
def beyond_limit(pos: Any, th: Any, ply: int, score: int) -> Any:
    """Whether ``score`` is a mate that would come after the move limit: it was found with more plies left."""
    return abs(score) >= MATE_BOUND and pos.ply - ply + MATE - abs(score) >= th.draw_ply


@jit()
def table_agrees(pos: Any, th: Any, ply: int, move: int, high: bool, beta: int) -> Any:
    """Whether the entry after the table's move is on the same side of beta, or there is none (after Stockfish).

    Args:
        move: pseudo-legal; 0: the table has none.
        high: whether the table's score is beta or more.
    """
    if move == 0 or not is_legal(pos, move, th.list_end[OFFSET + ply - 1]):
        return True
    board, hands = keys_after(pos, move)
    data = probe(th, board ^ hands)
    if data == np.uint64(0) or entry_bound(data) == 0:
        return True
    return (-entry_score(data, ply + 1) >= beta) == high


@jit()
def update_pv(th: Any, ply: int, move: int) -> None:
    """Set the PV from ``ply`` on: ``move``, then the child's PV."""
    row = ply * PV_ROW
    child = (ply + 1) * PV_ROW
    length = th.pv_length[ply + 1]
    th.pv[row] = move
    for i in range(length):
        th.pv[row + 1 + i] = th.pv[child + i]
    th.pv_length[ply] = length + 1


@jit()
def do_move(pos: Any, th: Any, ply: int, move: int, checks: bool) -> None:
    """Make a move of the tree and note it for the histories of later moves; ``checks``: it gives check."""
    th.nodes += 1
    at = OFFSET + ply
    slot = slot_of(move)
    captured = np.int64(0)
    if not (move & DROP_BIT):
        captured = np.int64(pos.board[move & 127])
    captures = np.int64(1 if captured != 0 else 0)
    th.checks[at] = 1 if checks else 0
    th.slot[at] = slot
    th.row[at] = continuation_row(th, th.checked[at], captures, slot)
    th.correction_row[at] = correction_row(th, slot)
    # Prefetch all memory that the child will read; meanwhile the move is made.
    board, hands = keys_after(pos, move)
    prefetch_entry(th, board ^ hands)
    follow_keys(pos, th, ply + np.int64(1), move, captured)
    make_known(pos, move, board, hands)


@jit()
def do_null_move(pos: Any, th: Any, ply: int) -> None:
    """Make a null move in the tree."""
    at = OFFSET + ply
    th.checks[at] = 0
    th.slot[at] = 0
    th.row[at] = continuation_row(th, np.int64(0), np.int64(0), np.int64(0))
    th.correction_row[at] = correction_row(th, np.int64(0))
    follow_keys(pos, th, ply + np.int64(1), np.int64(0), np.int64(0))
    make_null(pos)
    prefetch_entry(th, pos.key)
