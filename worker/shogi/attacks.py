"""Attacks, checkers and pins."""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import HAS_PEXT, jit
from worker.jit.bits import (
    bitboard,
    count,
    high,
    ld_bb,
    low,
    lowest,
    pdep,
    pext,
    reverse,
    shift_down,
    shift_up,
    subtract,
    without_lowest,
)
from worker.jit.llvm import always_inline
from worker.jit.memory import ld64, ldu8, ldu64
from worker.shogi import tables
from worker.shogi.pieces import (
    BISHOP,
    DRAGON,
    GOLD,
    HORSE,
    KING,
    KNIGHT,
    LANCE,
    PAWN,
    ROOK,
    SILVER,
)
from worker.shogi.state import GOLDS
from worker.shogi.tables import LINE_ANTIDIAGONAL, LINE_DIAGONAL, LINE_FILE, LINE_RANK

_BETWEEN, _FORWARD, _STEP = tables.BETWEEN, tables.FORWARD, tables.STEP
_ROOK_RAYS, _BISHOP_RAYS = tables.ROOK_RAYS, tables.BISHOP_RAYS


@jit()
def no_squares() -> Any:
    """The empty bitboard."""
    return bitboard(np.uint64(0), np.uint64(0))


@jit()
def all_squares() -> Any:
    """All 81 squares."""
    return bitboard(tables.ALL_LOW, tables.ALL_HIGH)


@jit()
def pieces(pos: Any, piece: int) -> Any:
    """The squares of ``piece`` (colour included); ``colour << 4`` gives all of a colour."""
    return bitboard(pos.bb[2 * piece], pos.bb[2 * piece + 1])


@jit()
def occupied(pos: Any) -> Any:
    """All pieces of both sides."""
    return bitboard(pos.bb[0] | pos.bb[32], pos.bb[1] | pos.bb[33])


if HAS_PEXT:
    _INDEX, _ATTACKS = tables.LINE_INDEX, tables.LINE_ATTACKS

    @jit()
    def line_attacks(pos: Any, sq: int, line: int, occ: Any) -> Any:
        """A slider's attacks both ways along one line, by one table look-up."""
        entry = pos.tables + _INDEX + sq * 128 + line * 32
        mask_low, mask_high, shift = ldu64(entry), ldu64(entry + 8), ldu64(entry + 16)
        pattern = pext(low(occ), mask_low) | (pext(high(occ), mask_high) << shift)
        reached = np.uint64(ldu8(pos.tables + _ATTACKS + ld64(entry + 24) + np.int64(pattern)))
        return bitboard(pdep(reached, mask_low), pdep(reached >> shift, mask_high))

else:
    _RAYS = tables.LINE_RAYS

    @jit()
    def line_attacks(pos: Any, sq: int, line: int, occ: Any) -> Any:
        """A slider's attacks both ways along one line: ``o ^ (o - 1)`` reaches up to the lowest blocker; the falling
        ray is done on reversed bits (the carry trick that Qugiy brought to shogi)."""
        entry = pos.tables + _RAYS + sq * 128 + line * 32
        rising = ld_bb(entry)
        falling = reverse(ld_bb(entry + 16))
        one = bitboard(np.uint64(1), np.uint64(0))
        up = occ & rising
        down = reverse(occ) & falling
        return ((up ^ subtract(up, one)) & rising) | reverse((down ^ subtract(down, one)) & falling)


@jit()
def step_attacks(pos: Any, colour: int, kind: int, sq: int) -> Any:
    """The one-step attacks of a piece type (of horse and dragon the stepping part; `GOLDS` as gold)."""
    return ld_bb(pos.tables + _STEP + ((colour * 16 + kind) * 81 + sq) * 16)


@jit()
def forward_ray(pos: Any, colour: int, sq: int) -> Any:
    """All squares ahead of ``sq`` on its file."""
    return ld_bb(pos.tables + _FORWARD + (colour * 81 + sq) * 16)


