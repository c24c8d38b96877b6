"""Features and layers in plain numpy: slow and simple. The compiled evaluation must equal them bit for bit.

The arithmetic is that of other shogi programs: the accumulator in int16, the layers in int32, both wrapping around;
activations clipped to 0..127; hidden sums shifted right by 6 (their weights have 64 as one).

Features are computed as in YaneuraOu's ``MakeIndex``, from the king's square and the number in the piece list, and
not from the blocks and tables of `worker.nnue.features`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from worker.nnue.features import BOARD_BASE, HAND_BASE, FeatureSet
from worker.nnue.format import NetworkFile
from worker.shogi.pieces import (
    BISHOP,
    DRAGON,
    GOLD,
    HORSE,
    KING,
    KNIGHT,
    LANCE,
    PAWN,
    PRO_KNIGHT,
    PRO_LANCE,
    PRO_PAWN,
    PRO_SILVER,
    ROOK,
    SILVER,
)

_ACTIVATION_MAX = 127
_WEIGHT_SHIFT = 6

# The beginnings of the piece list's ranges; YaneuraOu's names.
_FE_HAND_END = 90
_FE_END = 1548
_E_KING = _FE_END + 81
_FE_END2 = _E_KING + 81

_BOARD = np.zeros((2, 32), np.int64)
"""Number of a piece on square 0: [perspective][piece code]."""
for _kind, _bases in {**BOARD_BASE, KING: (_FE_END, _E_KING)}.items():
    for _perspective in range(2):
        for _colour in range(2):
            _BOARD[_perspective, _colour << 4 | _kind] = _bases[_colour != _perspective]

Ints = npt.NDArray[np.int64]

_STRAIGHT = ((0, -1), (0, 1), (-1, 0), (1, 0))
_DIAGONAL = ((-1, -1), (1, -1), (-1, 1), (1, 1))
_GOLD = (*_STRAIGHT, (-1, -1), (1, -1))
_STEPS = {
    PAWN: ((0, -1),),
    KNIGHT: ((-1, -2), (1, -2)),
    SILVER: (*_DIAGONAL, (0, -1)),
    **dict.fromkeys((GOLD, PRO_PAWN, PRO_LANCE, PRO_KNIGHT, PRO_SILVER), _GOLD),
    KING: (*_STRAIGHT, *_DIAGONAL),
    HORSE: _STRAIGHT,
    DRAGON: _DIAGONAL,
}
"""Steps of a black piece by type, in files and ranks."""
_TERM_KINDS = (PAWN, LANCE, KNIGHT, SILVER, BISHOP, ROOK, GOLD, HORSE, DRAGON)
_SLIDES = {LANCE: ((0, -1),), BISHOP: _DIAGONAL, HORSE: _DIAGONAL, ROOK: _STRAIGHT, DRAGON: _STRAIGHT}


def piece_list(perspective: int, board: npt.ArrayLike, hands: Sequence[Sequence[int]]) -> Ints:
    """The numbers of all pieces, including the kings. Arguments as in `active_rows`."""
    codes = np.asarray(board)[:81]
    squares = np.flatnonzero(codes)
    placed = _BOARD[perspective, codes[squares]] + (squares if perspective == 0 else 80 - squares)
    held = [
        bases[colour != perspective] + index
        for colour in range(2)
        for kind, bases in HAND_BASE.items()
        for index in range(hands[colour][kind])
    ]
    return np.concatenate([placed, np.array(held, np.int64)])


def _mirror(squares: Any) -> Any:
    return (8 - squares // 9) * 9 + squares % 9


def _half_mirror(king: int, pieces: Ints) -> tuple[int, Ints]:
    """Mirror a king on files 6..9 to files 4..1, together with the pieces on the board."""
    if king < 5 * 9:
        return king, pieces
    placed = pieces - _FE_HAND_END
    moved = _FE_HAND_END + placed // 81 * 81 + _mirror(placed % 81)
    return _mirror(king), np.where(pieces < _FE_HAND_END, pieces, moved)


def _one_king_plane(pieces: Ints) -> Ints:
    return np.where(pieces >= _E_KING, pieces - 81, pieces)


def make_index(name: str, king: int, pieces: Ints) -> Ints:
    """The rows of a feature set.

    Args:
        name: name of the feature set.
        king: the own king's square as the perspective sees it.
        pieces: numbers of the piece list.
    """
    others = pieces[pieces < _FE_END]
    match name:
        case "K+P":
            return pieces
        case "K+A2":
            return np.concatenate([_one_king_plane(pieces), pieces[pieces >= _FE_END] + 81])
        case "HalfKP(Friend)":
            return _FE_END * king + others
        case "HalfKP_vm(Friend)":
            king, others = _half_mirror(king, others)
            return _FE_END * king + others
        case "HalfKA1(Friend)":
            return _FE_END2 * king + pieces
        case "HalfKA2(Friend)":
            return _E_KING * king + _one_king_plane(pieces)
        case "HalfKA_hm1(Friend)":
            king, pieces = _half_mirror(king, pieces)
            return _FE_END2 * king + pieces
        case "HalfKA_hm2(Friend)":
            king, pieces = _half_mirror(king, pieces)
            return _E_KING * king + _one_king_plane(pieces)
        case "HalfRelativeKP(Friend)":
            placed = others[others >= _FE_HAND_END] - _FE_HAND_END
            squares = placed % 81
            file = squares // 9 - king // 9 + 8
            rank = squares % 9 - king % 9 + 8
            return placed // 81 * 17 * 17 + file * 17 + rank
    raise ValueError(f"no features {name}")


def attackers(board: npt.ArrayLike) -> Ints:
    """The number of pieces that attack each square, int64 [colour 2][square 81]."""
    codes = np.asarray(board)[:81].tolist()
    counts = np.zeros((2, 81), np.int64)
    for square, code in enumerate(codes):
        kind, colour = code & 15, code >> 4
        for moves, reach in ((_STEPS, 1), (_SLIDES, 8)):
            for file_step, rank_step in moves.get(kind, ()):
                file, rank = divmod(square, 9)
                for _ in range(reach):
                    file, rank = file + file_step, rank + (rank_step if colour == 0 else -rank_step)
                    if not (0 <= file < 9 and 0 <= rank < 9):
                        break
                    counts[colour, 9 * file + rank] += 1
                    if codes[9 * file + rank]:
                        break
    return counts


def attack_classes(perspective: int, board: npt.ArrayLike, pieces: Ints) -> Ints:
    """3 * own + enemy attackers, two at most, of each piece's square; 0 for pieces in hand. ``pieces`` as `piece_list`
    gives them."""
    counts = attackers(board).clip(0, 2)[:, :: 1 if perspective == 0 else -1]
    classes = 3 * counts[perspective] + counts[1 - perspective]
    return np.where(pieces < _FE_HAND_END, 0, classes[(pieces - _FE_HAND_END) % 81])


def attack_value(terms: npt.ArrayLike, side: int, board: npt.ArrayLike, king_squares: Sequence[int]) -> int:
    """The sum of a network's attack terms (`worker.nnue.attack_terms`) for the side to move; arguments as in
    `active_rows`."""
    values, codes = np.asarray(terms).tolist(), np.asarray(board)[:81].tolist()
    if min(king_squares) < 0:
        return 0
    counts = attackers(board)
    total = values[-1]
    for whose, colour in enumerate((side, 1 - side)):
        king = int(king_squares[colour])
        for square, code in enumerate(codes):
            distance = max(abs(square // 9 - king // 9), abs(square % 9 - king % 9))
            own, enemy = int(counts[colour, square]), int(counts[1 - colour, square])
            if distance in (1, 2):
                others = own - (distance == 1)
                total += values[18 * whose + 9 * (distance - 1) + 3 * min(others, 2) + min(enemy, 2)]
            kind = code & 15
            if whose == 0 and code and code >> 4 == side and kind != KING and enemy:
                number = _TERM_KINDS.index(kind if kind in _TERM_KINDS else GOLD)
                total += values[36 + 9 * (own > 0) + number]
    return int(total)


def active_rows(
    features: FeatureSet,
    perspective: int,
    board: npt.ArrayLike,
    hands: Sequence[Sequence[int]],
    king_squares: Sequence[int],
) -> Ints:
    """Every row that a position activates.

    Args:
        board: piece code by square (only the first 81 entries are read).
        hands: counts by colour and piece type.
        king_squares: by colour, -1 for none.
    """
    square = max(int(king_squares[perspective]), 0)
    king = square if perspective == 0 else 80 - square
    pieces = piece_list(perspective, board, hands)
    if features.attack_classes == 1:
        return make_index(features.name, king, pieces)
    pieces = pieces[pieces < _FE_END]
    return _FE_END * (81 * attack_classes(perspective, board, pieces) + king) + pieces


def forward(network: NetworkFile, own: npt.NDArray[np.int16], enemy: npt.NDArray[np.int16]) -> int:
    """The network's raw output from the accumulators of the side to move and of the other side, int16 [width] each."""
    values = np.concatenate([own, enemy]).clip(0, _ACTIVATION_MAX).astype(np.int64)
    for layer, (bias, weight) in enumerate(zip(network.biases, network.weights, strict=True)):
        sums = (weight.astype(np.int64) @ values + bias).astype(np.int32)
        if layer == len(network.weights) - 1:
            return int(sums[0])
        values = (sums >> _WEIGHT_SHIFT).clip(0, _ACTIVATION_MAX).astype(np.int64)
    raise AssertionError("a network has an output layer")
