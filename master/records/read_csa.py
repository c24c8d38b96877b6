"""CSA records (V1 to V3) as games. Source: CSA record format V2.2 and V3.0, computer-shogi.org."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from master.csa import SIGNS
from master.csa.position import CsaPositionError, sfen_from_csa
from master.records.reading import Ended, Reading, RecordFault, Walk, bounded_ms, ended, finish
from worker.shogi import STARTPOS
from worker.shogi.pieces import CSA_NAMES, KING, PROMOTED, square

_MOVE: Final = re.compile(r"([+-])(00|[1-9][1-9])([1-9])([1-9])([A-Z]{2})")
_OWN: Final = re.compile(r"\*\* ?([+-]?[0-9]{1,9})((?: [+-][0-9]{4}[A-Z]{2})*)(?: #([0-9]{1,18}))? *(?: (\S.*))?")
_SUMMARY: Final = re.compile(r"summary:([a-z_ ]+):([^:]*) (win|lose|draw):([^:]*) (win|lose|draw)\s*")
_SUMMED_UP: Final = {
    "sennichite": "REPETITION_DRAW",
    "max_moves": "MAX_MOVES",
    "time up": "TIMEOUT",
    **dict.fromkeys(
        ("illegal move", "illegal kachi", "uchifuzume", "oute_kaihimore", "oute_sennichite"), "LOSE_BY_ILLEGAL_MOVE"
    ),
}
"""rsshogi's word for each end that shogi-server tells in a comment alone (``game_result.rb``)."""
_TIME: Final = re.compile(r"T(\d+(?:\.\d*)?)")
_FACTS: Final = {
    "EVENT": "event",
    "SITE": "site",
    "START_TIME": "start_date",
    "END_TIME": "end_date",
    "TIME_LIMIT": "time_control",
    "TIME": "time_control",
    "TIME+": "black_time_control",
    "TIME-": "white_time_control",
    "MAX_MOVES": "max_moves",
    "JISHOGI": "impasse_rule",
    "NOTE": "comment",
}
_ENDS: Final = {
    "TORYO": ("RESIGN", "loss"),
    "CHUDAN": ("INTERRUPT", ""),
    "SENNICHITE": ("REPETITION_DRAW", ""),
    "TIME_UP": ("TIMEOUT", "loss"),
    "ILLEGAL_MOVE": ("LOSE_BY_ILLEGAL_MOVE", "loss"),
    "JISHOGI": ("IMPASSE", ""),
    "KACHI": ("WIN_BY_DECLARATION", "win"),
    "HIKIWAKE": ("DRAW", ""),
    "MAX_MOVES": ("MAX_MOVES", ""),
    "TSUMI": ("MATE", "loss"),
    "FUZUMI": ("NO_MATE", ""),
}
"""rsshogi's word for each special move, and its meaning for the side to move."""


def special(word: str, turn: int) -> Ended:
    """The end that a special move tells (``TORYO``, ``+ILLEGAL_ACTION`` …); ``turn``: the side to move."""
    if word in ("+ILLEGAL_ACTION", "-ILLEGAL_ACTION"):
        return ended("WIN_BY_ILLEGAL_MOVE", "win", 1 - SIGNS.index(word[0]))
    kind, outcome = _ENDS.get(word, ("UNKNOWN", ""))
    return ended(kind, outcome, turn, word)


