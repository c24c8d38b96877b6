"""Moves as text: USI (``7g7f``, ``P*5e``, ``8h2b+``) and CSA (``+7776FU``, ``-0055FU``)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from worker.shogi.pieces import (
    BLACK,
    CSA_NAMES,
    KING,
    PROMOTED,
    RANK_LETTERS,
    SFEN_LETTERS,
    WHITE,
    board_move,
    drop_move,
    is_drop,
    is_promotion,
    move_from,
    move_piece,
    move_to,
    square,
)

_USI_BOARD: Final = re.compile(r"([1-9])([a-i])([1-9])([a-i])(\+?)")
_USI_DROP: Final = re.compile(r"([PLNSBRG])\*([1-9])([a-i])")
_CSA: Final = re.compile(r"([+-])(00|[1-9][1-9])([1-9])([1-9])([A-Z]{2})")

PieceOn = Callable[[int], int]
"""Gives the piece on a square (0: empty)."""


class MoveError(ValueError):
    """A text is not a move, or the move is illegal in the position. The message says which."""


def square_to_usi(sq: int) -> str:
    """The square in USI: ``7g``."""
    return f"{sq // 9 + 1}{RANK_LETTERS[sq % 9]}"


def _square_csa(sq: int) -> str:
    return f"{sq // 9 + 1}{sq % 9 + 1}"


@lru_cache(maxsize=1 << 14)
def move_to_usi(move: int) -> str:
    """The move in USI."""
    target = square_to_usi(move_to(move))
    if is_drop(move):
        return f"{SFEN_LETTERS[move_from(move)]}*{target}"
    return f"{square_to_usi(move_from(move))}{target}{'+' if is_promotion(move) else ''}"


def move_to_csa(move: int) -> str:
    """The move in CSA: the piece is named as after the move."""
    piece = move_piece(move)
    kind = piece & 15 | (PROMOTED if is_promotion(move) else 0)
    origin = "00" if is_drop(move) else _square_csa(move_from(move))
    return f"{'+' if piece >> 4 == BLACK else '-'}{origin}{_square_csa(move_to(move))}{CSA_NAMES[kind]}"


def parse_usi(text: str, turn: int, piece_on: PieceOn) -> int:
    """A USI move as a number; not checked for legality.

    Raises:
        MoveError: ``text`` does not have the form of a move, or there is no piece on its first square.
    """
    drop = _USI_DROP.fullmatch(text)
    if drop:
        letter, file, rank = drop.groups()
        target = square(int(file), RANK_LETTERS.index(rank) + 1)
        return drop_move(turn << 4 | SFEN_LETTERS.index(letter), target)
    match = _USI_BOARD.fullmatch(text)
    if match is None:
        raise MoveError(f"{text!r} is no USI move")
    file, rank, to_file, to_rank, plus = match.groups()
    origin = square(int(file), RANK_LETTERS.index(rank) + 1)
    piece = piece_on(origin)
    if not piece:
        raise MoveError(f"{text}: no piece stands on {file}{rank}")
    target = square(int(to_file), RANK_LETTERS.index(to_rank) + 1)
    return board_move(piece, origin, target, promote=bool(plus))


@lru_cache(maxsize=1 << 15)
def usi_code(text: str) -> int:
    """A USI move as a number without its piece, which only a position knows; 0 if ``text`` is not a move."""
    try:
        return parse_usi(text, BLACK, lambda _square: 1) & 0xFFFF
    except MoveError:
        return 0


def parse_csa(text: str, piece_on: PieceOn) -> int:
    """A CSA move (without its time) as a number; not checked for legality.

    Raises:
        MoveError: ``text`` does not have the form of a move, or its piece cannot come from the given square.
    """
    match = _CSA.fullmatch(text)
    if match is None or match[5] not in CSA_NAMES:
        raise MoveError(f"{text!r} is no CSA move")
    sign, origin_text, to_file, to_rank, name = match.groups()
    colour = BLACK if sign == "+" else WHITE
    kind = CSA_NAMES.index(name)
    target = square(int(to_file), int(to_rank))
    if origin_text == "00":
        if kind >= KING:
            raise MoveError(f"{text}: {name} cannot be dropped")
        return drop_move(colour << 4 | kind, target)
    origin = square(int(origin_text[0]), int(origin_text[1]))
    piece = piece_on(origin)
    if piece == (colour << 4 | kind):
        return board_move(piece, origin, target)
    if kind > KING and piece == (colour << 4 | kind & 7):
        return board_move(piece, origin, target, promote=True)
    raise MoveError(f"{text}: no piece that can become {name} stands on {origin_text}")
