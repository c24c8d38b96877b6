"""The game summary: the conditions of one game, as offered by the server, read and written.

Source: CSA server protocol 1.2.1, "Game_Summary". Unknown keys are skipped, as the protocol requires. A known key with
an unreadable value is an error that names it, and the game must be rejected.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from master.csa import BLACK, SIGNS, WHITE
from worker.clock.timecontrol import TimeControl

MOVE_PATTERN: Final = re.compile(r"([+-])([0-9]{4})([A-Z]{2})")
_TIME_KEYS: Final = {
    "Total_Time": "total_ms",
    "Byoyomi": "byoyomi_ms",
    "Increment": "increment_ms",
    "Delay": "delay_ms",
    "Least_Time_Per_Move": "least_ms",
}
_UNITS: Final = {"msec": 1, "sec": 1000, "min": 60_000}
_MAX_NUMBER: Final = 10**9
"""Larger numbers are mistakes: even in milliseconds this is eleven days."""


class SummaryError(ValueError):
    """The game summary cannot be read; the text names the line and the fault."""


@dataclass(frozen=True, slots=True)
class PlayedMove:
    """A move that the position block already holds."""

    csa: str
    """``+7776FU``."""
    consumed_ms: int


@dataclass(frozen=True, slots=True)
class GameSummary:
    """The conditions of one game. Colours are 0 (black, sente) and 1 (white, gote)."""

    game_id: str
    names: tuple[str, str]
    my_colour: int
    to_move: int
    """The side that moves first once `moves` are played."""
    time: tuple[TimeControl, TimeControl]
    start_sfen: str
    moves: tuple[PlayedMove, ...] = ()
    max_moves: int | None = None
    """The ply at which the game is drawn; None: no limit."""
    declaration: str = ""
    """``Jishogi 1.1`` (27 points), or empty if no declaration is offered."""
    rematch_on_draw: bool = False
    protocol_version: str = "1.2"
    protocol_mode: str = "Server"
    format: str = "Shogi 1.0"


def parse_summary(lines: Sequence[str]) -> GameSummary:
    """Read the lines between ``BEGIN Game_Summary`` and ``END Game_Summary`` (both left out). Raises SummaryError: a
    value cannot be read, a block is not closed, or a side, a position or ``Your_Turn`` is missing."""
    keys, blocks = _split(lines)
    if "Position" not in blocks:
        raise SummaryError("no position block")
    to_move_key = _colour(keys, "To_Move")
    my_colour = _colour(keys, "Your_Turn")
    if my_colour is None:
        raise SummaryError("Your_Turn is missing")
    time = _times(blocks)
    start_sfen, first, moves = _position(blocks["Position"], time)
    to_move = first ^ (len(moves) & 1)
    # Servers interpret To_Move in two ways: the side to move now (shogi-server), or the side that moved first in the
    # position block. The signs of the moves show the side to move now, so either works.
    if to_move_key is not None and to_move_key not in (to_move, first):
        raise SummaryError(f"To_Move:{SIGNS[to_move_key]} contradicts the position block")
    return GameSummary(
        game_id=keys.get("Game_ID", ""),
        names=(keys.get("Name+", ""), keys.get("Name-", "")),
        my_colour=my_colour,
        to_move=to_move,
        time=time,
        start_sfen=start_sfen,
        moves=moves,
        max_moves=_number("Max_Moves", keys.get("Max_Moves", "0")) or None,
        declaration=keys.get("Declaration", ""),
        rematch_on_draw=keys.get("Rematch_On_Draw", "NO") == "YES",
        protocol_version=keys.get("Protocol_Version", ""),
        protocol_mode=keys.get("Protocol_Mode", ""),
        format=keys.get("Format", ""),
    )


def format_summary(summary: GameSummary) -> list[str]:
    """The summary as the tournament server sends it, ``BEGIN Game_Summary`` to ``END Game_Summary``."""
    from master.csa.position import csa_from_sfen  # the rules load slowly

    lines = [
        "BEGIN Game_Summary",
        f"Protocol_Version:{summary.protocol_version}",
        f"Protocol_Mode:{summary.protocol_mode}",
        f"Format:{summary.format}",
        f"Declaration:{summary.declaration}",
        f"Game_ID:{summary.game_id}",
        f"Name+:{summary.names[BLACK]}",
        f"Name-:{summary.names[WHITE]}",
        f"Your_Turn:{SIGNS[summary.my_colour]}",
        f"Rematch_On_Draw:{'YES' if summary.rematch_on_draw else 'NO'}",
        f"To_Move:{SIGNS[summary.to_move]}",
        f"Max_Moves:{summary.max_moves or 0}",
    ]
    if summary.time[BLACK] == summary.time[WHITE]:
        lines += _time_block("Time", summary.time[BLACK])
    else:
        lines += _time_block("Time+", summary.time[BLACK]) + _time_block("Time-", summary.time[WHITE])
    lines += ["BEGIN Position", *csa_from_sfen(summary.start_sfen)]
    for move in summary.moves:
        unit = summary.time[SIGNS.index(move.csa[0])].unit_ms
        lines.append(f"{move.csa},T{move.consumed_ms // unit}")
    return [*lines, "END Position", "END Game_Summary"]


def _split(lines: Sequence[str]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Keys outside blocks, and the lines of each block by its name."""
    keys: dict[str, str] = {}
    blocks: dict[str, list[str]] = {}
    block: str | None = None
    for line in lines:
        if block is not None:
            if line == f"END {block}":
                block = None
            else:
                blocks[block].append(line)
        elif line.startswith("BEGIN "):
            block = line.removeprefix("BEGIN ")
            if block in blocks:
                raise SummaryError(f"{line!r} stands twice")
            blocks[block] = []
        else:
            key, colon, value = line.partition(":")
            if colon:
                keys[key] = value.strip()
    if block is not None:
        raise SummaryError(f"'BEGIN {block}' is not closed")
    return keys, blocks


