"""The position block of a game summary (``P1-KY-KE ...``) and SFEN, both ways. Rules are checked elsewhere.

Source: CSA record format V2.2 / V3.0, section "start position"; the server protocol uses the same lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from master.csa import SIGNS
from worker.shogi import STARTPOS, sfen
from worker.shogi.pieces import CSA_NAMES, KING, MAX_IN_GAME, PROMOTED, square

_KINDS: Final = {name: kind for kind, name in enumerate(CSA_NAMES) if name}
_HAND_ORDER: Final = (6, 5, 7, 4, 3, 2, 1)
_START: Final = sfen.parse(STARTPOS).board


class CsaPositionError(ValueError):
    """The position block cannot be read; the text names the line and the fault."""


def sfen_from_csa(lines: Iterable[str], move_number: int = 1) -> str:
    """The SFEN of a position block. Whether such a position can occur is not checked.

    Args:
        lines: ``P1`` … ``P9``, ``PI`` with or without removed pieces, ``P+``/``P-`` with pieces on squares, in hand
            (``00FU``) or all that is left (``00AL``), and the side to move (``+`` or ``-``), which comes last.

    Raises:
        CsaPositionError: a line that is none of these, a square given twice, more pieces than a set has, or no side to
            move.
    """
    block, turn = _Block(), None
    for line in lines:
        if turn is not None:
            raise CsaPositionError(f"{line!r} after the side to move")
        if line in ("+", "-"):
            turn = SIGNS.index(line)
        else:
            block.read(line)
    if turn is None:
        raise CsaPositionError("the side to move (+ or -) is missing")
    hands = tuple(block.hands[0]), tuple(block.hands[1])
    return sfen.write(sfen.Setup(tuple(block.board), hands, turn, move_number))


def csa_from_sfen(text: str) -> list[str]:
    """The position block of an SFEN as the tournament server writes it: nine rows, hands, side to move. Raises
    SfenError: ``text`` is no SFEN, or its position cannot occur."""
    setup = sfen.parse(text)
    lines = []
    for rank in range(1, 10):
        cells = (setup.board[square(file, rank)] for file in range(9, 0, -1))
        lines.append(f"P{rank}" + "".join(SIGNS[cell >> 4] + CSA_NAMES[cell & 15] if cell else " * " for cell in cells))
    for sign, hand in zip(SIGNS, setup.hands, strict=True):
        if held := "".join(f"00{CSA_NAMES[kind]}" * hand[kind] for kind in _HAND_ORDER):
            lines.append(f"P{sign}{held}")
    return [*lines, SIGNS[setup.turn]]


class _Block:
    """The pieces of a position block, line by line: by square, and in hand by colour and type."""

    def __init__(self) -> None:
        self.board = [0] * 81
        self.hands = ([0] * 8, [0] * 8)

    def read(self, line: str) -> None:
        if re.fullmatch(r"P[1-9].*", line):
            self._row(line, int(line[1]))
        elif line.startswith("PI"):
            self._start(line)
        elif line.startswith(("P+", "P-")):
            self._pieces(line, SIGNS.index(line[1]))
        else:
            raise CsaPositionError(f"{line!r} is no line of a position")

    def _row(self, line: str, rank: int) -> None:
        cells = line[2:].ljust(27)
        if cells[27:].strip():
            raise CsaPositionError(f"{line!r} has more than nine squares")
        self._check_empty(line, rank)
        for index in range(9):
            cell = cells[index * 3 : index * 3 + 3]
            if cell.strip() in ("*", ""):
                continue
            if cell[0] not in SIGNS or cell[1:] not in _KINDS:
                raise CsaPositionError(f"{line!r}: {cell!r} is no piece")
            self.board[square(9 - index, rank)] = SIGNS.index(cell[0]) << 4 | _KINDS[cell[1:]]

    def _start(self, line: str) -> None:
        """``PI``: the start position without the pieces that are named (a handicap)."""
        for rank in range(1, 10):
            self._check_empty(line, rank)
        self.board[:] = _START
        for file, rank, name in _groups(line):
            if 0 in (file, rank) or CSA_NAMES[self.board[square(file, rank)] & 15] != name:
                raise CsaPositionError(f"{line!r}: no {name} stands on {file}{rank}")
            self.board[square(file, rank)] = 0

    def _check_empty(self, line: str, rank: int) -> None:
        if any(self.board[square(file, rank)] for file in range(1, 10)):
            raise CsaPositionError(f"{line!r}: rank {rank} is already set")

    def _pieces(self, line: str, colour: int) -> None:
        for file, rank, name in _groups(line):
            kind = _KINDS.get(name, 0)
            if (file, rank, name) == (0, 0, "AL"):
                self._deal_rest(colour)
            elif (file, rank) == (0, 0):
                if not 0 < kind < KING:
                    raise CsaPositionError(f"{line!r}: {name} cannot be held in hand")
                self.hands[colour][kind] += 1
                if self.hands[colour][kind] > MAX_IN_GAME[kind]:
                    raise CsaPositionError(f"{line!r}: more {name} in hand than a set has")
            elif 0 in (file, rank) or not kind:
                raise CsaPositionError(f"{line!r}: {file}{rank}{name} is no piece on a square")
            elif self.board[square(file, rank)]:
                raise CsaPositionError(f"{line!r}: {file}{rank} is already set")
            else:
                self.board[square(file, rank)] = colour << 4 | kind

    def _deal_rest(self, colour: int) -> None:
        """``00AL``: all pieces that are left of a set, except kings."""
        for kind in _HAND_ORDER:
            used = sum(piece & 15 in (kind, kind + PROMOTED) for piece in self.board)
            left = MAX_IN_GAME[kind] - used - self.hands[0][kind] - self.hands[1][kind]
            if left < 0:
                raise CsaPositionError(f"more {CSA_NAMES[kind]} than a set has")
            self.hands[colour][kind] += left


def _groups(line: str) -> Iterator[tuple[int, int, str]]:
    """The ``82HI`` groups after the first two characters."""
    body = line[2:].rstrip()
    if not re.fullmatch(r"(?:[0-9]{2}[A-Z]{2})*", body):
        raise CsaPositionError(f"{line!r}: pieces must look like 82HI or 00FU")
    return ((int(file), int(rank), name) for file, rank, name in re.findall(r"(\d)(\d)([A-Z]{2})", body))
