"""Inputs of attack networks (`worker.nnue.attack_network`): what the pieces attack, as numbers from 0 to 127.

K+P says where pieces stand, not what they attack. So these inputs count, for the side to move:

- the squares around both kings by *class*: ``3 * own + enemy``, in which both are the number of attackers, 0, 1 or 2
  (for two and more); the squares next to a king are counted without the attacks of that king,
- the attacked pieces of both sides by type and by danger (`UNPROTECTED` ...),
- the empty squares on which a piece in hand would give check, by the danger to that piece (`FREE` ...),
- pieces in hand,
- the squares to which the pieces of a type can go without being taken,
- the squares to which they can go with check, if they can be taken there and if not,
- the pieces that stand alone between a king and a slider,
- the evaluation by the network beside (`worker.nnue.attack_network` writes it).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit import jit
from worker.jit.bits import count, holds, lowest, shift_down, shift_up, single, without_lowest
from worker.jit.llvm import always_inline
from worker.nnue.kernels import kernels
from worker.shogi.attacks import (
    ahead,
    all_squares,
    bishop_attacks,
    forward_ray,
    gold_attacks,
    joined,
    knight_attacks,
    lance_attacks,
    no_squares,
    occupied,
    pieces,
    rook_attacks,
    shields,
    silver_attacks,
    step_attacks,
)
from worker.shogi.movegen import zone
from worker.shogi.pieces import BISHOP, BLACK, DRAGON, GOLD, HORSE, KING, KNIGHT, LANCE, PAWN, ROOK, SILVER, WHITE
from worker.shogi.state import GOLDS

CLASSES: Final = 9
"""Classes of squares."""
RINGS: Final = 4
"""Of squares: next to the own king, two squares away from it, and the same for the enemy's king."""
KINDS: Final = (PAWN, LANCE, KNIGHT, SILVER, BISHOP, ROOK, GOLD, HORSE, DRAGON)
"""Types of pieces without the king; all that move as a gold count as one."""
_KIND: Final = tuple(KINDS.index(kind) if kind in KINDS else KINDS.index(GOLD) for kind in range(16))
UNPROTECTED, LESSER, OUTNUMBERED, OTHER = range(4)
"""Dangers to an attacked piece: without protection; with it, but attacked by a pawn, or a bishop, rook, horse or dragon
by a lesser piece; attacked twice or more and protected once; the rest."""
DANGERS: Final = 4
_DANGER: Final = np.array(
    [UNPROTECTED, OTHER, UNPROTECTED, LESSER, UNPROTECTED, OUTNUMBERED, UNPROTECTED, LESSER], np.int64
)
"""By protected + 2 (by a lesser piece) + 4 (attacked twice or more and protected once)."""
FREE, SUPPORTED, TAKEN = range(3)
"""Dangers to a piece that is dropped with check: no enemy attacks it; only the enemy's king does, which cannot take
it; the rest."""
DROP_DANGERS: Final = 3
DROPPED: Final = 7
"""Types of dropped pieces, `PAWN` to `GOLD`."""
HELD: Final = 7
"""Types whose number in hand is an input, `PAWN` to `GOLD`."""

ATTACKED: Final = RINGS * CLASSES
"""The first input of attacked pieces: [own, enemy's][danger][number in `KINDS`]."""
DROPS: Final = ATTACKED + 2 * DANGERS * len(KINDS)
"""The first input of drops with check: [own, enemy's][type][danger]."""
HANDS: Final = DROPS + 2 * DROPPED * DROP_DANGERS
"""The first input of pieces in hand: [own, enemy's][type]."""
SAFE: Final = HANDS + 2 * HELD
"""The first input of safe squares: [own, enemy's][number in `KINDS`, or after them the king]."""
CHECKS: Final = SAFE + 2 * (len(KINDS) + 1)
"""The first input of moves with check: [own, enemy's][safe, not safe][number in `KINDS`]."""
SHIELDS: Final = CHECKS + 2 * 2 * len(KINDS)
"""The first input of pieces between a king and a slider: [own king, enemy's][its own, its enemy's]."""
EVALUATION: Final = SHIELDS + 2 * 2
"""The input of the evaluation by the network beside."""
INPUTS: Final = 256
"""A multiple of 32, as the kernels need it. Those after `EVALUATION` are 0."""

