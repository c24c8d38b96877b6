"""The lines of USI as values: what an external engine says (options, infos, best moves), and the ``go`` it is told.

Pure functions: no process, no clock. Engines in the field leave fields out, add their own and print banners among them,
so a line that says nothing usable gives None; only a ``bestmove`` without a move is an error.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from worker.engine import Bound, EngineError, Limits, SearchInfo
from worker.score import MATE_BOUND, MAX_EVAL, MAX_PLY, mate_in, mated_in
from worker.usi.options import Option

_LONGEST_MATE: Final = 1023
"""Plies. `worker.score` holds no mate that is further away; ``mate +`` without a number is taken for this one."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Which words of ``go`` an engine understands. One that it does not know has ended gpsusi's process.

    Time is always kept by our own ``stop``; without ``movetime`` the engine is told byoyomi.
    """

    movetime: bool = True
    nodes: bool = True
    depth: bool = True
    searchmoves: bool = True


DIALECTS: Final = {"gpsshogi": Dialect(movetime=False, nodes=False, depth=False, searchmoves=False)}
"""By the first word of ``id name``. gpsusi 0.7 throws on `movetime`, `nodes`, `depth`, and knows no `searchmoves`."""


def dialect_of(name: str) -> Dialect:
    """The dialect of an engine that announced ``name``."""
    return DIALECTS.get(name.split(" ", 1)[0], Dialect())


def parse_option(line: str) -> tuple[str, Option] | None:
    """Name and option of an ``option name N type T ...`` line, N with or without blanks; None where it is none."""
    head, found, rest = line.partition(" type ")
    if not found or not head.startswith("option name "):
        return None
    words = rest.split()
    if not words:
        return None
    numbers: dict[str, int] = {}
    for word, value in itertools.pairwise(words[1:]):
        if word in ("min", "max") and value.lstrip("-").isdigit():
            numbers[word] = int(value)
    choices = [part.split(" default ")[0].strip() for part in rest.split(" var ")[1:]]
    option = Option(words[0], least=numbers.get("min"), most=numbers.get("max"), choices=tuple(choices))
    return head.removeprefix("option name ").strip(), option


def parse_score(words: Sequence[str]) -> int | None:
    """The score behind ``score``: ``cp 34``, ``mate 7``, ``mate -4``, ``mate +``, ``mate -``. None: neither."""
    if len(words) < 2:
        return None
    kind, text = words[0], words[1]
    if kind == "cp":
        number = _number(text)
        return None if number is None else max(-MAX_EVAL, min(MAX_EVAL, number))
    if kind != "mate":
        return None
    if text in ("+", "-"):
        return MATE_BOUND + 1 if text == "+" else -(MATE_BOUND + 1)
    plies = _number(text)
    if plies is None:
        return None
    distance = min(abs(plies), _LONGEST_MATE)
    return mated_in(distance) if plies <= 0 else mate_in(distance)


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


_INFO_NUMBERS: Final = {
    "depth": MAX_PLY,
    "seldepth": MAX_PLY,
    "time": 1 << 40,
    "nodes": 1 << 62,
    "hashfull": 1000,
    "multipv": 1 << 16,
}
"""By name the largest that is taken for one; an engine may say anything."""


def parse_info(line: str, legal_pv: Callable[[Sequence[str]], tuple[str, ...]]) -> SearchInfo | None:
    """An ``info`` line with a score and a PV; None for any other. Fields that are missing are 0 (``multipv``: 1).

    Args:
        legal_pv: the legal beginning of a PV (engines end theirs with words such as ``resign`` or ``rep_draw``).
    """
    words = line.split()
    if words[:1] != ["info"] or words[1:2] == ["string"]:
        return None
    numbers = dict.fromkeys(_INFO_NUMBERS, 0) | {"multipv": 1}
    score: int | None = None
    bound = Bound.EXACT
    at = 1
    while at < len(words):
        word = words[at]
        at += 1
        if word == "pv":
            break
        if word in _INFO_NUMBERS and at < len(words):
            numbers[word] = min(max(0, _number(words[at]) or 0), _INFO_NUMBERS[word])
            at += 1
        elif word == "score":
            score = parse_score(words[at : at + 2])
            at += 2
        elif word == "lowerbound":
            bound = Bound.LOWER
        elif word == "upperbound":
            bound = Bound.UPPER
    pv = legal_pv(words[at:])
    if score is None or not pv:
        return None
    return SearchInfo(
        depth=numbers["depth"],
        seldepth=max(numbers["seldepth"], numbers["depth"]),
        score=score,
        bound=bound,
        nodes=numbers["nodes"],
        time_ms=numbers["time"],
        hashfull=numbers["hashfull"],
        pv=pv,
        multipv=max(1, numbers["multipv"]),
    )


def parse_nodes(line: str) -> int | None:
    """The node count of any ``info`` line (engines send it apart from the PV); None where it has none."""
    words = line.split()
    if words[:1] != ["info"] or words[1:2] == ["string"] or "nodes" not in words[:-1]:
        return None
    number = _number(words[words.index("nodes") + 1])
    return None if number is None else min(max(0, number), _INFO_NUMBERS["nodes"])


def parse_bestmove(line: str) -> tuple[str, str | None]:
    """``bestmove M [ponder P]`` as (M, P).

    Raises:
        EngineError: no move follows.
    """
    words = line.split()
    if len(words) < 2:
        raise EngineError("bestmove without a move")
    ponder = words[3] if len(words) > 3 and words[2] == "ponder" else None
    return words[1], ponder


def go_line(limits: Limits, searchmoves: Sequence[str], dialect: Dialect) -> str:
    """The ``go`` for these limits in an engine's dialect.

    Args:
        searchmoves: the root moves to search; empty: all.

    Raises:
        EngineError: the engine has no word for a limit.
    """
    words = ["go"]
    for wanted, known, name in (
        (limits.nodes is not None, dialect.nodes, "nodes"),
        (limits.depth is not None, dialect.depth, "depth"),
        (bool(searchmoves), dialect.searchmoves, "searchmoves"),
    ):
        if wanted and not known:
            raise EngineError(f"this engine does not understand 'go {name}'")
    if limits.nodes is not None:
        words += ["nodes", str(limits.nodes)]
    if limits.depth is not None:
        words += ["depth", str(limits.depth)]
    if limits.movetime_ms is not None:
        words += ["movetime"] if dialect.movetime else ["btime", "0", "wtime", "0", "byoyomi"]
        words.append(str(max(1, limits.movetime_ms)))
    if limits.infinite:
        words.append("infinite")
    if searchmoves:
        words += ["searchmoves", *searchmoves]
    return " ".join(words)
