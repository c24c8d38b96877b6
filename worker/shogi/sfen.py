"""SFEN: reading with every rule checked, and writing."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

from worker.shogi.notation import square_to_usi
from worker.shogi.pieces import (
    BISHOP,
    BLACK,
    GOLD,
    KING,
    KNIGHT,
    LANCE,
    MAX_IN_GAME,
    PAWN,
    PROMOTED,
    ROOK,
    SFEN_LETTERS,
    SILVER,
    SQUARES,
    WHITE,
)
from worker.shogi.tables import may_stand

STARTPOS = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"

HANDICAPS: Final = {
    "even": STARTPOS,
    "lance": "lnsgkgsn1/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "right_lance": "1nsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "bishop": "lnsgkgsnl/1r7/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "rook": "lnsgkgsnl/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "rook_lance": "lnsgkgsn1/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "2p": "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "4p": "1nsgkgsn1/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "5p": "2sgkgsn1/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "6p": "2sgkgs2/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "8p": "3gkg3/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "10p": "4k4/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
}
"""Start positions by handicap, which names white's missing pieces. White moves first."""

_HAND_ORDER: Final = (ROOK, BISHOP, GOLD, SILVER, KNIGHT, LANCE, PAWN)
_HAND_ITEM: Final = re.compile(r"(\d{0,4})([RBGSNLPrbgsnlp])")


class SfenError(ValueError):
    """A text is not an SFEN, or its position is impossible. The message names the error and its place."""


@dataclass(frozen=True, slots=True)
class Setup:
    """A position as plain values.

    ``board``: 81 pieces by square; ``hands``: two tuples of 8 counts by piece type; ``turn``; ``move_number``.
    """

    board: tuple[int, ...]
    hands: tuple[tuple[int, ...], tuple[int, ...]]
    turn: int
    move_number: int


def _piece_letters(piece: int) -> str:
    letter = SFEN_LETTERS[piece & 7] if piece & 15 != KING else "K"
    text = letter if piece >> 4 == BLACK else letter.lower()
    return f"+{text}" if piece & 15 > KING else text


def _parse_rank(text: str, rank: int) -> list[int]:
    """The nine pieces of one rank, from file 9 to file 1."""
    row: list[int] = []
    promoted = False
    for char in text:
        if char == "+":
            if promoted:
                raise SfenError(f"rank {rank}: '++'")
            promoted = True
            continue
        if char in "123456789":
            if promoted:
                raise SfenError(f"rank {rank}: '+' before the digit {char}")
            row.extend([0] * int(char))
            continue
        kind = SFEN_LETTERS.find(char.upper(), 1)
        if kind < 0:
            raise SfenError(f"rank {rank}: unknown piece {char!r}")
        if promoted and kind in (GOLD, KING):
            raise SfenError(f"rank {rank}: '+{char}' cannot promote")
        row.append((BLACK if char.isupper() else WHITE) << 4 | kind | (PROMOTED if promoted else 0))
        promoted = False
    if promoted:
        raise SfenError(f"rank {rank}: '+' at the end")
    if len(row) != 9:
        raise SfenError(f"rank {rank}: {len(row)} files instead of 9")
    return row


def _parse_board(text: str) -> tuple[int, ...]:
    ranks = text.split("/")
    if len(ranks) != 9:
        raise SfenError(f"board: {len(ranks)} ranks instead of 9")
    board = [0] * SQUARES
    for rank, row_text in enumerate(ranks):
        for column, piece in enumerate(_parse_rank(row_text, rank + 1)):
            board[(8 - column) * 9 + rank] = piece
    return tuple(board)


def _parse_hands(text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    hands = [[0] * 8, [0] * 8]
    if text == "-":
        return tuple(hands[0]), tuple(hands[1])
    at = 0
    while at < len(text):
        item = _HAND_ITEM.match(text, at)
        if item is None:
            raise SfenError(f"hands: unexpected {text[at:]!r}")
        digits, letter = item.groups()
        number = int(digits) if digits else 1
        kind = SFEN_LETTERS.index(letter.upper())
        colour = BLACK if letter.isupper() else WHITE
        hands[colour][kind] += number
        if number < 1 or hands[colour][kind] > MAX_IN_GAME[kind]:
            raise SfenError(f"hands: {hands[colour][kind]}{letter} is impossible (1 to {MAX_IN_GAME[kind]})")
        at = item.end()
    return tuple(hands[0]), tuple(hands[1])


def _check_board(setup: Setup) -> None:
    """Refuse impossible boards: too many pieces, two pawns on a file, pieces without a move left."""
    total: Counter[int] = Counter()
    for piece in setup.board:
        if piece:
            total[KING if piece & 15 == KING else piece & 7] += 1
    for hand in setup.hands:
        for kind, number in enumerate(hand):
            total[kind] += number
    for kind, most in MAX_IN_GAME.items():
        if total[kind] > most:
            raise SfenError(f"{total[kind]} pieces of kind {SFEN_LETTERS[kind]} (at most {most})")
    for colour, name in ((BLACK, "black"), (WHITE, "white")):
        if setup.board.count(colour << 4 | KING) > 1:
            raise SfenError(f"two kings of {name}")
        for file in range(9):
            if setup.board[file * 9 : file * 9 + 9].count(colour << 4 | PAWN) > 1:
                raise SfenError(f"two pawns of {name} on file {file + 1}")
    for sq, piece in enumerate(setup.board):
        if piece and piece & 15 < KING and not may_stand(piece & 15, piece >> 4) >> sq & 1:
            raise SfenError(f"{_piece_letters(piece)} on {square_to_usi(sq)} has no move left")


def parse(text: str) -> Setup:
    """Read an SFEN (``startpos`` too; the move number may be missing).

    Raises:
        SfenError: it names the field and the error. Whether the king could be taken is not checked here.
    """
    fields = text.split()
    if fields and fields[0] == "sfen":
        fields = fields[1:]
    if fields == ["startpos"]:
        fields = STARTPOS.split()
    if not 3 <= len(fields) <= 4:
        raise SfenError(f"{len(fields)} fields instead of 4 (board, side, hands, move number): {text!r}")
    if fields[1] not in ("b", "w"):
        raise SfenError(f"side to move {fields[1]!r} is neither 'b' nor 'w'")
    number = fields[3] if len(fields) == 4 else "1"
    if not (number.isascii() and number.isdigit() and len(number) <= 6):
        raise SfenError(f"move number {number!r} is no number")
    turn = BLACK if fields[1] == "b" else WHITE
    setup = Setup(_parse_board(fields[0]), _parse_hands(fields[2]), turn, max(1, int(number)))
    _check_board(setup)
    return setup


def canonical(text: str) -> str:
    """The SFEN in the form of `write`. Raises SfenError."""
    return write(parse(text))


def write(setup: Setup) -> str:
    """The canonical SFEN: hands in the order R B G S N L P, black's first."""
    ranks = []
    for rank in range(9):
        text, gap = "", 0
        for file in range(8, -1, -1):
            piece = setup.board[file * 9 + rank]
            if not piece:
                gap += 1
                continue
            text += (str(gap) if gap else "") + _piece_letters(piece)
            gap = 0
        ranks.append(text + (str(gap) if gap else ""))
    held = ""
    for colour in (BLACK, WHITE):
        for kind in _HAND_ORDER:
            number = setup.hands[colour][kind]
            if number:
                held += (str(number) if number > 1 else "") + _piece_letters(colour << 4 | kind)
    return f"{'/'.join(ranks)} {'b' if setup.turn == BLACK else 'w'} {held or '-'} {setup.move_number}"