RING_UNIT: Final = 8
"""What each square of a ring adds to its input; inputs end at `MOST`."""
ATTACKED_UNIT: Final = 32
DROP_UNIT: Final = 16
PAWN_UNIT: Final = 7
HAND_UNIT: Final = 31
SAFE_UNIT: Final = 8
CHECK_UNIT: Final = 16
SHIELD_UNIT: Final = 31
MOST: Final = 127


@jit()
def _spread(squares: Any) -> Any:
    """These squares and all that a king reaches from them."""
    always_inline()
    squares |= shift_up(squares, np.int64(9)) | shift_down(squares, np.int64(9))
    return (squares | ahead(squares, BLACK) | ahead(squares, WHITE)) & all_squares()


@jit()
def _large(pos: Any, colour: int) -> Any:
    """Bishops, rooks, horses and dragons."""
    own = colour * 16
    return pieces(pos, own + BISHOP) | pieces(pos, own + ROOK) | pieces(pos, own + HORSE) | pieces(pos, own + DRAGON)


@jit()
def _sliding(pos: Any, colour: int, kind: int, occ: Any) -> Any:
    """The squares that the pieces of a sliding type attack at least once, and at least twice."""
    always_inline()
    left, once, twice = pieces(pos, colour * 16 + kind), no_squares(), no_squares()
    while left:
        square = lowest(left)
        left = without_lowest(left)
        if kind == LANCE:
            reached = lance_attacks(pos, colour, square, occ)
        else:
            reached = bishop_attacks(pos, square, occ) if kind in (BISHOP, HORSE) else rook_attacks(pos, square, occ)
        if kind in (HORSE, DRAGON):
            reached |= step_attacks(pos, colour, KING, square)
        twice |= once & reached
        once |= reached
    return once, twice


@jit()
def _attacks(pos: Any, colour: int, occ: Any) -> Any:
    """What the pieces of ``colour`` other than its king attack.

    Returns:
        the squares attacked at least once, and at least twice; those that its pieces other than bishops, rooks, horses
        and dragons attack; and of each of `KINDS` those that its pieces attack.
    """
    always_inline()
    own = colour * 16
    pawns = ahead(pieces(pos, own + PAWN), colour)
    knights, twice = knight_attacks(pieces(pos, own + KNIGHT), colour)
    once, twice = joined(pawns, no_squares(), knights, twice)
    silvers, more = silver_attacks(pieces(pos, own + SILVER), colour)
    once, twice = joined(once, twice, silvers, more)
    golds, more = gold_attacks(pieces(pos, own + GOLDS), colour)
    once, twice = joined(once, twice, golds, more)
    lances, more = _sliding(pos, colour, LANCE, occ)
    by_small, twice = joined(once, twice, lances, more)
    bishops, more = _sliding(pos, colour, BISHOP, occ)
    once, twice = joined(by_small, twice, bishops, more)
    rooks, more = _sliding(pos, colour, ROOK, occ)
    once, twice = joined(once, twice, rooks, more)
    horses, more = _sliding(pos, colour, HORSE, occ)
    once, twice = joined(once, twice, horses, more)
    dragons, more = _sliding(pos, colour, DRAGON, occ)
    once, twice = joined(once, twice, dragons, more)
    return once, twice, by_small, (pawns, lances, knights, silvers, bishops, rooks, golds, horses, dragons)