@jit()
def between(pos: Any, a: int, b: int) -> Any:
    """The squares strictly between two squares on a line; none if no line joins them."""
    return ld_bb(pos.tables + _BETWEEN + (a * 81 + b) * 16)


@jit()
def bishop_attacks(pos: Any, sq: int, occ: Any) -> Any:
    return line_attacks(pos, sq, LINE_DIAGONAL, occ) | line_attacks(pos, sq, LINE_ANTIDIAGONAL, occ)


@jit()
def rook_attacks(pos: Any, sq: int, occ: Any) -> Any:
    return line_attacks(pos, sq, LINE_FILE, occ) | line_attacks(pos, sq, LINE_RANK, occ)


@jit()
def lance_attacks(pos: Any, colour: int, sq: int, occ: Any) -> Any:
    return line_attacks(pos, sq, LINE_FILE, occ) & forward_ray(pos, colour, sq)


@jit()
def piece_attacks(pos: Any, colour: int, kind: int, sq: int, occ: Any) -> Any:
    """All squares that a piece attacks."""
    if kind == LANCE:
        return lance_attacks(pos, colour, sq, occ)
    if kind == BISHOP:
        return bishop_attacks(pos, sq, occ)
    if kind == ROOK:
        return rook_attacks(pos, sq, occ)
    if kind == HORSE:
        return bishop_attacks(pos, sq, occ) | step_attacks(pos, colour, KING, sq)
    if kind == DRAGON:
        return rook_attacks(pos, sq, occ) | step_attacks(pos, colour, KING, sq)
    return step_attacks(pos, colour, kind, sq)


@jit()
def add_attacks(pos: Any, colour: int, left: Any, occ: Any, once: Any, twice: Any) -> Any:
    """Two bitboards with the attacks of the pieces of ``colour`` on ``left`` added: the squares attacked at least once,
    and at least twice."""
    while left:
        square = lowest(left)
        left = without_lowest(left)
        reached = piece_attacks(pos, colour, pos.board[square] & 15, square, occ)
        twice |= once & reached
        once |= reached
    return once, twice


@jit()
def ahead(squares: Any, colour: int) -> Any:
    """The squares in front of these, as ``colour`` sees them."""
    last = bitboard(tables.RANK_ONE_LOW, tables.RANK_ONE_HIGH)
    return shift_down(squares & ~last, np.int64(1)) if colour == 0 else shift_up(squares, np.int64(1)) & ~last


@jit()
def _add(squares: Any, once: Any, twice: Any) -> Any:
    """As `add_attacks`, with attacks at hand: no two from one square."""
    return once | squares, twice | (once & squares)


@jit()
def _add_beside(squares: Any, once: Any, twice: Any) -> Any:
    """The same with the squares to the left and to the right of these."""
    once, twice = _add(shift_down(squares, np.int64(9)), once, twice)
    return _add(shift_up(squares, np.int64(9)) & all_squares(), once, twice)


@jit()
def joined(once: Any, twice: Any, more: Any, more_twice: Any) -> Any:
    """As `add_attacks`, with the attacks of two groups of pieces: the squares that each attacks once and twice."""
    return once | more, twice | more_twice | (once & more)


@jit()
def knight_attacks(knights: Any, colour: int) -> Any:
    """What knights on these squares attack: the squares attacked at least once, and at least twice. All take a step
    together, without a loop over them."""
    return _add_beside(ahead(ahead(knights, colour), colour), no_squares(), no_squares())


@jit()
def silver_attacks(silvers: Any, colour: int) -> Any:
    """The same with silvers."""
    front = ahead(silvers, colour)
    once, twice = _add_beside(front, front, no_squares())
    return _add_beside(ahead(silvers, 1 - colour), once, twice)


