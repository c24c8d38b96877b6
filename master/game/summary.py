"""A summary of a log: games and their ends, time, decisions, node losses, warnings. Pure except for `read`.

It works on the raw lines of the log, from any version. A game's moves and result are in the lines of its server, which
the log has at the level debug.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from master.csa.events import REASONS
from master.csa.summary import SummaryError, time_unit_ms
from master.game.journal import BEGIN, ENTRY
from master.logs.files import read_lines

_RESULTS: Final = {"#WIN": "won", "#LOSE": "lost", "#DRAW": "drawn", "#CENSORED": "no result", "#CHUDAN": "no result"}
_MOVE: Final = re.compile(r"([+-])\d{4}[A-Z]{2}(?:,T(\d+(?:\.\d+)?))?")
_TIMES: Final = {"BEGIN Time": "+-", "BEGIN Time+": "+", "BEGIN Time-": "-"}
"""The sides to which the following times apply."""
_KEYS: Final = {"Game_ID": "game_id", "Name+": "black", "Name-": "white", "Your_Turn": "side"}
_LOUD: Final = ("warning", "error", "critical")


@dataclass(slots=True)
class LoggedResult:
    """One player's game, as logged."""

    player: str
    server: str
    number: int = 0
    """The player's number in its log."""
    game_id: str = ""
    black: str = ""
    white: str = ""
    side: str = ""
    """``+`` black, ``-`` white."""
    result: str = ""
    """``won``, ``lost``, ``drawn``, ``no result``, ``not played``, ``disconnected``; empty: the log does not have its
    end."""
    reason: str = ""
    """The server's word."""
    moves: int = 0
    own_s: float = 0.0
    """Seconds that the server charged this player."""
    other_s: float = 0.0
    began: bool = False
    left: bool = False
    """Whether we left it."""
    units_s: dict[str, float] = field(default_factory=lambda: {"+": 1.0, "-": 1.0})
    """Seconds of the server's ``Time_Unit``, by side."""
    _timed: str = "+-"
    """The sides to which the summary's lines apply."""
    decisions: Counter[str] = field(default_factory=Counter)
    """By source: ``split``, ``vote``, ``fallback``, ``forced``."""

    @property
    def opponent(self) -> str:
        return self.white if self.side == "+" else self.black

    def hear(self, line: str) -> None:
        name, colon, value = line.partition(":")
        if colon and name in _KEYS:
            setattr(self, _KEYS[name], value)
        elif line in _TIMES:
            self._timed = _TIMES[line]
        elif name == "Time_Unit":
            with suppress(SummaryError):
                self.units_s |= dict.fromkeys(self._timed, time_unit_ms(value) / 1000)
        elif name in ("START", "REJECT"):  # moves before it are those of a given position
            self.moves, self.own_s, self.other_s = 0, 0.0, 0.0
            self.began = name == "START"
            if not self.began:
                self.result = self.result or "not played"
        elif found := _MOVE.match(line):
            self.moves += 1
            spent = float(found[2] or 0) * self.units_s[found[1]]
            if found[1] == self.side:
                self.own_s += spent
            else:
                self.other_s += spent
        elif line in _RESULTS:
            self.result = "drawn" if (line, self.reason) == ("#CENSORED", "MAX_MOVES") else _RESULTS[line]
            self.reason = self.reason or line.removeprefix("#")
        elif line.startswith("#") and line[1:] in REASONS:
            self.reason = line[1:]
        elif line == "LOGOUT:completed":  # the server's result comes before it: we have left the game
            self.end("lost")

    def end(self, result: str) -> None:
        """The connection is over. ``result`` is for a game that had begun, has no result yet, and was not left by
        us."""
        if self.game_id and not self.result:
            self.result = "not played" if not self.began else "lost" if self.left else result


