"""Inputs of attack networks (`worker.nnue.attack_network`): what the pieces attack, as numbers from 0 to 127.

K+P says where pieces stand, not what they attack. So these inputs count, for the side to move:

- the squares around both kings by *class*: ``3 * own + enemy``, in which both are the number of attackers, 0, 1 or 2
  (for two and more); the squares next to a king are counted without the attacks of that king,
- the attacked pieces of both sides by type and by danger (`UNPROTECTED` ...),
- the empty squares on which a piece in hand would give check, by the danger to that piece (`FREE` ...),
- pieces in hand.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit import jit
from worker.jit.bits import count, holds, lowest, shift_down, shift_up, single, without_lowest
from worker.nnue.kernels import kernels
from worker.shogi.attacks import add_attacks, ahead, all_squares, occupied, piece_attacks, pieces, stepping_attacks
from worker.shogi.pieces import BISHOP, BLACK, DRAGON, GOLD, HORSE, KING, KNIGHT, LANCE, PAWN, ROOK, SILVER, WHITE

CLASSES: Final = 9
"""Classes of squares."""
RINGS: Final = 4
"""Of squares: next to the own king, two squares away from it, and the same for the enemy's king."""
KINDS: Final = (PAWN, LANCE, KNIGHT, SILVER, BISHOP, ROOK, GOLD, HORSE, DRAGON)
"""Types of attacked pieces; all that move as a gold count as one."""
_KIND: Final = tuple(KINDS.index(kind) if kind in KINDS else KINDS.index(GOLD) for kind in range(16))
UNPROTECTED, LESSER, OUTNUMBERED, OTHER = range(4)
"""Dangers to an attacked piece: without protection; with it, but attacked by a pawn, or a bishop, rook, horse or dragon
by a lesser piece; attacked twice or more and protected once; the rest."""
DANGERS: Final = 4
FREE, SUPPORTED, TAKEN = range(3)
"""Dangers to a piece that is dropped with check: no enemy attacks it; only the enemy's king does, which cannot take
it; the rest."""
DROP_DANGERS: Final = 3
DROPPED: Final = 7
"""Types of dropped pieces, `PAWN` to `GOLD`."""
HELD: Final = (PAWN, SILVER, BISHOP, ROOK, GOLD)
"""Types whose number in hand is an input."""

ATTACKED: Final = RINGS * CLASSES
"""The first input of attacked pieces: [own, enemy's][danger][number in `KINDS`]."""
DROPS: Final = ATTACKED + 2 * DANGERS * len(KINDS)
"""The first input of drops with check: [own, enemy's][type][danger]."""
HANDS: Final = DROPS + 2 * DROPPED * DROP_DANGERS
"""The first input of pieces in hand: [number in `HELD`][own, enemy's]."""
INPUTS: Final = HANDS + 2 * len(HELD)
"""A multiple of 32, as the kernels need it."""

RING_UNIT: Final = 8
"""What each square of a ring adds to its input; inputs end at `MOST`."""
ATTACKED_UNIT: Final = 32
DROP_UNIT: Final = 16
PAWN_UNIT: Final = 7
HAND_UNIT: Final = 31
MOST: Final = 127


@jit()
def _spread(squares: Any) -> Any:
    """These squares and all that a king reaches from them."""
    squares |= shift_up(squares, np.int64(9)) | shift_down(squares, np.int64(9))
    return (squares | ahead(squares, BLACK) | ahead(squares, WHITE)) & all_squares()


@jit()
def _large(pos: Any, colour: int) -> Any:
    """Bishops, rooks, horses and dragons."""
    own = colour * 16
    return pieces(pos, own + BISHOP) | pieces(pos, own + ROOK) | pieces(pos, own + HORSE) | pieces(pos, own + DRAGON)


@jit()
def _attacks(pos: Any, colour: int, occ: Any) -> Any:
    """The squares that pieces of ``colour`` other than its king attack at least once, and at least twice; those that
    its pieces other than king, bishops, rooks, horses and dragons attack."""
    once, twice = stepping_attacks(pos, colour)
    once, twice = add_attacks(pos, colour, pieces(pos, colour * 16 + LANCE), occ, once, twice)
    by_small = once
    once, twice = add_attacks(pos, colour, _large(pos, colour), occ, once, twice)
    return once, twice, by_small


