"""Move generation: pseudo-legal lists by kind of target, and a legality test for one move.

A list is written to ``pos.moves`` from index ``n`` on; each generator returns the new end. Generators expect
`attacks.update_checks` to have been called for the present ply. With ``every`` 0 they omit moves that are never better
than the same move with promotion (by a pawn, bishop or rook, or by a lance on the last two ranks).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit import jit
from worker.jit.bits import (
    bitboard,
    count,
    ctz,
    high,
    holds,
    ld_bb,
    low,
    lowest,
    shift_down,
    shift_up,
    single,
    subtract,
    without_lowest,
)
from worker.jit.llvm import always_inline
from worker.jit.memory import ld8
from worker.shogi import tables
from worker.shogi.attacks import (
    all_squares,
    between,
    checkers,
    has_attacker,
    in_check,
    no_squares,
    occupied,
    piece_attacks,
    pieces,
    step_attacks,
)
from worker.shogi.pieces import (
    BISHOP,
    BLACK,
    DRAGON,
    DROP_BIT,
    GOLD,
    HORSE,
    KING,
    KNIGHT,
    LANCE,
    PAWN,
    PROMOTE_BIT,
    ROOK,
    SILVER,
    SQUARES,
)
from worker.shogi.state import GOLDS

_LAST_RANK: Final = sum(1 << square for square in range(8, SQUARES, 9))
_LAST_RANK_LOW, _LAST_RANK_HIGH = np.uint64(_LAST_RANK & (2**64 - 1)), np.uint64(_LAST_RANK >> 64)
_DIRECTION, _FILE_MASK, _STAND, _ZONE = tables.DIRECTION, tables.FILE_MASK, tables.STAND, tables.ZONE


@jit()
def zone(pos: Any, colour: int) -> Any:
    """The enemy camp of ``colour``."""
    return ld_bb(pos.tables + _ZONE + colour * 16)


@jit()
def stand(pos: Any, colour: int, kind: int) -> Any:
    """The squares where an unpromoted piece may stand."""
    return ld_bb(pos.tables + _STAND + (colour * 16 + kind) * 16)


@jit()
def file_of(pos: Any, sq: int) -> Any:
    """The nine squares of a square's file."""
    return ld_bb(pos.tables + _FILE_MASK + sq * 16)


@jit()
def emit(pos: Any, n: int, targets: Any, base: int) -> int:
    """Write ``base`` with each square of ``targets`` as its target; returns the new end."""
    word = low(targets)
    while word != np.uint64(0):
        pos.moves[n] = base | ctz(word)
        n += 1
        word &= word - np.uint64(1)
    word = high(targets)
    while word != np.uint64(0):
        pos.moves[n] = base | (64 + ctz(word))
        n += 1
        word &= word - np.uint64(1)
    return n


@jit()
def _emit_promotable(pos: Any, n: int, colour: int, kind: int, origin: int, targets: Any, every: int) -> int:
    always_inline()
    piece = colour * 16 + kind
    base = (origin << 7) | (piece << 16)
    camp = zone(pos, colour)
    promoting = targets
    if not holds(camp, origin):
        promoting = targets & camp
    n = emit(pos, n, promoting, base | PROMOTE_BIT)
    plain = targets & stand(pos, colour, kind)
    if every == 0:
        if kind == BISHOP or kind == ROOK:
            plain &= ~promoting
        elif kind == LANCE:
            # The knight's squares exclude the last two ranks: there a lance has almost no move left.
            plain &= stand(pos, colour, KNIGHT)
    return emit(pos, n, plain, base)


@jit()
def _pawn_moves(pos: Any, n: int, colour: int, targets: Any, every: int) -> int:
    pawns = pieces(pos, colour * 16 + PAWN)
    if colour == BLACK:
        pushed = shift_down(pawns, 1) & targets
        back = 1
    else:
        pushed = shift_up(pawns, 1) & targets
        back = -1
    camp = zone(pos, colour)
    piece = (colour * 16 + PAWN) << 16
    promoting = pushed & camp
    while promoting:
        target = lowest(promoting)
        promoting = without_lowest(promoting)
        pos.moves[n] = target | ((target + back) << 7) | PROMOTE_BIT | piece
        n += 1
    plain = pushed & stand(pos, colour, PAWN)
    if every == 0:
        plain &= ~camp
    while plain:
        target = lowest(plain)
        plain = without_lowest(plain)
        pos.moves[n] = target | ((target + back) << 7) | piece
        n += 1
    return n


