"""The state of the running game, for viewers: events in, a plain picture out. Shown by `screen` and `lines`.

One player's observer is `GameView.observe`; if the opponent runs in this process too, `GameView.observe_opponent` adds
its searches.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from cluster.api import Decision, Progress
from master.player import events
from master.records.notation import Notation, usi_target
from master.ui.progress import Pace
from master.ui.texts import say
from worker.clock.timecontrol import TimeControl
from worker.shogi import STARTPOS

NOTES_KEPT = 4


@dataclass(slots=True)
class SideView:
    """The search of one side that a viewer sees: the running one, or that of its last move."""

    sfen: str = STARTPOS
    """The searched position."""
    ply: int = 0
    """The moves before it."""
    before: int | None = None
    """The square to which the move before it went."""
    progress: Progress | None = None
    decision: Decision | None = None
    """Set when the search is over."""


class SeriesView:
    """A series of games.

    Args:
        total: None: without end.
        now: a clock, in seconds.
    """

    def __init__(self, total: int | None, now: Callable[[], float] = time.monotonic) -> None:
        self.total = total
        self.done = 0
        self._now = now
        self._pace = Pace()

    def observe(self, event: events.GameEvent) -> None:
        """The player's own events."""
        match event:
            case events.GameBegan():
                self._pace.begin(0, self._now())
            case events.GameEnded(outcome) if outcome.played:
                self.done += 1

    @property
    def left_s(self) -> float | None:
        """Estimated seconds until the end of the last game, from the games so far; None: unknown."""
        return self._pace.left_s(self.done, self.total, self._now())


@dataclass(slots=True)
class GameView:
    """The game as a viewer sees it. Colours are 0 (black) and 1 (white)."""

    now: Callable[[], float] = time.monotonic
    notation: Notation = Notation.JAPANESE
    page: str = ""
    """Address of the live page; empty: there is none."""
    status: str = "starting"
    names: tuple[str, str] = ("", "")
    my_colour: int = 0
    sfen: str = STARTPOS
    ply: int = 0
    move: events.MovePlayed | None = None
    """The last move."""
    moved_from: tuple[str, int | None] = ("", None)
    """The position before it, and the square to which the move before it went."""
    sides: tuple[SideView, SideView] = field(default_factory=lambda: (SideView(), SideView()))
    """By colour."""
    outcome: events.GameOutcome | None = None
    most_plies: int | None = None
    """The move at which the game is drawn; None: no known limit."""
    delay_ms: float | None = None
    """The server's time for the last echo."""
    notes: deque[str] = field(default_factory=lambda: deque(maxlen=NOTES_KEPT))
    """The last messages of log and fleet."""
    _clocks: events.Clocks = field(default_factory=lambda: events.Clocks((0, 0), 0))
    _clocks_at: float = 0.0
    _times: tuple[TimeControl, TimeControl] = (TimeControl(), TimeControl())
    _running: bool = False

    def note(self, text: str) -> None:
        self.notes.append(text)

    def left_ms(self, colour: int) -> float:
        """Main time left now."""
        left = self._clocks.left_ms[colour]
        if self._running and colour == self._clocks.turn:
            spent = (self.now() - self._clocks_at) * 1000
            return max(0.0, min(left, left + self._times[colour].increment_ms - spent))  # as `GameClock.left_ms`
        return left

    def left_at_most_s(self) -> float | None:
        """Seconds until the end of the game if both sides use all their time up to the move limit; None: there is no
        such end."""
        if self.most_plies is None or any(control.unlimited for control in self._times):
            return None
        left_ms = 0.0
        for colour, control in enumerate(self._times):
            moves = max(0, self.most_plies - self.ply + (colour == self.turn)) // 2
            left_ms += self.left_ms(colour) + moves * (control.byoyomi_ms + control.increment_ms)
        return left_ms / 1000

    @property
    def turn(self) -> int:
        return self._clocks.turn

    @property
    def last_square(self) -> int | None:
        """The square to which the last move went."""
        return None if self.move is None else usi_target(self.move.usi)

    def observe(self, event: events.GameEvent) -> None:
        """The player's own events."""
        match event:
            case events.LoggedIn(name):
                self.status = say("{name} waits for a game", name=name)
            case events.GameFound(summary):
                self.status = say("game {id}", id=summary.game_id)
            case events.GameBegan(summary, sfen, clocks):
                self.names, self.my_colour = summary.names, summary.my_colour
                self.sfen, self.ply, self.move, self.outcome = sfen, len(summary.moves), None, None
                self.most_plies, self._times = summary.max_moves, summary.time
                self.sides = (SideView(sfen), SideView(sfen))
                self._set_clocks(clocks)
            case events.MovePlayed():
                self.moved_from = (self.sfen, self.last_square)
                self.sfen, self.ply, self.move = event.sfen, event.ply, event
                self._set_clocks(event.clocks)
                for side in self.sides:
                    if side.ply == event.ply:  # an opponent in this process may receive the move first
                        side.sfen, side.before = self.sfen, self.last_square
            case events.LineMeasured(delay_ms):
                self.delay_ms = delay_ms
            case events.GameEnded(outcome):
                self.outcome, self._running = outcome, False
            case _:
                self._think(event, self.my_colour)

    def observe_opponent(self, event: events.GameEvent) -> None:
        """The opponent's events, of which only its searches are new."""
        self._think(event, self.my_colour ^ 1)

    def _think(self, event: events.GameEvent, colour: int) -> None:
        side = self.sides[colour]
        match event:
            case events.ThinkingBegan(ply=ply):
                side.ply, side.sfen, side.before = ply, self.sfen, self.last_square
                side.progress = side.decision = None
            case Progress():
                side.progress = event
            case Decision():
                side.decision = event

    def _set_clocks(self, clocks: events.Clocks) -> None:
        self._clocks, self._clocks_at, self._running = clocks, self.now(), True