@jit()
def _checking(pos: Any, colour: int, occ: Any) -> Any:
    """The squares from which a piece of ``colour`` would attack the enemy's king, of each of `KINDS`."""
    always_inline()
    enemy = 1 - colour
    king = pos.ksq[enemy]
    bishops, rooks = bishop_attacks(pos, king, occ), rook_attacks(pos, king, occ)
    near = step_attacks(pos, enemy, KING, king)
    return (
        step_attacks(pos, enemy, PAWN, king),
        rooks & forward_ray(pos, enemy, king),
        step_attacks(pos, enemy, KNIGHT, king),
        step_attacks(pos, enemy, SILVER, king),
        bishops,
        rooks,
        step_attacks(pos, enemy, GOLD, king),
        bishops | near,
        rooks | near,
    )


@jit()
def _ring(inputs: int, first: int, ring: Any, own: Any, own_twice: Any, enemy: Any, enemy_twice: Any) -> None:
    """Write the inputs of a ring; ``first``: the number of its first."""
    always_inline()
    for row in range(3):
        part = ring & (~own if row == 0 else own & ~own_twice if row == 1 else own_twice)
        if part:
            some, many = count(part & enemy), count(part & enemy_twice)
            at = first + 3 * row
            kernels.put(inputs, at, min(RING_UNIT * (count(part) - some), MOST))
            kernels.put(inputs, at + 1, min(RING_UNIT * (some - many), MOST))
            kernels.put(inputs, at + 2, min(RING_UNIT * many, MOST))


@jit()
def _around(inputs: int, first: int, king: Any, own: Any, own_twice: Any, enemy: Any, enemy_twice: Any) -> None:
    """Write the inputs of both rings of a king."""
    always_inline()
    near = _spread(king)
    _ring(inputs, first, near & ~king, own, own_twice, enemy, enemy_twice)
    _ring(inputs, first + CLASSES, _spread(near) & ~near, own, own_twice, enemy, enemy_twice)


@jit()
def _attacked(
    pos: Any, inputs: int, first: int, us: int, own: Any, own_twice: Any, enemy: Any, enemy_twice: Any, by_small: Any
) -> None:
    """Write the inputs of the attacked pieces of a side.

    Args:
        first: the number of its first.
        us: the side.
        own, own_twice, enemy, enemy_twice: what both sides attack, at least once and at least twice.
        by_small: what the enemy's pieces attack other than bishops, rooks, horses, dragons and the king.
    """
    always_inline()
    lesser = ahead(pieces(pos, (1 - us) * 16 + PAWN), 1 - us) | (by_small & _large(pos, us))
    lesser &= ~pieces(pos, us * 16 + PAWN)
    outnumbered = enemy_twice & ~own_twice
    left = pieces(pos, us * 16) & ~pieces(pos, us * 16 + KING) & enemy
    while left:
        square = lowest(left)
        left = without_lowest(left)
        # Without branches, which nothing foretells.
        signs = np.int64(holds(own, square)) + 2 * np.int64(holds(lesser, square))
        danger = _DANGER[signs + 4 * np.int64(holds(outnumbered, square))]
        at = first + danger * len(KINDS) + _KIND[pos.board[square] & 15]
        kernels.put(inputs, at, min(kernels.get(inputs, at) + ATTACKED_UNIT, MOST))


@jit()
def _drop(pos: Any, inputs: int, first: int, holder: int, kind: int, squares: Any, supported: Any, taken: Any) -> None:
    """Write the inputs of the drops of a type that give check.

    Args:
        first: the number of the side's first.
        holder: ``colour * 8``.
        squares: empty ones from which it gives check.
        supported, taken: the squares on which only the enemy's king attacks it and cannot take it, and those on which
            the enemy can take it.
    """
    always_inline()
    if squares and pos.hand[holder + kind]:
        some, many = count(squares & supported), count(squares & taken)
        at = first + (kind - PAWN) * DROP_DANGERS
        kernels.put(inputs, at + FREE, min(DROP_UNIT * (count(squares) - some - many), MOST))
        kernels.put(inputs, at + SUPPORTED, min(DROP_UNIT * some, MOST))
        kernels.put(inputs, at + TAKEN, min(DROP_UNIT * many, MOST))


