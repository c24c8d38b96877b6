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

from worker.nnue.attack_network import AttackNetwork
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
    PROMOTED,
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
_ATTACKED_KINDS = (PAWN, LANCE, KNIGHT, SILVER, BISHOP, ROOK, GOLD, HORSE, DRAGON)
_LARGE = (BISHOP, ROOK, HORSE, DRAGON)
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


def _attacked(kind: int, colour: int, codes: Sequence[int], square: int) -> list[int]:
    """The squares that a piece attacks."""
    found = []
    for moves, reach in ((_STEPS, 1), (_SLIDES, 8)):
        for file_step, rank_step in moves.get(kind, ()):
            file, rank = divmod(square, 9)
            for _ in range(reach):
                file, rank = file + file_step, rank + (rank_step if colour == 0 else -rank_step)
                if not (0 <= file < 9 and 0 <= rank < 9):
                    break
                found.append(9 * file + rank)
                if codes[9 * file + rank]:
                    break
    return found


def _attackers(board: npt.ArrayLike) -> list[list[list[int]]]:
    """The types of the pieces that attack each square: [colour 2][square 81]."""
    codes = np.asarray(board)[:81].tolist()
    found: list[list[list[int]]] = [[[] for _ in range(81)] for _ in range(2)]
    for square, code in enumerate(codes):
        for reached in _attacked(code & 15, code >> 4, codes, square):
            found[code >> 4][reached].append(code & 15)
    return found


def attackers(board: npt.ArrayLike) -> Ints:
    """The number of pieces that attack each square, int64 [colour 2][square 81]."""
    return np.array([[len(kinds) for kinds in squares] for squares in _attackers(board)])


def attack_classes(perspective: int, board: npt.ArrayLike, pieces: Ints) -> Ints:
    """3 * own + enemy attackers, two at most, of each piece's square; 0 for pieces in hand. ``pieces`` as `piece_list`
    gives them."""
    counts = attackers(board).clip(0, 2)[:, :: 1 if perspective == 0 else -1]
    classes = 3 * counts[perspective] + counts[1 - perspective]
    return np.where(pieces < _FE_HAND_END, 0, classes[(pieces - _FE_HAND_END) % 81])