def csa_parts(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The games of a file, each with the number of lines before it; ``/`` separates two games. The last may be
    empty."""
    first = 0
    for number in [*(n for n, line in enumerate(lines) if line.strip() == "/"), len(lines)]:
        part = list(lines[first:number])
        last = number == len(lines)
        if not (first and last) or any(line.strip() and not line.startswith("'") for line in part):
            yield first, part
        first = number + 1


def read_csa(lines: Sequence[str]) -> Reading:
    """The one game of these lines. Raises RecordFault: a line cannot be read, or its move is not legal and others
    follow."""
    return _Reader().read(lines)


class _Reader:
    def __init__(self) -> None:
        self._names = ["", ""]
        self._position: list[tuple[int, str]] = []
        self._walk: Walk | None = None
        self._reading = Reading()
        self._summary: Ended | None = None
        """The end by shogi-server's last comment."""

    def read(self, lines: Sequence[str]) -> Reading:
        for number, line in enumerate(lines):
            line = line.rstrip() if line[:1] not in ("P", "'") else line.rstrip("\r\n")
            if line.startswith("'"):
                self._comment(line[1:])
            elif line[:1] in ("N", "$", "V"):
                self._head(line, number)
            else:
                statements, comment, words = line.partition(",'")
                for statement in statements.split(","):
                    if statement.strip():
                        self._statement(statement if statement[0] == "P" else statement.strip(), number)
                if comment:
                    self._comment(words)
        if self._walk is None and self._position:
            raise RecordFault("the side to move (+ or -) is missing", self._position[-1][0])
        walk = self._walk or Walk(STARTPOS)
        self._reading.names = self._names[0], self._names[1]
        self._reading.end = self._summary or self._reading.end
        return finish(walk, self._reading)

    def _head(self, line: str, number: int) -> None:
        key, colon, text = line[1:].partition(":")
        if line[0] == "$" and colon:
            self._reading.facts[_FACTS.get(key, key)] = text.strip()
        elif self._walk is not None and (self._walk.moves or self._reading.end):
            raise _fault(line, number, self._walk)  # another game without a / before it
        elif line[:2] in ("N+", "N-"):
            self._names[SIGNS.index(line[1])] = line[2:].strip()
        elif not re.fullmatch(r"V\d+(\.\d+)*", line):
            raise _fault(line, number, self._walk)

    def _statement(self, text: str, number: int) -> None:
        if text in SIGNS:
            self._start(text, number)
        elif text[0] == "P":
            if self._walk is not None:
                raise _fault(text, number, self._walk)
            self._position.append((number, text))
        elif text[0] in SIGNS:
            self._move(text, number)
        elif text[0] == "T":
            self._time(text, number)
        elif text[0] == "%":
            self._end(text[1:], number)
        else:
            raise _fault(text, number, self._walk)

    def _start(self, sign: str, number: int) -> None:
        if self._walk is not None:
            raise RecordFault(f"{sign!r}: the side to move stands twice", number)
        if not self._position:
            raise RecordFault(f"{sign!r}: no position before the side to move", number)
        at = number

        def block() -> Iterator[str]:
            nonlocal at
            for at, text in (*self._position, (number, sign)):  # noqa: B007
                yield text

        try:
            start = sfen_from_csa(block())
        except CsaPositionError as error:
            raise RecordFault(str(error), at) from error
        self._walk = Walk(start, self._position[0][0])

    def _begun(self, text: str, number: int) -> Walk:
        """The game; without any position it begins with the usual one."""
        if self._walk is None:
            if self._position:
                raise RecordFault(f"{text!r}: the side to move (+ or -) is missing before it", number)
            self._walk = Walk(STARTPOS)
        return self._walk

    def _move(self, text: str, number: int) -> None:
        match = _MOVE.fullmatch(text)
        if match is None or match[5] not in CSA_NAMES or self._reading.end is not None:
            raise _fault(text, number, self._walk)
        walk = self._begun(text, number)
        kind = CSA_NAMES.index(match[5])
        target = square(int(match[3]), int(match[4]))
        origin = None if match[2] == "00" else square(int(match[2][0]), int(match[2][1]))
        promote = origin is not None and kind > KING and walk.board[origin] & 15 == kind - PROMOTED
        if SIGNS.index(match[1]) != walk.turn:
            walk.go_on()
            walk.illegal = number, f"move {len(walk.moves) + 1} is not legal: it is {SIGNS[walk.turn]!r} to move"
            return
        walk.play(origin, target, kind - PROMOTED if promote else kind, promote=promote, line=number)

    def _time(self, text: str, number: int) -> None:
        match = _TIME.fullmatch(text)
        if match is None:
            raise _fault(text, number, self._walk)
        ms = bounded_ms(float(match[1]))
        if self._reading.end is not None:
            self._reading.end_ms = ms
        elif self._walk is not None and self._walk.moves and self._walk.illegal is None:
            self._walk.moves[-1].ms = ms

    def _end(self, word: str, number: int) -> None:
        walk = self._begun("%" + word, number)
        end = special(word, walk.turn)
        if self._reading.end not in (None, end):  # shogi-server keeps %KACHI twice
            raise _fault("%" + word, number, walk)
        self._reading.end = end

    def _comment(self, text: str) -> None:
        """``'** 35 -3334FU`` is the player's score and variation, ``'*`` a comment, ``'summary:`` shogi-server's last
        word; other comments are not for programs."""
        if (told := _SUMMARY.fullmatch(text)) is not None and told[1] in _SUMMED_UP:
            results = {told[2]: told[3], told[4]: told[5]}
            winner = next((colour for colour, name in enumerate(self._names) if results.get(name) == "win"), None)
            self._summary = Ended(_SUMMED_UP[told[1]], winner)
        if not text.startswith("*"):
            return
        walk, end = self._walk, self._reading.end
        own = _OWN.fullmatch(text)
        if end is not None:
            self._reading.end_comments.append(text[1:].strip())
        elif walk is None or not walk.moves:
            self._reading.opening_comments.append(text[1:].strip())
        elif walk.illegal is not None:
            return
        elif own is None:
            walk.moves[-1].comments.append(text[1:].strip())
        else:
            move = walk.moves[-1]
            move.score, move.pv = int(own[1]), own[2].strip()
            move.nodes = None if own[3] is None else int(own[3])
            move.comments += [own[4]] if own[4] else []


def _fault(text: str, number: int, walk: Walk | None) -> RecordFault:
    """A statement that cannot be read, in the words of its part of the record."""
    if walk is None:
        return RecordFault(f"{text!r} is no line of a CSA record", number)
    if walk.illegal is not None:
        return RecordFault(walk.illegal[1], walk.illegal[0])
    return RecordFault(f"move {len(walk.moves) + 1} cannot be read (CSA): {text!r}", number)