@jit()
def _ring(inputs: int, first: int, ring: Any, own: Any, own_twice: Any, enemy: Any, enemy_twice: Any) -> None:
    """Write the inputs of a ring; ``first``: the number of its first."""
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
        by_small: what `_attacks` returns last for the enemy.
    """
    lesser = ahead(pieces(pos, (1 - us) * 16 + PAWN), 1 - us) | (by_small & _large(pos, us))
    lesser &= ~pieces(pos, us * 16 + PAWN)
    outnumbered = enemy_twice & ~own_twice
    left = pieces(pos, us * 16) & ~pieces(pos, us * 16 + KING) & enemy
    while left:
        square = lowest(left)
        left = without_lowest(left)
        danger = OTHER
        if not holds(own, square):
            danger = UNPROTECTED
        elif holds(lesser, square):
            danger = LESSER
        elif holds(outnumbered, square):
            danger = OUTNUMBERED
        at = first + danger * len(KINDS) + _KIND[pos.board[square] & 15]
        kernels.put(inputs, at, min(kernels.get(inputs, at) + ATTACKED_UNIT, MOST))


@jit()
def _drops(pos: Any, inputs: int, first: int, colour: int, occ: Any, attacked: Any, defended: Any, king: Any) -> None:
    """Write the inputs of the drops of ``colour`` that give check.

    Args:
        attacked: what its pieces attack.
        defended, king: what the enemy's pieces other than the king attack, and what the king attacks.
    """
    taken = defended | (king & ~attacked)
    supported = king & attacked & ~defended
    empty = ~occ & all_squares()
    for kind in range(PAWN, GOLD + 1):
        if pos.hand[colour * 8 + kind] == 0:
            continue
        squares = piece_attacks(pos, 1 - colour, kind, pos.ksq[1 - colour], occ) & empty
        if squares:
            some, many = count(squares & supported), count(squares & taken)
            at = first + (kind - PAWN) * DROP_DANGERS
            kernels.put(inputs, at + FREE, min(DROP_UNIT * (count(squares) - some - many), MOST))
            kernels.put(inputs, at + SUPPORTED, min(DROP_UNIT * some, MOST))
            kernels.put(inputs, at + TAKEN, min(DROP_UNIT * many, MOST))


@jit()
def write_inputs(pos: Any, inputs: int) -> bool:
    """Write the inputs of a position; False, without any, if a king is missing.

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
    ours, ours_twice, our_small = _attacks(pos, us, occ)
    theirs, theirs_twice, their_small = _attacks(pos, them, occ)
    by_our_king, by_their_king = _spread(our_king) & ~our_king, _spread(their_king) & ~their_king
    own, own_twice = ours | by_our_king, ours_twice | (ours & by_our_king)
    enemy, enemy_twice = theirs | by_their_king, theirs_twice | (theirs & by_their_king)
    _around(inputs, np.int64(0), our_king, ours, ours_twice, enemy, enemy_twice)
    _around(inputs, np.int64(2 * CLASSES), their_king, theirs, theirs_twice, own, own_twice)
    second = np.int64(ATTACKED + DANGERS * len(KINDS))
    _attacked(pos, inputs, np.int64(ATTACKED), us, own, own_twice, enemy, enemy_twice, their_small)
    _attacked(pos, inputs, second, them, enemy, enemy_twice, own, own_twice, our_small)
    second = np.int64(DROPS + DROPPED * DROP_DANGERS)
    _drops(pos, inputs, np.int64(DROPS), us, occ, own, theirs, by_their_king)
    _drops(pos, inputs, second, them, occ, enemy, ours, by_our_king)
    at = np.int64(HANDS)
    for kind in HELD:
        unit = PAWN_UNIT if kind == PAWN else HAND_UNIT
        kernels.put(inputs, at, min(unit * pos.hand[us * 8 + kind], MOST))
        kernels.put(inputs, at + 1, min(unit * pos.hand[them * 8 + kind], MOST))
        at += 2
    return True