@dataclass(slots=True)
class LogSummary:
    began: str = ""
    ended: str = ""
    """UTC, as in the log."""
    lines: int = 0
    damaged: int = 0
    """Number of lines that are not JSON."""
    gaps: list[str] = field(default_factory=list)
    games: list[LoggedResult] = field(default_factory=list)
    """The games that were offered."""
    node_losses: Counter[str] = field(default_factory=Counter)
    """By node."""
    loss_reasons: Counter[str] = field(default_factory=Counter)
    ray_losses: int = 0
    loud: Counter[str] = field(default_factory=Counter)
    """Warnings and errors by event."""

    def results(self) -> Counter[str]:
        """Numbers of games by their end; ``unfinished``: the log ends before."""
        return Counter(game.result or "unfinished" for game in self.games)

    def facts(self) -> dict[str, Any]:
        """The summary for JSON."""
        return {
            "began": self.began,
            "ended": self.ended,
            "lines": self.lines,
            "damaged": self.damaged,
            "gaps": self.gaps,
            "results": dict(self.results()),
            "games": [
                {
                    "game": game.game_id,
                    "player": game.player,
                    "server": game.server,
                    "side": {"+": "black", "-": "white"}.get(game.side),
                    "opponent": game.opponent,
                    "result": game.result or "unfinished",
                    "reason": game.reason,
                    "moves": game.moves,
                    "own_s": round(game.own_s, 3),
                    "other_s": round(game.other_s, 3),
                    "decisions": dict(game.decisions),
                }
                for game in self.games
            ],
            "node_losses": dict(self.node_losses),
            "loss_reasons": dict(self.loss_reasons),
            "ray_losses": self.ray_losses,
            "warnings": dict(self.loud),
        }


def read(path: Path, into: LogSummary) -> None:
    """Add a log, named by any of its files, to a summary.

    Raises:
        OSError: it cannot be read.
        ValueError: no line of it is a log line; the text says so.
    """
    before = into.lines
    add((line for _, _, line in read_lines(path, into.gaps.append)), into)
    if into.lines == before:
        raise ValueError("no line of a log in it")


def add(lines: Iterable[str], into: LogSummary) -> None:
    running: dict[int, LoggedResult] = {}
    before = len(into.games)
    for line in lines:
        try:
            fields = json.loads(line)
            event, level, when = str(fields["event"]), str(fields.get("level", "")), str(fields.get("timestamp", ""))
        except (ValueError, KeyError, TypeError, RecursionError):
            into.damaged += 1
            continue
        into.lines += 1
        into.began = min(filter(None, (into.began, when)), default="")
        into.ended = max(into.ended, when)
        if level in _LOUD:
            into.loud[event] += 1
        if event == "node_lost":
            into.node_losses[str(fields.get("node"))] += 1
            into.loss_reasons[str(fields.get("reason"))] += 1
        elif event == "ray_lost":
            into.ray_losses += 1
        elif event == BEGIN:
            number = fields.get("game", 0)
            running[number] = LoggedResult(str(fields.get("name")), str(fields.get("server")), number)
        elif event == ENTRY and (game := running.get(fields.get("game", 0))) is not None:
            _take(fields, game, into)
    # The two players of an embedded game are in one log: ours has the lower number.
    new = into.games[before:]
    numbers = {(game.server, game.game_id, game.side): game.number for game in reversed(new)}
    into.games[before:] = [
        game
        for game in new
        if numbers.get((game.server, game.game_id, "-" if game.side == "+" else "+"), game.number) >= game.number
    ]


def _take(fields: dict[str, Any], game: LoggedResult, into: LogSummary) -> None:
    """One input of a player."""
    offered = bool(game.game_id)
    kind = fields.get("kind")
    if kind == "ServerLine":
        game.hear(str(fields.get("line", "")))
    elif kind in ("GiveUp", "Leave"):
        game.left = True
        if not game.began:
            game.end("not played")
    elif kind == "ConnectionLost":
        game.end("disconnected")
    elif kind == "Decision" and fields.get("sent"):  # otherwise it came too late, and another move had been played
        game.decisions[str(fields.get("source"))] += 1
    if game.game_id and not offered:
        into.games.append(game)