@jit()
def gold_attacks(golds: Any, colour: int) -> Any:
    """The same with golds and all that move as they do."""
    front = ahead(golds, colour)
    once, twice = _add_beside(golds, front, no_squares())
    once, twice = _add_beside(front, once, twice)
    return _add(ahead(golds, 1 - colour), once, twice)


@jit()
def stepping_attacks(pos: Any, colour: int) -> Any:
    """The same with the pawns, knights, silvers and golds of a position."""
    own = colour * 16
    once, twice = knight_attacks(pieces(pos, own + KNIGHT), colour)
    once, twice = _add(ahead(pieces(pos, own + PAWN), colour), once, twice)
    more, more_twice = silver_attacks(pieces(pos, own + SILVER), colour)
    once, twice = joined(once, twice, more, more_twice)
    more, more_twice = gold_attacks(pieces(pos, own + GOLDS), colour)
    return joined(once, twice, more, more_twice)


@jit()
def stepping_attackers(pos: Any, sq: int, colour: int) -> Any:
    """The pieces of ``colour`` that attack ``sq`` by one step."""
    enemy = 1 - colour
    own = colour * 16
    found = step_attacks(pos, enemy, PAWN, sq) & pieces(pos, own + PAWN)
    found |= step_attacks(pos, enemy, KNIGHT, sq) & pieces(pos, own + KNIGHT)
    found |= step_attacks(pos, enemy, SILVER, sq) & pieces(pos, own + SILVER)
    found |= step_attacks(pos, enemy, GOLD, sq) & pieces(pos, own + GOLDS)
    near = pieces(pos, own + KING) | pieces(pos, own + HORSE) | pieces(pos, own + DRAGON)
    return found | (step_attacks(pos, enemy, KING, sq) & near)


@jit()
def rook_rays(pos: Any, sq: int) -> Any:
    """The squares that a rook on ``sq`` reaches on the empty board."""
    return ld_bb(pos.tables + _ROOK_RAYS + sq * 16)


@jit()
def bishop_rays(pos: Any, sq: int) -> Any:
    """The squares that a bishop on ``sq`` reaches on the empty board."""
    return ld_bb(pos.tables + _BISHOP_RAYS + sq * 16)


@jit()
def sliding_attackers(pos: Any, sq: int, colour: int, occ: Any) -> Any:
    """The sliders of ``colour`` that attack ``sq`` through ``occ``."""
    own = colour * 16
    rooks = pieces(pos, own + ROOK) | pieces(pos, own + DRAGON)
    bishops = pieces(pos, own + BISHOP) | pieces(pos, own + HORSE)
    lances = pieces(pos, own + LANCE) & forward_ray(pos, 1 - colour, sq)
    return _through(pos, sq, rooks, lances, bishops, occ)


@jit()
def _through(pos: Any, sq: int, rooks: Any, lances: Any, bishops: Any, occ: Any) -> Any:
    """The sliders among these that attack ``sq`` through ``occ``; ``lances`` face it.

    Most are on no line with it, and the line tables are large: they are used only for sliders that are.
    """
    always_inline()
    rooks = (rooks & rook_rays(pos, sq)) | lances
    bishops &= bishop_rays(pos, sq)
    found = no_squares()
    if rooks:
        found = rook_attacks(pos, sq, occ) & rooks
    if bishops:
        found |= bishop_attacks(pos, sq, occ) & bishops
    return found


@jit()
def all_sliding_attackers(pos: Any, sq: int, occ: Any) -> Any:
    """Both sides' sliders that attack ``sq`` through ``occ``."""
    rooks = pieces(pos, ROOK) | pieces(pos, DRAGON) | pieces(pos, 16 + ROOK) | pieces(pos, 16 + DRAGON)
    bishops = pieces(pos, BISHOP) | pieces(pos, HORSE) | pieces(pos, 16 + BISHOP) | pieces(pos, 16 + HORSE)
    lances = pieces(pos, LANCE) & forward_ray(pos, np.int64(1), sq)
    lances |= pieces(pos, 16 + LANCE) & forward_ray(pos, np.int64(0), sq)
    return _through(pos, sq, rooks, lances, bishops, occ)