@jit()
def _promotable_moves(pos: Any, n: int, kind: int, targets: Any, occ: Any, every: int) -> int:
    """Moves of all pieces of one kind that may promote."""
    always_inline()
    side = pos.side
    rest = pieces(pos, side * 16 + kind)
    while rest:
        sq = lowest(rest)
        rest = without_lowest(rest)
        n = _emit_promotable(pos, n, side, kind, sq, piece_attacks(pos, side, kind, sq, occ) & targets, every)
    return n


@jit()
def _promoted_moves(pos: Any, n: int, kind: int, targets: Any, occ: Any) -> int:
    """Moves of all horses, or of all dragons."""
    always_inline()
    own = pos.side * 16
    rest = pieces(pos, own + kind)
    while rest:
        sq = lowest(rest)
        rest = without_lowest(rest)
        reach = piece_attacks(pos, pos.side, kind, sq, occ)
        n = emit(pos, n, reach & targets, (sq << 7) | ((own + kind) << 16))
    return n


@jit()
def generate_board(pos: Any, n: int, targets: Any, every: int) -> int:
    """Moves of all pieces but the king to ``targets``, which may not hold own pieces."""
    side = pos.side
    own = side * 16
    occ = occupied(pos)
    n = _pawn_moves(pos, n, side, targets, every)
    n = _promotable_moves(pos, n, np.int64(LANCE), targets, occ, every)
    n = _promotable_moves(pos, n, np.int64(KNIGHT), targets, occ, every)
    n = _promotable_moves(pos, n, np.int64(SILVER), targets, occ, every)
    n = _promotable_moves(pos, n, np.int64(BISHOP), targets, occ, every)
    n = _promotable_moves(pos, n, np.int64(ROOK), targets, occ, every)
    rest = pieces(pos, own + GOLDS)
    while rest:
        sq = lowest(rest)
        rest = without_lowest(rest)
        base = (sq << 7) | (np.int64(pos.board[sq]) << 16)
        n = emit(pos, n, step_attacks(pos, side, GOLD, sq) & targets, base)
    n = _promoted_moves(pos, n, np.int64(HORSE), targets, occ)
    return _promoted_moves(pos, n, np.int64(DRAGON), targets, occ)


@jit()
def generate_king(pos: Any, n: int, targets: Any) -> int:
    """King moves to ``targets``, attacked squares included."""
    side = pos.side
    king = pos.ksq[side]
    if king < 0:
        return n
    return emit(pos, n, step_attacks(pos, side, KING, king) & targets, (king << 7) | ((side * 16 + KING) << 16))


@jit()
def _files_without(pawns: Any) -> Any:
    """All squares of the files without one of ``pawns``; a file has at most one."""
    # A file is nine bits. Its highest, less a pawn, stays only where there is no pawn.
    last = bitboard(_LAST_RANK_LOW, _LAST_RANK_HIGH)
    free = subtract(last, pawns) & last
    return free | subtract(free, shift_down(free, 8))


@jit()
def generate_drops(pos: Any, n: int, targets: Any) -> int:
    """Drops on ``targets`` (which must be empty squares). Two pawns on a file are excluded, drop-pawn mate is not."""
    side = pos.side
    if pos.hand[side * 8 + PAWN] > 0:
        free = targets & stand(pos, side, PAWN) & _files_without(pieces(pos, side * 16 + PAWN))
        n = emit(pos, n, free, DROP_BIT | (PAWN << 7) | ((side * 16 + PAWN) << 16))
    for kind in range(LANCE, KING):
        if pos.hand[side * 8 + kind] > 0:
            base = DROP_BIT | (kind << 7) | ((side * 16 + kind) << 16)
            n = emit(pos, n, targets & stand(pos, side, kind), base)
    return n


