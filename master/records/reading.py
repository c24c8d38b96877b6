"""The common part of all readers of records: text from bytes, the game as it is read, and the check of each move.

A reader never skips a line that it does not understand: a line that its format does not allow is a `RecordFault`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from rsshogi.core import Board, Move

from worker.shogi import STARTPOS, sfen
from worker.shogi.notation import square_to_usi
from worker.shogi.pieces import GOLD, KING, PROMOTED, RANK_LETTERS, SFEN_LETTERS, square

_DECLARED: Final = re.compile(rb"^(?:'CSA |#KIF [^\r\n]*)encoding=([A-Za-z0-9_-]+)", re.IGNORECASE | re.MULTILINE)
_ENCODINGS: Final = {
    "utf-8": "utf-8-sig",
    "utf8": "utf-8-sig",
    "shift-jis": "cp932",
    "sjis": "cp932",
    "cp932": "cp932",
    "windows-31j": "cp932",
    "euc-jp": "euc_jp",
    "eucjp": "euc_jp",
}
_EUC_PAIR: Final = re.compile(rb"[\x80-\xff]{2}")
_MOST_SECONDS: Final = 4_000_000
"""A longer time (over 46 days) is taken for damage."""


class RecordFault(Exception):
    """A line that cannot be read: its index in the given lines, if there is one, and the reason."""

    def __init__(self, why: str, line: int | None = None) -> None:
        super().__init__(why)
        self.line = line


@dataclass(slots=True)
class ReadMove:
    """A move of a record, with the record's facts about it."""

    usi: str
    ms: int | None = None
    """The time used; None: the record does not say."""
    score: int | None = None
    """The player's own score, in centipawns from black's view."""
    pv: str = ""
    """The player's own variation, in CSA moves."""
    nodes: int | None = None
    comments: list[str] = field(default_factory=list)
    beside: list[Line] = field(default_factory=list)
    """Variations that replace it."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a game, in rsshogi's word (``RESIGN``, ``TIMEOUT`` …)."""

    kind: str
    winner: int | None = None
    """A colour; None for a draw, and if there is no result."""
    word: str = ""
    """The file's own word, if rsshogi has none."""


DRAWS: Final = frozenset({"REPETITION_DRAW", "IMPASSE", "DRAW", "MAX_MOVES"})
"""The endings that are a draw."""


def ended(kind: str, outcome: str, turn: int, word: str = "") -> Ended:
    """The end of a game in which ``turn`` is to move: a ``win`` or a ``loss`` for that side, or no winner."""
    winner = {"win": turn, "loss": 1 - turn}.get(outcome)
    return Ended(kind, winner, word)


class Walk:
    """A game that is being read: the rules, and the pieces by square."""

    def __init__(self, start_sfen: str, line: int | None = None) -> None:
        """Raises RecordFault: such a position cannot occur on a board. ``line``: if it is given."""
        try:
            setup = sfen.parse(start_sfen)
        except sfen.SfenError as error:
            raise RecordFault(f"the start position: {error}", line) from error
        self.start_sfen = sfen.write(setup)
        self.turn = setup.turn
        self.board: list[int] = list(setup.board)
        self.last: int | None = None
        """The square to which the last move went."""
        self.moves: list[ReadMove] = []
        self.illegal: tuple[int | None, str] | None = None
        """The line of an illegal move, and the reason; no move may follow."""
        self._rules = Board(self.start_sfen)

    def play(self, origin: int | None, target: int, kind: int, *, promote: bool, line: int | None = None) -> None:
        """Make a move, or remember that it is illegal.

        Args:
            origin: None: a drop.
            kind: the piece type before the move.

        Raises:
            RecordFault: the move before it was not legal.
        """
        self.go_on()
        if not self.is_legal(origin, target, kind, promote=promote):
            self.illegal = line, f"move {len(self.moves) + 1} is not legal"
            return
        usi = _usi(origin, target, kind, promote=promote)
        self._rules.apply_usi(usi)
        if origin is not None:
            self.board[origin] = 0
        self.board[target] = self.turn << 4 | kind | (PROMOTED if promote else 0)
        self.turn = 1 - self.turn
        self.last = target
        self.moves.append(ReadMove(usi))

    def follow(self, moves: Iterable[ReadMove]) -> None:
        """Make moves that were read before. Raises RecordFault as `play` does."""
        for move in moves:
            target = _square(move.usi[2:4])
            if move.usi[1] == "*":
                self.play(None, target, SFEN_LETTERS.index(move.usi[0]), promote=False)
            else:
                origin = _square(move.usi[:2])
                self.play(origin, target, self.board[origin] & 15, promote=move.usi.endswith("+"))

    def go_on(self) -> None:
        """Raises RecordFault: another move follows, and the last one was not legal."""
        if self.illegal is not None:
            raise RecordFault(self.illegal[1], self.illegal[0])

    def is_legal(self, origin: int | None, target: int, kind: int, *, promote: bool) -> bool:
        if origin is None and (promote or not 0 < kind < KING):
            return False
        if origin is not None and (self.board[origin] != self.turn << 4 | kind or origin == target):
            return False
        if promote and kind >= GOLD:
            return False
        return bool(self._rules.is_legal_move(Move.from_usi(_usi(origin, target, kind, promote=promote))))


