"""The position block of a game summary (``P1-KY-KE ...``) and SFEN, both ways. Text only: rules are checked elsewhere.

Source: CSA record format V2.2 / V3.0, section "start position"; the server protocol uses the same lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

BLACK: Final = 0
WHITE: Final = 1
SIGNS: Final = "+-"
"""A colour's sign in CSA text, by colour."""

CSA_TO_SFEN: Final = {
    "FU": "P",
    "KY": "L",
    "KE": "N",
    "GI": "S",
    "KI": "G",
    "KA": "B",
    "HI": "R",
    "OU": "K",
    "TO": "+P",
    "NY": "+L",
    "NK": "+N",
    "NG": "+S",
    "UM": "+B",
    "RY": "+R",
}
SFEN_TO_CSA: Final = {sfen: csa for csa, sfen in CSA_TO_SFEN.items()}

_SET: Final = {"FU": 18, "KY": 4, "KE": 4, "GI": 4, "KI": 4, "KA": 2, "HI": 2}
"""The number of each piece in a shogi set, except kings: ``00AL`` deals them out, and a hand holds no more."""
_HAND_ORDER: Final = ("HI", "KA", "KI", "GI", "KE", "KY", "FU")
_RAW: Final = {"TO": "FU", "NY": "KY", "NK": "KE", "NG": "GI", "UM": "KA", "RY": "HI"}
_START_ROWS: Final = (
    "-KY-KE-GI-KI-OU-KI-GI-KE-KY",
    " * -HI *  *  *  *  * -KA * ",
    "-FU-FU-FU-FU-FU-FU-FU-FU-FU",
    " *  *  *  *  *  *  *  *  * ",
    " *  *  *  *  *  *  *  *  * ",
    " *  *  *  *  *  *  *  *  * ",
    "+FU+FU+FU+FU+FU+FU+FU+FU+FU",
    " * +KA *  *  *  *  * +HI * ",
    "+KY+KE+GI+KI+OU+KI+GI+KE+KY",
)

_DIGITS: Final = frozenset("123456789")

_Cell = tuple[int, str]
"""Colour and CSA piece name."""


class CsaPositionError(ValueError):
    """The position block cannot be read; the text names the line and the fault."""


def sfen_from_csa(lines: Iterable[str], move_number: int = 1) -> str:
    """The SFEN of a position block.

    Args:
        lines: ``P1`` … ``P9``, ``PI`` with or without removed pieces, ``P+``/``P-`` with pieces on squares, in hand
            (``00FU``) or all that is left (``00AL``), and the side to move (``+`` or ``-``), which comes last.
        move_number: the SFEN's fourth field.

    Raises:
        CsaPositionError: a line that is none of these, a square given twice, more pieces than a set has, or no side to
            move.
    """
    board: dict[tuple[int, int], _Cell] = {}
    hands: tuple[dict[str, int], dict[str, int]] = ({}, {})
    turn: int | None = None
    for line in lines:
        if turn is not None:
            raise CsaPositionError(f"{line!r} stands behind the side to move")
        if line in ("+", "-"):
            turn = SIGNS.index(line)
        elif re.fullmatch(r"P[1-9].*", line):
            _read_row(line, int(line[1]), board)
        elif line.startswith("PI"):
            _read_start(line, board)
        elif line.startswith(("P+", "P-")):
            _read_pieces(line, SIGNS.index(line[1]), board, hands)
        else:
            raise CsaPositionError(f"{line!r} is no line of a position")
    if turn is None:
        raise CsaPositionError("the side to move (+ or -) is missing")
    return f"{_board_text(board)} {'bw'[turn]} {_hands_text(hands)} {move_number}"


def csa_from_sfen(sfen: str) -> list[str]:
    """The position block of an SFEN as the tournament server writes it: nine rows, hands, side to move.

    Raises:
        CsaPositionError: ``sfen`` does not have the form of an SFEN.
    """
    fields = sfen.split()
    if len(fields) < 3 or fields[1] not in ("b", "w"):
        raise CsaPositionError(f"{sfen!r} is no SFEN")
    rows = fields[0].split("/")
    if len(rows) != 9:
        raise CsaPositionError(f"{sfen!r} has {len(rows)} ranks, not 9")
    lines = [f"P{rank}{_row_from_sfen(row, sfen)}" for rank, row in enumerate(rows, start=1)]
    for colour, text in enumerate(_hands_from_sfen(fields[2], sfen)):
        if text:
            lines.append(f"P{SIGNS[colour]}{text}")
    lines.append(SIGNS["bw".index(fields[1])])
    return lines


def _read_row(line: str, rank: int, board: dict[tuple[int, int], _Cell]) -> None:
    cells = line[2:].ljust(27)
    if len(cells) > 27 and cells[27:].strip():
        raise CsaPositionError(f"{line!r} has more than nine squares")
    if any(square[1] == rank for square in board):
        raise CsaPositionError(f"{line!r}: rank {rank} is already set")
    for index in range(9):
        cell = cells[index * 3 : index * 3 + 3]
        if cell.strip() in ("*", ""):
            continue
        if cell[0] not in SIGNS or cell[1:] not in CSA_TO_SFEN:
            raise CsaPositionError(f"{line!r}: {cell!r} is no piece")
        board[9 - index, rank] = SIGNS.index(cell[0]), cell[1:]


