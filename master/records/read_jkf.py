"""JKF records (JSON Kifu Format) as games. Source: the schema of na2hiro/json-kifu-format."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from master.records.kif_start import NAMES
from master.records.read_csa import special
from master.records.read_kif import FACTS, comment_on
from master.records.reading import Reading, ReadMove, RecordFault, Walk, bounded_ms, finish
from worker.shogi import sfen
from worker.shogi.pieces import CSA_NAMES, KING, square

_PRESETS: Final = dict(
    zip(
        ("HIRATE", "KY", "KY_R", "KA", "HI", "HIKY", "2", "3", "4", "5", "5_L", "6", "7_L", "7_R", "8", "10"),
        NAMES.values(),
        strict=True,
    )
)


def read_jkf(lines: Sequence[str]) -> Reading:
    """The game of a JKF file. Raises RecordFault: it is not JSON, or does not fit the schema, or an illegal move is
    followed by others."""
    try:
        whole = json.loads("\n".join(lines))
        return _read(whole)
    except json.JSONDecodeError as error:
        raise RecordFault(f"no JKF record: {error.msg}", error.lineno - 1) from error
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError, IndexError, RecursionError) as error:
        raise RecordFault(f"no JKF record: {error!r}") from error


def _read(whole: Mapping[str, Any]) -> Reading:
    header = {str(key): str(text) for key, text in whole.get("header", {}).items()}
    names = [header.pop(one, header.pop(other, "")) for one, other in (("先手", "下手"), ("後手", "上手"))]
    header.pop("手合割", None)
    reading = Reading(names=(names[0], names[1]), facts={FACTS.get(key, key): text for key, text in header.items()})
    initial = whole.get("initial") or {"preset": "HIRATE"}
    walk = _line(reading, initial, [], whole["moves"], reading.notices)
    return finish(walk, reading)


def _line(
    line: Reading,
    initial: Mapping[str, Any],
    played: Sequence[ReadMove],
    entries: Sequence[Mapping[str, Any]],
    notices: list[str],
) -> Walk:
    """Read moves, and the variations (forks) beside them.

    Args:
        played: the moves before.
        notices: list for notices about unreadable variations.
    """
    walk = _start(initial)
    walk.follow(played)
    forks: list[tuple[int, Any]] = []
    for one in entries:
        forks += [(len(walk.moves), fork) for fork in one.get("forks") or ()]
        if one.get("move") is not None:
            if line.end is not None:
                raise RecordFault(f"move {len(walk.moves) + 1}: it stands after the end")
            _move(walk, one["move"])
            if walk.illegal is None and (clock := (one.get("time") or {}).get("now")):
                walk.moves[-1].ms = bounded_ms(3600 * clock.get("h", 0) + 60 * clock.get("m", 0) + clock["s"])
        elif one.get("special"):
            line.end = special(str(one["special"]), walk.turn)
        for text in one.get("comments") or ():
            comment_on(line, walk, str(text))
    line.moves = walk.moves[len(played) :]
    for before, fork in forks:
        variation = Reading()
        try:
            end = _line(variation, initial, [*played, *line.moves][:before], fork, notices)
            why = "" if end.illegal is None else end.illegal[1]
        except RecordFault as error:
            why = str(error)
        if why:
            notices.append(f"a variation at move {before + 1} cannot be read to its end: {why}")
        if variation.moves:
            line.attach(before - len(played), variation)
    return walk


def _start(initial: Mapping[str, Any]) -> Walk:
    preset = str(initial["preset"])
    if preset in _PRESETS:
        return Walk(_PRESETS[preset])
    if preset != "OTHER" or not initial.get("data"):
        raise RecordFault(f"the start position: preset {preset!r} is unknown, or needs its data")
    data = initial["data"]
    board = [0] * 81
    if [len(file) for file in data["board"]] != [9] * 9:
        raise RecordFault("the start position: the board is not nine files of nine squares")
    for file, column in enumerate(data["board"], start=1):
        for rank, cell in enumerate(column, start=1):
            if cell and cell.get("kind"):
                board[square(file, rank)] = _colour(cell["color"]) << 4 | _kind(cell["kind"])
    hands = [[0] * 8, [0] * 8]
    if len(data["hands"]) != 2:
        raise RecordFault("the start position: not two hands")
    for hand, held in zip(hands, data["hands"], strict=True):
        for name, count in held.items():
            if not isinstance(count, int) or count < 0 or _kind(name) >= KING:
                raise RecordFault(f"the start position: {count} {name} in hand")
            hand[_kind(name)] = count
    setup = sfen.Setup(tuple(board), (tuple(hands[0]), tuple(hands[1])), _colour(data["color"]), 1)
    return Walk(sfen.write(setup))


def _move(walk: Walk, move: Mapping[str, Any]) -> None:
    target = walk.last if "to" not in move and move.get("same") else _square(move["to"])
    if target is None:
        raise RecordFault(f"move {len(walk.moves) + 1}: no move before it to whose square it could go")
    origin = _square(move["from"]) if move.get("from") else None
    if "color" in move and move["color"] is not None and _colour(move["color"]) != walk.turn:
        walk.go_on()
        walk.illegal = None, f"move {len(walk.moves) + 1} is not legal: it is the other side's turn"
        return
    walk.play(origin, target, _kind(move["piece"]), promote=bool(move.get("promote")))


def _square(place: Mapping[str, Any]) -> int:
    file, rank = int(place["x"]), int(place["y"])
    if not (1 <= file <= 9 and 1 <= rank <= 9):
        raise RecordFault(f"{file}{rank} is no square")
    return square(file, rank)


def _kind(name: Any) -> int:
    if not name or name not in CSA_NAMES:
        raise RecordFault(f"{name!r} is no piece")
    return CSA_NAMES.index(name)


def _colour(number: Any) -> int:
    if number not in (0, 1):
        raise RecordFault(f"{number!r} is no side")
    return int(number)