def _square(usi: str) -> int:
    return square(int(usi[0]), RANK_LETTERS.index(usi[1]) + 1)


def _usi(origin: int | None, target: int, kind: int, *, promote: bool) -> str:
    if origin is None:
        return f"{SFEN_LETTERS[kind]}*{square_to_usi(target)}"
    return f"{square_to_usi(origin)}{square_to_usi(target)}{'+' if promote else ''}"


@dataclass(slots=True)
class Line:
    """Moves in a row: the game, or a variation of it."""

    moves: list[ReadMove] = field(default_factory=list)
    end: Ended | None = None
    end_ms: int | None = None
    end_comments: list[str] = field(default_factory=list)
    after: list[Line] = field(default_factory=list)
    """Variations that continue after its last move, instead of its end."""

    def attach(self, index: int, variation: Line) -> None:
        """Add a variation in place of the move at an index, or after the last one."""
        (self.moves[index].beside if index < len(self.moves) else self.after).append(variation)


@dataclass(slots=True)
class Reading(Line):
    """A game as a reader returns it."""

    start_sfen: str = STARTPOS
    names: tuple[str, str] = ("", "")
    """Black, white; empty if the record does not name them."""
    facts: dict[str, str] = field(default_factory=dict)
    """Facts of the header, by rsshogi's names (``event``, ``site``, ``start_date``, ``time_control`` …), and others by
    the file's own names."""
    opening_comments: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    """Parts of the file that were left out, with the reasons."""


def finish(walk: Walk, reading: Reading) -> Reading:
    """Copy the walk into the reading. An illegal last move is left out, with a notice. Raises RecordFault: no legal
    move precedes it."""
    reading.start_sfen, reading.moves = walk.start_sfen, walk.moves
    if walk.illegal is not None:
        line, why = walk.illegal
        if not walk.moves:
            raise RecordFault(why, line)
        reading.notices.append(f"{why}; it was left out, and the record ends there")
        if reading.end is None:
            return reading
        if reading.end.kind.endswith("_BY_ILLEGAL_MOVE"):
            reading.end = Ended("LOSE_BY_ILLEGAL_MOVE", 1 - walk.turn)
        else:  # a resignation after the other side's illegal move loses by no rule
            reading.end_comments.insert(0, reading.end.word or reading.end.kind)
            reading.end = Ended("INTERRUPT")
    return reading


def decoded(data: bytes) -> str:
    """The text of a record, decoded with the encoding that it declares, or with UTF-8, Shift_JIS or EUC-JP, whichever
    fits.

    An incomplete last character is left out.

    Raises:
        RecordFault: none of these encodings fits.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise RecordFault("UTF-16; expected UTF-8, Shift_JIS or EUC-JP")
    declared = _DECLARED.search(data[:2000])
    named = None if declared is None else _ENCODINGS.get(declared[1].decode().lower().replace("_", "-"))
    order = ("utf-8-sig", "euc_jp", "cp932") if _is_euc(data) else ("utf-8-sig", "cp932", "euc_jp")
    fault: UnicodeDecodeError | None = None
    for encoding in (*([] if named is None else [named]), *order):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError as error:
            if error.end == len(data) and b"\n" in data[: error.start]:
                return data[: error.start].decode(encoding)
            if fault is None or encoding == "cp932":
                fault = error
    assert fault is not None
    raise RecordFault("neither UTF-8 nor Shift_JIS nor EUC-JP", data.count(b"\n", 0, fault.start))


def bounded_ms(seconds: float) -> int | None:
    """A time in milliseconds; None if no game takes that long, and no record can hold it."""
    return round(1000 * seconds) if 0 <= seconds < _MOST_SECONDS else None


def text_lines(text: str) -> list[str]:
    """The lines of a text with any line ends (`str.splitlines` would also split at other characters)."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _is_euc(data: bytes) -> bool:
    """Whether a text that could also be Shift_JIS is clearly EUC-JP.

    As Shift_JIS such a text is nothing but half-width katakana. As EUC-JP it has only characters in common use (kana,
    symbols and the first level of kanji), and some byte that is rare in half-width katakana.
    """
    try:
        text = data.decode("euc_jp")
    except UnicodeDecodeError:
        return False
    pairs = _EUC_PAIR.findall(data)
    in_use = all(0xA1 <= pair[0] <= 0xCF and pair[1] >= 0xA1 for pair in pairs)
    return not text.isascii() and in_use and any(byte < 0xA6 or byte > 0xDF for byte in b"".join(pairs))