def _read_start(line: str, board: dict[tuple[int, int], _Cell]) -> None:
    """``PI``: the start position without the pieces that are named (a handicap)."""
    for rank, row in enumerate(_START_ROWS, start=1):
        _read_row(f"P{rank}{row}", rank, board)
    for file, rank, name in _groups(line):
        if board.get((file, rank), (BLACK, ""))[1] != name:
            raise CsaPositionError(f"{line!r}: no {name} stands on {file}{rank}")
        del board[file, rank]


def _read_pieces(
    line: str,
    colour: int,
    board: dict[tuple[int, int], _Cell],
    hands: tuple[dict[str, int], dict[str, int]],
) -> None:
    for file, rank, name in _groups(line):
        if (file, rank) == (0, 0) and name == "AL":
            for piece, left in _left_over(board, hands).items():
                hands[colour][piece] = hands[colour].get(piece, 0) + left
        elif (file, rank) == (0, 0):
            if name not in _SET:
                raise CsaPositionError(f"{line!r}: {name} cannot be held in hand")
            hands[colour][name] = hands[colour].get(name, 0) + 1
            if hands[colour][name] > _SET[name]:
                raise CsaPositionError(f"{line!r}: more {name} in hand than a set has")
        else:
            if 0 in (file, rank) or name not in CSA_TO_SFEN:
                raise CsaPositionError(f"{line!r}: {file}{rank}{name} is no piece on a square")
            if (file, rank) in board:
                raise CsaPositionError(f"{line!r}: {file}{rank} is already set")
            board[file, rank] = colour, name


def _groups(line: str) -> list[tuple[int, int, str]]:
    """The ``82HI`` groups after the first two characters."""
    body = line[2:].rstrip()
    if not re.fullmatch(r"(?:[0-9]{2}[A-Z]{2})*", body):
        raise CsaPositionError(f"{line!r}: pieces must look like 82HI or 00FU")
    return [(int(body[i]), int(body[i + 1]), body[i + 2 : i + 4]) for i in range(0, len(body), 4)]


def _left_over(board: dict[tuple[int, int], _Cell], hands: tuple[dict[str, int], dict[str, int]]) -> dict[str, int]:
    left = dict(_SET)
    for _, name in board.values():
        raw = _RAW.get(name, name)
        if raw in left:
            left[raw] -= 1
    for hand in hands:
        for name, count in hand.items():
            left[name] -= count
    for name, count in left.items():
        if count < 0:
            raise CsaPositionError(f"more {name} than a set has")
    return left


def _board_text(board: dict[tuple[int, int], _Cell]) -> str:
    rows = []
    for rank in range(1, 10):
        row = ""
        empty = 0
        for file in range(9, 0, -1):
            cell = board.get((file, rank))
            if cell is None:
                empty += 1
                continue
            letter = CSA_TO_SFEN[cell[1]]
            row += (str(empty) if empty else "") + (letter if cell[0] == BLACK else letter.lower())
            empty = 0
        rows.append(row + (str(empty) if empty else ""))
    return "/".join(rows)


def _hands_text(hands: tuple[dict[str, int], dict[str, int]]) -> str:
    text = ""
    for colour, hand in enumerate(hands):
        for name in _HAND_ORDER:
            count = hand.get(name, 0)
            if count:
                letter = CSA_TO_SFEN[name]
                text += (str(count) if count > 1 else "") + (letter if colour == BLACK else letter.lower())
    return text or "-"


def _row_from_sfen(row: str, sfen: str) -> str:
    text = ""
    for token in re.findall(r"\+?[A-Za-z]|[1-9]|.", row):
        if token in _DIGITS:
            text += " * " * int(token)
        elif token.upper() in SFEN_TO_CSA:
            text += SIGNS[token.islower()] + SFEN_TO_CSA[token.upper()]
        else:
            raise CsaPositionError(f"{sfen!r}: {token!r} is no piece")
    if len(text) != 27:
        raise CsaPositionError(f"{sfen!r}: rank {row!r} has not nine squares")
    return text


def _hands_from_sfen(hands: str, sfen: str) -> tuple[str, str]:
    texts = ["", ""]
    if hands != "-":
        if not re.fullmatch(r"(?:[1-9]?[0-9]?[PLNSGBRplnsgbr])+", hands):
            raise CsaPositionError(f"{sfen!r}: {hands!r} are no hands")
        for count, letter in re.findall(r"([0-9]*)([A-Za-z])", hands):
            texts[letter.islower()] += f"00{SFEN_TO_CSA[letter.upper()]}" * (int(count) if count else 1)
    return texts[BLACK], texts[WHITE]