def attack_inputs(side: int, board: npt.ArrayLike, hands: Sequence[Sequence[int]], king_squares: Sequence[int]) -> Ints:
    """The inputs of an attack network (`worker.nnue.attack_inputs`) for the side to move, int64; arguments as in
    `active_rows`. Both kings are on the board."""
    codes = np.asarray(board)[:81].tolist()
    by_square = _attackers(board)
    rings = np.zeros((2, 2, 3, 3), np.int64)  # [whose king][distance - 1][own attackers][enemy's]
    attacked = np.zeros((2, 4, len(_ATTACKED_KINDS)), np.int64)
    drops, held = np.zeros((2, 7, 3), np.int64), np.zeros((2, 7), np.int64)
    moves = np.zeros((2, len(_ATTACKED_KINDS) + 1, 81, 2), np.bool_)  # [whose][type][square][to it, with check]
    shields = np.zeros((2, 2), np.int64)
    for whose, colour in enumerate((side, 1 - side)):
        king, by_own, by_enemy = int(king_squares[colour]), by_square[colour], by_square[1 - colour]
        enemy_king = int(king_squares[1 - colour])
        for square, code in enumerate(codes):
            own, enemy = by_own[square], by_enemy[square]
            distance = max(abs(square // 9 - king // 9), abs(square % 9 - king % 9))
            if distance in (1, 2):
                rings[whose, distance - 1, min(len(own) - (distance == 1), 2), min(len(enemy), 2)] += 8
            kind = code & 15
            if code == 0 or code >> 4 != colour:
                continue
            number = len(_ATTACKED_KINDS) if kind == KING else _ATTACKED_KINDS.index(_as_gold(kind))
            for reached in _attacked(kind, colour, codes, square):
                if codes[reached] == 0 or codes[reached] >> 4 != colour:
                    promotes = (reached % 9 < 3) if colour == 0 else (reached % 9 > 5)
                    after = [kind] + ([kind + PROMOTED] if promotes and kind <= ROOK else [])
                    # A piece gives check from where the enemy's king would attack as such a piece.
                    check = kind != KING and any(
                        reached in _attacked(one, 1 - colour, codes, enemy_king) for one in after
                    )
                    moves[whose, number, reached] |= [True, check]
            if kind != KING and enemy:
                lesser = kind != PAWN and PAWN in enemy
                lesser = lesser or (kind in _LARGE and any(one not in (*_LARGE, PAWN, KING) for one in enemy))
                danger = 0 if not own else 1 if lesser else 2 if len(enemy) > 1 and len(own) == 1 else 3
                attacked[whose, danger, _ATTACKED_KINDS.index(_as_gold(kind))] += 32
        for kind in range(PAWN, GOLD + 1):
            # The enemy's drops.
            for square in _attacked(kind, colour, codes, king) if hands[1 - colour][kind] else []:
                if codes[square] == 0:
                    by_king_alone = by_own[square] == [KING]
                    danger = 0 if not by_own[square] else 1 if by_king_alone and by_enemy[square] else 2
                    drops[1 - whose, kind - 1, danger] += 16
            held[whose, kind - PAWN] = (7 if kind == PAWN else 31) * hands[colour][kind]
        for square, code in enumerate(codes):
            # Without this piece, does a slider attack the king?
            if code and code & 15 != KING:
                without = [*codes[:square], 0, *codes[square + 1 :]]
                if _sliders_on(king, 1 - colour, without) - _sliders_on(king, 1 - colour, codes):
                    shields[whose, int(code >> 4 != colour)] += 31
    safe, checks = np.zeros((2, len(_ATTACKED_KINDS) + 1), np.int64), np.zeros((2, 2, len(_ATTACKED_KINDS)), np.int64)
    for whose, number, square in np.argwhere(moves[..., 0]):
        colour = (side, 1 - side)[whose]
        own, enemy = by_square[colour][square], by_square[1 - colour][square]
        safe[whose, number] += 8 * (not enemy)
        if moves[whose, number, square, 1]:
            taken = any(kind != KING for kind in enemy) or (bool(enemy) and len(own) == 1)
            checks[whose, int(taken), number] += 16
    parts = (rings, attacked, drops, held, safe, checks, shields)
    return np.concatenate([part.ravel() for part in parts]).clip(0, _ACTIVATION_MAX)


def _as_gold(kind: int) -> int:
    return kind if kind in _ATTACKED_KINDS else GOLD


def _sliders_on(target: int, colour: int, codes: Sequence[int]) -> set[int]:
    """The squares of the sliders of ``colour`` that attack this square."""
    return {
        square
        for square, code in enumerate(codes)
        if code >> 4 == colour and code & 15 in _SLIDES and target in _attacked(code & 15, colour, codes, square)
    }


def attack_output(network: AttackNetwork, inputs: Ints, evaluation: int) -> int:
    """What an attack network adds to the raw output ``evaluation``."""
    place = min(max((evaluation >> 9) + 64, 0), _ACTIVATION_MAX)
    values = np.concatenate([inputs, [place], np.zeros(31, np.int64)])
    return _layers(network.biases, network.weights, values) >> 2


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
    return _layers(network.biases, network.weights, values)


def _layers(biases: Sequence[npt.NDArray[np.int32]], weights: Sequence[npt.NDArray[np.int8]], values: Ints) -> int:
    for layer, (bias, weight) in enumerate(zip(biases, weights, strict=True)):
        sums = (weight.astype(np.int64) @ values + bias).astype(np.int32)
        if layer == len(weights) - 1:
            return int(sums[0])
        values = (sums >> _WEIGHT_SHIFT).clip(0, _ACTIVATION_MAX).astype(np.int64)
    raise AssertionError("a network has an output layer")