@jit()
def generate_evasions(pos: Any, n: int, every: int) -> int:
    """Moves that may answer a check: king moves, captures of a lone checker, interpositions."""
    side = pos.side
    king = pos.ksq[side]
    n = generate_king(pos, n, ~pieces(pos, side * 16) & all_squares())
    checking = checkers(pos)
    if count(checking) > 1:
        return n
    gap = between(pos, king, lowest(checking))
    answers = gap | checking
    n = generate_board(pos, n, answers, every)
    return generate_drops(pos, n, gap)


@jit()
def generate(pos: Any, n: int, every: int) -> int:
    """All pseudo-legal moves; only evasions if the side to move is in check."""
    if in_check(pos):
        return generate_evasions(pos, n, every)
    own = pieces(pos, pos.side * 16)
    targets = all_squares() & ~own
    n = generate_board(pos, n, targets, every)
    n = generate_king(pos, n, targets)
    return generate_drops(pos, n, all_squares() & ~occupied(pos))


@jit()
def generate_captures(pos: Any, n: int, every: int) -> int:
    """Captures; not in check. Together with `generate_quiets`: the whole list."""
    enemies = pieces(pos, (1 - pos.side) * 16)
    n = generate_board(pos, n, enemies, every)
    return generate_king(pos, n, enemies)


@jit()
def generate_quiets(pos: Any, n: int, every: int) -> int:
    """Generate the moves that `generate_captures` omits: board moves to empty squares, and drops; not in check."""
    empty = all_squares() & ~occupied(pos)
    n = generate_board(pos, n, empty, every)
    n = generate_king(pos, n, empty)
    return generate_drops(pos, n, empty)


@jit()
def leaves_king_safe(pos: Any, move: int) -> bool:
    """Whether a pseudo-legal move (in check: a generated evasion) does not leave its own king attacked."""
    if move & DROP_BIT:
        return True
    side = pos.side
    king = pos.ksq[side]
    if king < 0:
        return True
    origin = (move >> 7) & 127
    target = move & 127
    if origin == king:
        return not has_attacker(pos, target, 1 - side, occupied(pos) ^ single(king), no_squares())
    pins = bitboard(pos.st_pinned[2 * pos.ply], pos.st_pinned[2 * pos.ply + 1])
    if holds(pins, origin):
        rays = pos.tables + _DIRECTION + king * 81
        return ld8(rays + origin) == ld8(rays + target)
    return True


@jit()
def is_pseudo_legal(pos: Any, move: int) -> bool:
    """Whether any 21-bit number is a pseudo-legal move here (drop-pawn mate and the king's safety aside).

    In check a move that does not answer the check is refused too. Expects `attacks.update_checks`.
    """
    side = pos.side
    target = move & 127
    piece = move >> 16
    kind = piece & 15
    origin = (move >> 7) & 127
    if move <= 0 or target > 80 or (piece >> 4) != side or kind == 0 or kind > DRAGON:
        return False
    if move & DROP_BIT:
        if (move & PROMOTE_BIT) or kind >= KING or origin != kind:
            return False
        if pos.board[target] != 0 or pos.hand[side * 8 + kind] <= 0:
            return False
        if not holds(stand(pos, side, kind), target):
            return False
        if kind == PAWN and (file_of(pos, target) & pieces(pos, side * 16 + PAWN)):
            return False
    else:
        if origin > 80 or pos.board[origin] != piece:
            return False
        captured = np.int64(pos.board[target])
        if captured != 0 and ((captured >> 4) == side or (captured & 15) == KING):
            return False
        if move & PROMOTE_BIT:
            if kind >= GOLD or not (holds(zone(pos, side), origin) or holds(zone(pos, side), target)):
                return False
        elif not holds(stand(pos, side, kind), target):
            return False
        if not holds(piece_attacks(pos, side, kind, origin, occupied(pos)), target):
            return False
    if in_check(pos) and kind != KING:
        checking = checkers(pos)
        if count(checking) > 1:
            return False
        answers = between(pos, pos.ksq[side], lowest(checking))
        if not (move & DROP_BIT):
            answers |= checking
        return holds(answers, target)
    return True