@jit()
def attackers(pos: Any, sq: int, colour: int, occ: Any) -> Any:
    """The pieces of ``colour`` that attack ``sq``, sliders seen through ``occ``."""
    return stepping_attackers(pos, sq, colour) | sliding_attackers(pos, sq, colour, occ)


@jit()
def has_attacker(pos: Any, sq: int, colour: int, occ: Any, others: Any) -> bool:
    """Whether a piece of ``colour`` that is not among ``others`` attacks ``sq``. Sliders are tested last."""
    always_inline()
    if stepping_attackers(pos, sq, colour) & ~others:
        return True
    return bool(sliding_attackers(pos, sq, colour, occ) & ~others)


@jit()
def is_attacked(pos: Any, sq: int, colour: int) -> bool:
    """Whether ``colour`` attacks ``sq``."""
    return has_attacker(pos, sq, colour, occupied(pos), no_squares())


@jit()
def shields(pos: Any, colour: int) -> Any:
    """The pieces of either side that alone stand between the king of ``colour`` and an enemy slider."""
    king = pos.ksq[colour]
    found = no_squares()
    if king < 0:
        return found
    enemy = (1 - colour) * 16
    rooks = pieces(pos, enemy + ROOK) | pieces(pos, enemy + DRAGON)
    bishops = pieces(pos, enemy + BISHOP) | pieces(pos, enemy + HORSE)
    snipers = rook_rays(pos, king) & rooks
    snipers |= bishop_rays(pos, king) & bishops
    snipers |= forward_ray(pos, colour, king) & pieces(pos, enemy + LANCE)
    occ = occupied(pos)
    while snipers:
        sniper = lowest(snipers)
        snipers = without_lowest(snipers)
        blockers = between(pos, king, sniper) & occ
        if count(blockers) == 1:
            found |= blockers
    return found


@jit()
def pinned(pos: Any, colour: int) -> Any:
    """The pieces of ``colour`` that alone shield their king from a slider."""
    return shields(pos, colour) & pieces(pos, colour * 16)


@jit()
def update_checks(pos: Any) -> None:
    """Fill the stacks of the current ply: checkers, pins and the run of checks. Call once on entering a node."""
    king = pos.ksq[pos.side]
    checking = no_squares()
    if king >= 0:
        checking = attackers(pos, king, 1 - pos.side, occupied(pos))
    _note_checkers(pos, checking)


@jit()
def update_unchecked(pos: Any) -> None:
    """`update_checks` for the case that the last move gave no check."""
    _note_checkers(pos, no_squares())


@jit()
def _note_checkers(pos: Any, checking: Any) -> None:
    side = pos.side
    ply = pos.ply
    pos.st_checkers[2 * ply] = low(checking)
    pos.st_checkers[2 * ply + 1] = high(checking)
    pins = pinned(pos, side)
    pos.st_pinned[2 * ply] = low(pins)
    pos.st_pinned[2 * ply + 1] = high(pins)
    run = np.int64(0)
    if checking and ply > 0:
        run = pos.st_run[2 * (ply - 1) + 1 - side] + 2
    pos.st_run[2 * ply + 1 - side] = run
    pos.st_run[2 * ply + side] = pos.st_run[2 * (ply - 1) + side] if ply > 0 else 0


@jit()
def checkers(pos: Any) -> Any:
    """The pieces that check the side to move, as found by `update_checks`."""
    return bitboard(pos.st_checkers[2 * pos.ply], pos.st_checkers[2 * pos.ply + 1])


@jit()
def in_check(pos: Any) -> bool:
    """Whether the side to move is in check, as found by `update_checks`."""
    return (pos.st_checkers[2 * pos.ply] | pos.st_checkers[2 * pos.ply + 1]) != np.uint64(0)