@jit()
def _drops(
    pos: Any, inputs: int, first: int, colour: int, empty: Any, checking: Any, supported: Any, taken: Any
) -> None:
    """Write the inputs of the drops of ``colour`` that give check; ``checking`` as `_checking` returns it."""
    always_inline()
    holder = colour * 8
    pawn, lance, knight, silver, bishop, rook, gold, _, _ = checking
    _drop(pos, inputs, first, holder, PAWN, pawn & empty, supported, taken)
    _drop(pos, inputs, first, holder, LANCE, lance & empty, supported, taken)
    _drop(pos, inputs, first, holder, KNIGHT, knight & empty, supported, taken)
    _drop(pos, inputs, first, holder, SILVER, silver & empty, supported, taken)
    _drop(pos, inputs, first, holder, BISHOP, bishop & empty, supported, taken)
    _drop(pos, inputs, first, holder, ROOK, rook & empty, supported, taken)
    _drop(pos, inputs, first, holder, GOLD, gold & empty, supported, taken)


@jit()
def _put_count(inputs: int, at: int, unit: int, squares: Any) -> None:
    always_inline()
    kernels.put(inputs, at, min(unit * count(squares), MOST))


@jit()
def _move(inputs: int, safe: int, checks: int, squares: Any, enemy: Any, checking: Any, taken: Any) -> None:
    """Write the inputs of the safe squares of a type and of its moves with check.

    Args:
        safe, checks: their numbers.
        squares: to which such pieces go.
        enemy, taken: the squares that the enemy attacks, and on which it can take a piece that gives check.
        checking: from which they give check there.
    """
    always_inline()
    _put_count(inputs, safe, SAFE_UNIT, squares & ~enemy)
    squares &= checking
    if squares:
        _put_count(inputs, checks, CHECK_UNIT, squares & ~taken)
        _put_count(inputs, checks + len(KINDS), CHECK_UNIT, squares & taken)


@jit()
def _moves(
    inputs: int, whose: int, attacks: Any, checking: Any, camp: Any, not_own: Any, enemy: Any, taken: Any
) -> None:
    """Write the inputs of the safe squares of a side's pieces other than its king and of their moves with check.

    Args:
        whose: 0 for the own side, 1 for the enemy's.
        attacks: of each of `KINDS` the squares attacked.
        checking: as `_checking` returns it.
        camp: the enemy's, in which pieces promote.
        not_own: all squares without the side's own pieces.
        enemy, taken: as `_move` has them.
    """
    always_inline()
    safe, checks = np.int64(SAFE + whose * (len(KINDS) + 1)), np.int64(CHECKS + whose * 2 * len(KINDS))
    pawns, lances, knights, silvers, bishops, rooks, golds, horses, dragons = attacks
    pawn, lance, knight, silver, bishop, rook, gold, horse, dragon = checking
    promoted = gold & camp
    _move(inputs, safe, checks, pawns & not_own, enemy, pawn | promoted, taken)
    _move(inputs, safe + 1, checks + 1, lances & not_own, enemy, lance | promoted, taken)
    _move(inputs, safe + 2, checks + 2, knights & not_own, enemy, knight | promoted, taken)
    _move(inputs, safe + 3, checks + 3, silvers & not_own, enemy, silver | promoted, taken)
    _move(inputs, safe + 4, checks + 4, bishops & not_own, enemy, bishop | (horse & camp), taken)
    _move(inputs, safe + 5, checks + 5, rooks & not_own, enemy, rook | (dragon & camp), taken)
    _move(inputs, safe + 6, checks + 6, golds & not_own, enemy, gold, taken)
    _move(inputs, safe + 7, checks + 7, horses & not_own, enemy, horse, taken)
    _move(inputs, safe + 8, checks + 8, dragons & not_own, enemy, dragon, taken)


