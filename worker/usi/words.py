"""The USI protocol on the engine's side: parsing the GUI's lines, and formatting the engine's lines.

Pure functions; a line that cannot be read is a ValueError that names the word. `worker.usi.process` has the other
direction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from worker.book import BookReply
from worker.engine import Bound, SearchInfo
from worker.mate import MateResult, MateStatus
from worker.score import to_usi
from worker.shogi import STARTPOS, move_to_usi
from worker.text import Catalogue

_WORDS: Final = Catalogue("worker")
_LONGEST_MS: Final = 10**9
_GO_NUMBERS: Final = {
    **dict.fromkeys(("btime", "wtime", "binc", "winc", "byoyomi", "movetime"), (0, _LONGEST_MS)),
    "nodes": (1, 1 << 53),
    "depth": (1, 500),
}
"""By word: the value used if its number is missing (small, because the sender waits for a move), and the largest
value."""
_GO_WORDS: Final = frozenset({*_GO_NUMBERS, "searchmoves", "ponder", "infinite"})
_SETOPTION: Final = re.compile(r"\s*setoption\s+name\s+(\S+)(?:\s+value(?:\s(.*))?)?\s*", re.DOTALL)
_MOST_DIGITS: Final = 20
"""More than any limit has; Python refuses to read thousands."""
_BOUND_WORDS: Final = {Bound.EXACT: "", Bound.LOWER: " lowerbound", Bound.UPPER: " upperbound"}


def score_words(score: int, bound: Bound) -> str:
    """The words after ``score``: ``cp 34``, ``mate 7``, with ``lowerbound`` or ``upperbound`` if it is only a bound."""
    return to_usi(score) + _BOUND_WORDS[bound]


def info_line(info: SearchInfo) -> str:
    """One ``info`` line."""
    score = score_words(info.score, info.bound)
    return (
        f"info depth {info.depth} seldepth {info.seldepth} multipv {info.multipv} score {score} nodes {info.nodes} "
        f"nps {info.nps} hashfull {info.hashfull} time {info.time_ms} pv {' '.join(info.pv)}"
    )


def compiling_line(stage: str, number: int, total: int) -> str:
    """The ``info`` line about a stage of the compilation."""
    return f"info string {_WORDS.text('compiling {number}/{total} {stage}', number=number, total=total, stage=stage)}"


def error_line(why: str) -> str:
    """An error as one line of text."""
    return f"info string {_WORDS.text('error: {why}', why=_WORDS.error(' '.join(why.split())))}"


def best_line(move: str, ponder: str | None = None) -> str:
    """The ``bestmove`` line."""
    return f"bestmove {move}" + (f" ponder {ponder}" if ponder else "")


def book_lines(reply: BookReply) -> list[str]:
    """The lines of a book's answer: remarks, the candidates as ``info`` lines, and ``bestmove`` if it has one."""
    lines = [f"info string {note}" for note in reply.notes]
    for number, (entry, pv) in enumerate(reply.candidates, start=1):
        lines.append(f"info depth {entry.depth} multipv {number} score cp {entry.value} pv {' '.join(pv)}")
    if reply.move is not None:
        lines.append(best_line(reply.move, reply.ponder))
    return lines


@dataclass(frozen=True, slots=True)
class GoOrder:
    """The words of a ``go`` line: its numbers by name, its root moves, and how it ends."""

    numbers: dict[str, int]
    searchmoves: tuple[str, ...] = ()
    ponder: bool = False
    infinite: bool = False
    faults: tuple[str, ...] = ()
    """The faults of the line, as text. A sender of a wrong line still waits for a move."""


def parse_go(words: Sequence[str]) -> GoOrder:
    """Read the words after ``go``. The result is always an order, which lists any mistakes as faults."""
    numbers: dict[str, int] = {}
    searchmoves: tuple[str, ...] = ()
    faults: list[str] = []
    unknown: list[str] = []
    flags = {"ponder": False, "infinite": False}
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word in _GO_NUMBERS:
            soon, most = _GO_NUMBERS[word]
            text = words[at] if at < len(words) else ""
            at += bool(text) and text not in _GO_WORDS
            number = _whole_number(text)
            if number is None:
                faults.append(f"{word} needs a whole number, {soon} is taken")
            numbers[word] = soon if number is None else min(max(number, 0), most)
        elif word == "searchmoves":
            searchmoves = tuple(takewhile(lambda move: move not in _GO_WORDS, words[at:]))
            at += len(searchmoves)
        elif word in flags:
            flags[word] = True
        else:
            unknown.append(word)
    if unknown:
        faults.append(f"unknown: {' '.join(unknown)}")
    return GoOrder(numbers, searchmoves, **flags, faults=tuple(faults))


def _whole_number(text: str) -> int | None:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        return None
    return int(text[:_MOST_DIGITS])


def parse_setoption(line: str) -> tuple[str, str]:
    """Name and value of a ``setoption`` line; the value is everything after ``value`` and one blank, as sent."""
    found = _SETOPTION.fullmatch(line)
    if found is None:
        raise ValueError("setoption: expected 'name N value V'")
    return found[1], found[2] or ""


def parse_position(words: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """SFEN and moves from the words after ``position``, not yet checked against the rules."""
    at = words.index("moves") if "moves" in words else len(words)
    moves = tuple(words[at + 1 :])
    if list(words[:at]) == ["startpos"]:
        return STARTPOS, moves
    if list(words[:1]) == ["sfen"] or (words and "/" in words[0]):  # engines also accept it without the word
        return " ".join(words[:at]), moves
    raise ValueError("position: expected 'startpos' or 'sfen', and 'moves' before moves")


def parse_mate_limit(words: Sequence[str]) -> int | None:
    """Milliseconds from the words after ``go mate``; None: no limit."""
    limit = words[0] if words else "infinite"
    if limit == "infinite":
        return None
    if not (limit.isascii() and limit.isdigit()):
        raise ValueError(f"go mate: {limit!r} is neither a time in ms nor 'infinite'")
    return min(int(limit[:_MOST_DIGITS]), _LONGEST_MS)


def mate_lines(result: MateResult) -> list[str]:
    """The answer to ``go mate``: ``checkmate`` with the line, ``nomate`` or ``timeout``, after an ``info`` line."""
    answers = {
        MateStatus.MATE: " ".join(move_to_usi(move) for move in result.line),
        MateStatus.NO_MATE: "nomate",
        MateStatus.UNKNOWN: "timeout",
    }
    return [f"info nodes {result.nodes} time {result.time_ms}", f"checkmate {answers[result.status]}"]