def _colour(keys: dict[str, str], key: str) -> int | None:
    value = keys.get(key)
    if value is None:
        return None
    if value not in ("+", "-"):
        raise SummaryError(f"{key}:{value!r} is neither + nor -")
    return SIGNS.index(value)


def _number(key: str, value: str) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", value) or int(value) > _MAX_NUMBER:
        raise SummaryError(f"{key}:{value!r} is no number")
    return int(value)


def _times(blocks: dict[str, list[str]]) -> tuple[TimeControl, TimeControl]:
    common = blocks.get("Time")
    sides = []
    for colour in (BLACK, WHITE):
        lines = blocks.get(f"Time{SIGNS[colour]}", common)
        sides.append(TimeControl() if lines is None else _time(lines))
    return sides[BLACK], sides[WHITE]


def time_unit_ms(text: str) -> int:
    """The milliseconds of a ``Time_Unit``: ``1sec``, ``100msec`` … Raises SummaryError: it is not one."""
    match = re.fullmatch(r"([0-9]{1,6})(msec|sec|min)", text)
    if match is None or int(match[1]) == 0:
        raise SummaryError(f"Time_Unit:{text!r} is unknown")
    return int(match[1]) * _UNITS[match[2]]


def _time(lines: list[str]) -> TimeControl:
    keys = {key: value.strip() for key, colon, value in (line.partition(":") for line in lines) if colon}
    unit = time_unit_ms(keys.get("Time_Unit", "1sec"))
    roundup = keys.get("Time_Roundup", "NO")
    if roundup not in ("YES", "NO"):
        raise SummaryError(f"Time_Roundup:{roundup!r} is neither YES nor NO")
    values = {name: _number(key, keys[key]) * unit for key, name in _TIME_KEYS.items() if key in keys}
    return TimeControl(unit_ms=unit, roundup=roundup == "YES", **values)


def _position(lines: list[str], time: tuple[TimeControl, TimeControl]) -> tuple[str, int, tuple[PlayedMove, ...]]:
    """SFEN of the block, the side to move in it, and the moves after it."""
    from master.csa.position import CsaPositionError, sfen_from_csa  # the rules load slowly

    lines = [line for line in lines if line.strip()]
    turn_at = next((index for index, line in enumerate(lines) if line in ("+", "-")), None)
    if turn_at is None:
        raise SummaryError("the position block has no side to move")
    try:
        sfen = sfen_from_csa(lines[: turn_at + 1])
    except CsaPositionError as error:
        raise SummaryError(f"position block: {error}") from error
    first = SIGNS.index(lines[turn_at])
    moves: list[PlayedMove] = []
    for line in lines[turn_at + 1 :]:
        move, _, consumed = line.partition(",")
        match = MOVE_PATTERN.fullmatch(move)
        if match is None:
            raise SummaryError(f"position block: {line!r} is no move")
        colour = SIGNS.index(match[1])
        if colour != first ^ (len(moves) & 1):
            raise SummaryError(f"position block: {line!r} is out of turn")
        if consumed and not re.fullmatch(r"T[0-9]{1,9}(?:\.[0-9]{1,30})?", consumed):
            raise SummaryError(f"position block: {line!r} has no time that can be read")
        moves.append(PlayedMove(move, round(float(consumed[1:] or 0) * time[colour].unit_ms)))
    return sfen, first, tuple(moves)


def _time_block(name: str, time: TimeControl) -> list[str]:
    unit = next(f"{time.unit_ms // size}{word}" for word, size in reversed(_UNITS.items()) if time.unit_ms % size == 0)
    lines = [f"BEGIN {name}", f"Time_Unit:{unit}"]
    lines += [f"Total_Time:{time.total_ms // time.unit_ms}", f"Byoyomi:{time.byoyomi_ms // time.unit_ms}"]
    lines += [f"Increment:{time.increment_ms // time.unit_ms}"]
    if time.delay_ms:
        lines.append(f"Delay:{time.delay_ms // time.unit_ms}")
    lines.append(f"Least_Time_Per_Move:{time.least_ms // time.unit_ms}")
    if time.roundup:
        lines.append("Time_Roundup:YES")
    return [*lines, f"END {name}"]
