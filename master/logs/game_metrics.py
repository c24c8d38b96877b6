"""The metrics of a player's games, from its events; those of its fleet are in `cluster.metrics.catalogue`."""

from __future__ import annotations

import math
from typing import Final

from prometheus_client import CollectorRegistry

from cluster.metrics.catalogue import MOVE_S, SHORT_S, Kind, Meters, Metric
from master.csa.summary import GameSummary
from master.player.events import Clocks, Conclusion, GameBegan, GameEnded, GameEvent, LineMeasured, MovePlayed

RESULTS: Final = tuple(conclusion.value.lower() for conclusion in Conclusion)
SIDES: Final = ("own", "opponent")
LEVELS: Final = ("warning", "error")

BUILD: Final = Metric(
    "gougi_build_info", Kind.GAUGE, "Always 1: the version that runs, and the player's name.", ("version", "player")
)
MESSAGES: Final = Metric(
    "gougi_log_messages_total", Kind.COUNTER, "Warnings and errors in the log.", ("level",), LEVELS
)
RUNNING: Final = Metric("gougi_game_running", Kind.GAUGE, "1 while a game is played, else 0.")
PLY: Final = Metric("gougi_game_moves", Kind.GAUGE, "Moves of the running game, or of the last one.")
GAMES: Final = Metric(
    "gougi_games_total", Kind.COUNTER, "Games that were begun and are over, by result.", ("result",), RESULTS
)
MOVES: Final = Metric("gougi_own_moves_total", Kind.COUNTER, "Own moves that the server has confirmed.")
BOOK_MOVES: Final = Metric("gougi_book_moves_total", Kind.COUNTER, "Of these: from a book.")
CLOCK_USED: Final = Metric(
    "gougi_clock_used_seconds", Kind.HISTOGRAM, "Time that the server charged for an own move.", buckets=MOVE_S
)
CLOCK_LEFT: Final = Metric(
    "gougi_clock_left_seconds", Kind.GAUGE, "Main time left after the last move, by side.", ("side",)
)
FLAG_MARGIN: Final = Metric(
    "gougi_flag_margin_seconds",
    Kind.GAUGE,
    "Time left before the flag, byoyomi and increment counted, when the last own move was charged.",
)
FLAG_MARGIN_LEAST: Final = Metric(
    "gougi_flag_margin_least_seconds", Kind.GAUGE, "The least of these in the running game, or in the last one."
)
ECHO: Final = Metric(
    "gougi_server_echo_seconds", Kind.HISTOGRAM, "From an own line to the server's echo of it.", buckets=SHORT_S
)

GAME: Final = (
    BUILD, MESSAGES, RUNNING, PLY, GAMES, MOVES, BOOK_MOVES, CLOCK_USED, CLOCK_LEFT, FLAG_MARGIN, FLAG_MARGIN_LEAST,
    ECHO,
)  # fmt: skip
"""Metrics of the master about its games."""


class GameMetrics:
    """Observes one player, game after game. ``version, player``: labels of `BUILD`."""

    def __init__(self, registry: CollectorRegistry, version: str, player: str) -> None:
        self._meters = Meters(GAME, registry)
        self._meters.set(BUILD, 1, version, player)
        self._forget_margins()
        self._summary: GameSummary | None = None
        self._clocks = Clocks((0, 0), 0)
        self._least_s: float | None = None

    def observe(self, event: GameEvent) -> None:
        """Take an event of the player."""
        meters = self._meters
        match event:
            case GameBegan(summary, _, clocks):
                self._summary, self._least_s = summary, None
                self._forget_margins()
                meters.set(RUNNING, 1)
                meters.set(PLY, len(summary.moves))
                self._set_clocks(clocks)
            case MovePlayed():
                meters.set(PLY, event.ply)
                if event.mine:
                    self._moved(event)
                self._set_clocks(event.clocks)
            case LineMeasured(delay_ms):
                meters.observe(ECHO, delay_ms / 1000)
            case GameEnded(outcome):
                meters.set(RUNNING, 0)
                if outcome.played:
                    meters.add(GAMES, 1, outcome.conclusion.value.lower())

    def message(self, level: str) -> None:
        """A warning or error of the log: one of `LEVELS`. Any thread."""
        self._meters.add(MESSAGES, 1, level)

    def _moved(self, move: MovePlayed) -> None:
        meters = self._meters
        meters.add(MOVES)
        if move.comment.book:
            meters.add(BOOK_MOVES)
        meters.observe(CLOCK_USED, move.consumed_ms / 1000)
        if self._summary is None or (time := self._summary.time[move.colour]).unlimited:
            return
        margin_s = (time.limit_ms(self._clocks.left_ms[move.colour]) - move.consumed_ms) / 1000
        self._least_s = margin_s if self._least_s is None else min(self._least_s, margin_s)
        meters.set(FLAG_MARGIN, margin_s)
        meters.set(FLAG_MARGIN_LEAST, self._least_s)

    def _forget_margins(self) -> None:
        """No value yet: without a number, no alarm takes it for a small one."""
        self._meters.set(FLAG_MARGIN, math.nan)
        self._meters.set(FLAG_MARGIN_LEAST, math.nan)

    def _set_clocks(self, clocks: Clocks) -> None:
        self._clocks = clocks
        if self._summary is not None:
            mine = self._summary.my_colour
            for side, colour in zip(SIDES, (mine, mine ^ 1), strict=True):
                self._meters.set(CLOCK_LEFT, clocks.left_ms[colour] / 1000, side)