@jit()
def write_inputs(pos: Any, inputs: int) -> bool:
    """Write the inputs of a position without `EVALUATION`; False, without any, if a king is missing.

    Args:
        inputs: address of `INPUTS` values as the kernels have them.
    """
    us = pos.side
    them = 1 - us
    if pos.ksq[us] < 0 or pos.ksq[them] < 0:
        return False
    kernels.clear(inputs, INPUTS)
    occ = occupied(pos)
    our_king, their_king = single(pos.ksq[us]), single(pos.ksq[them])
    # Without the kings' attacks, and then with them.
    ours, ours_twice, our_small, by_us = _attacks(pos, us, occ)
    theirs, theirs_twice, their_small, by_them = _attacks(pos, them, occ)
    by_our_king, by_their_king = _spread(our_king) & ~our_king, _spread(their_king) & ~their_king
    own, own_twice = ours | by_our_king, ours_twice | (ours & by_our_king)
    enemy, enemy_twice = theirs | by_their_king, theirs_twice | (theirs & by_their_king)
    _around(inputs, np.int64(0), our_king, ours, ours_twice, enemy, enemy_twice)
    _around(inputs, np.int64(2 * CLASSES), their_king, theirs, theirs_twice, own, own_twice)
    second = np.int64(ATTACKED + DANGERS * len(KINDS))
    _attacked(pos, inputs, np.int64(ATTACKED), us, own, own_twice, enemy, enemy_twice, their_small)
    _attacked(pos, inputs, second, them, enemy, enemy_twice, own, own_twice, our_small)
    second = np.int64(DROPS + DROPPED * DROP_DANGERS)
    our_checks, their_checks = _checking(pos, us, occ), _checking(pos, them, occ)
    empty = ~occ & all_squares()
    _drops(
        pos,
        inputs,
        np.int64(DROPS),
        us,
        empty,
        our_checks,
        by_their_king & own & ~theirs,
        theirs | (by_their_king & ~own),
    )
    _drops(pos, inputs, second, them, empty, their_checks, by_our_king & enemy & ~ours, ours | (by_our_king & ~enemy))
    at = np.int64(HANDS)
    for kind in range(PAWN, GOLD + 1):
        unit = PAWN_UNIT if kind == PAWN else HAND_UNIT
        kernels.put(inputs, at, min(unit * pos.hand[us * 8 + kind], MOST))
        kernels.put(inputs, at + HELD, min(unit * pos.hand[them * 8 + kind], MOST))
        at += 1
    # A piece that moves stands on an attacked square, so another has to support it there.
    our_squares, their_squares = pieces(pos, us * 16), pieces(pos, them * 16)
    taken = theirs | (by_their_king & ~own_twice)
    _moves(inputs, np.int64(0), by_us, our_checks, zone(pos, us), all_squares() & ~our_squares, enemy, taken)
    taken = ours | (by_our_king & ~enemy_twice)
    _moves(inputs, np.int64(1), by_them, their_checks, zone(pos, them), all_squares() & ~their_squares, own, taken)
    _put_count(inputs, np.int64(SAFE + len(KINDS)), SAFE_UNIT, by_our_king & ~our_squares & ~enemy)
    _put_count(inputs, np.int64(SAFE + 2 * len(KINDS) + 1), SAFE_UNIT, by_their_king & ~their_squares & ~own)
    our_shields, their_shields = shields(pos, us), shields(pos, them)
    _put_count(inputs, np.int64(SHIELDS), SHIELD_UNIT, our_shields & our_squares)
    _put_count(inputs, np.int64(SHIELDS + 1), SHIELD_UNIT, our_shields & their_squares)
    _put_count(inputs, np.int64(SHIELDS + 2), SHIELD_UNIT, their_shields & their_squares)
    _put_count(inputs, np.int64(SHIELDS + 3), SHIELD_UNIT, their_shields & our_squares)
    return True
