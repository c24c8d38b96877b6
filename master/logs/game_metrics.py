"""The metrics of a player's games, from what it tells its observers."""

from __future__ import annotations

import math

from prometheus_client import CollectorRegistry

from cluster.metrics.catalogue import Meters
from master.csa.summary import GameSummary
from master.logs import metrics_catalogue as catalogue
from master.logs.metrics_catalogue import GAME
from master.player.events import Clocks, GameBegan, GameEnded, GameEvent, LineMeasured, MovePlayed


class GameMetrics:
    """Observes one player, game after game.

    Args:
        version, player: of `catalogue.BUILD`.
    """

    def __init__(self, registry: CollectorRegistry, version: str, player: str) -> None:
        self._meters = Meters(GAME, registry)
        self._meters.set(catalogue.BUILD, 1, version, player)
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
                meters.set(catalogue.RUNNING, 1)
                meters.set(catalogue.PLY, len(summary.moves))
                self._set_clocks(clocks)
            case MovePlayed():
                meters.set(catalogue.PLY, event.ply)
                if event.mine:
                    self._moved(event)
                self._set_clocks(event.clocks)
            case LineMeasured(delay_ms):
                meters.observe(catalogue.ECHO, delay_ms / 1000)
            case GameEnded(outcome):
                meters.set(catalogue.RUNNING, 0)
                if outcome.played:
                    meters.add(catalogue.GAMES, 1, outcome.conclusion.value.lower())

    def message(self, level: str) -> None:
        """A grave message of the log: one of `catalogue.LEVELS`. Any thread."""
        self._meters.add(catalogue.MESSAGES, 1, level)

    def _moved(self, move: MovePlayed) -> None:
        meters = self._meters
        meters.add(catalogue.MOVES)
        if move.comment.book:
            meters.add(catalogue.BOOK_MOVES)
        meters.observe(catalogue.CLOCK_USED, move.consumed_ms / 1000)
        if self._summary is None or (time := self._summary.time[move.colour]).unlimited:
            return
        margin_s = (time.limit_ms(self._clocks.left_ms[move.colour]) - move.consumed_ms) / 1000
        self._least_s = margin_s if self._least_s is None else min(self._least_s, margin_s)
        meters.set(catalogue.FLAG_MARGIN, margin_s)
        meters.set(catalogue.FLAG_MARGIN_LEAST, self._least_s)

    def _forget_margins(self) -> None:
        """There is none yet: no number, so that no alarm takes it for a small one."""
        self._meters.set(catalogue.FLAG_MARGIN, math.nan)
        self._meters.set(catalogue.FLAG_MARGIN_LEAST, math.nan)

    def _set_clocks(self, clocks: Clocks) -> None:
        self._clocks = clocks
        if self._summary is not None:
            mine = self._summary.my_colour
            for side, colour in zip(catalogue.SIDES, (mine, mine ^ 1), strict=True):
                self._meters.set(catalogue.CLOCK_LEFT, clocks.left_ms[colour] / 1000, side)
