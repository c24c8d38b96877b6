"""A summary of a log: games and their ends, time, decisions, node losses, warnings. Pure except for `read`.

Each game is replayed (`master.game.journal`) from the inputs of its player, which the log has at the level debug.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from cluster.api import Decision
from master.csa.summary import GameSummary
from master.game.journal import BEGIN, ENTRY, LoggedGame, Replay
from master.game.journal import read as read_entry
from master.logs.files import read_lines
from master.player.events import Conclusion, GameEnded, GameEvent, GameFound, GameOutcome, MovePlayed

_RESULTS: Final = {
    Conclusion.WIN: "won",
    Conclusion.LOSE: "lost",
    Conclusion.DRAW: "drawn",
    Conclusion.DISCONNECTED: "disconnected",
}
_LOUD: Final = ("warning", "error", "critical")


@dataclass(slots=True)
class LoggedResult:
    """One player's game, as logged."""

    player: str
    server: str
    summary: GameSummary | None = None
    """None: no game was offered."""
    result: str = ""
    """``won``, ``lost``, ``drawn``, ``no result``, ``not played``, ``disconnected``; empty: the log does not have its
    end."""
    reason: str = ""
    """The server's word, or a description."""
    moves: int = 0
    own_s: float = 0.0
    """Seconds that the server charged this player."""
    other_s: float = 0.0
    decisions: Counter[str] = field(default_factory=Counter)
    """By source: ``split``, ``vote``, ``fallback``, ``forced``."""

    @property
    def colour(self) -> int:
        return 0 if self.summary is None else self.summary.my_colour

    @property
    def opponent(self) -> str:
        return "" if self.summary is None else self.summary.names[1 - self.colour]

    def take(self, event: GameEvent) -> None:
        """An event of the replayed player."""
        match event:
            case GameFound(summary):
                self.summary = summary
            case MovePlayed(mine=mine, consumed_ms=consumed_ms):
                self.moves += 1
                if mine:
                    self.own_s += consumed_ms / 1000
                else:
                    self.other_s += consumed_ms / 1000
            case Decision():
                self.decisions[event.source] += 1
            case GameEnded(outcome):
                self.summary, self.result, self.reason = outcome.summary, _result(outcome), outcome.reason


def _result(outcome: GameOutcome) -> str:
    if not outcome.played:
        return "not played"
    if (outcome.conclusion, outcome.reason) == (Conclusion.CENSORED, "MAX_MOVES"):
        return "drawn"
    return _RESULTS.get(outcome.conclusion, "no result")


@dataclass(slots=True)
class LogSummary:
    began: str = ""
    ended: str = ""
    """UTC, as in the log."""
    lines: int = 0
    damaged: int = 0
    """Number of lines that cannot be read, or belong to another version."""
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
                    "game": "" if game.summary is None else game.summary.game_id,
                    "player": game.player,
                    "server": game.server,
                    "side": ("black", "white")[game.colour],
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
    """Add a log, named by any of its files, to a summary. A game is summed up to the first line that is missing or
    damaged.

    Raises:
        OSError: it cannot be read.
        ValueError: no line of it is a log line; the text says so.
    """
    before = into.lines
    found: list[LoggedResult] = []
    playing: tuple[int, Replay, LoggedResult] | None = None

    def on_gap(where: str) -> None:
        nonlocal playing
        playing = None
        into.gaps.append(where)

    for _, _, line in read_lines(path, on_gap):
        try:
            fields = json.loads(line)
            event, level, when = str(fields["event"]), str(fields.get("level", "")), str(fields.get("timestamp", ""))
            if event == BEGIN:
                game = LoggedGame.begun(fields)
                # The first name in the log is ours, and has one connection at a time; an embedded game's opponent has
                # another name.
                if not found or game.name == found[0].player:
                    found.append(LoggedResult(game.name, game.server))
                    playing = game.number, Replay(game), found[-1]
            elif event == ENTRY and playing is not None and fields["game"] == playing[0]:
                _, replay, result = playing
                for told in replay.step(read_entry(fields)).events:
                    result.take(told)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            into.damaged += 1
            playing = None
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
    into.games += [result for result in found if result.summary is not None]
    if into.lines == before:
        raise ValueError("no line of a log in it")
