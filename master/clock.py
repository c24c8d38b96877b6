"""Both clocks of a game, and how long to think: pure, with the time as an argument (milliseconds of any fixed origin).

The server charges whole units (seconds) from the moment when it echoed the opponent's move to the moment when our line
arrives, network included. Hence:

1. A move that is to cost ``k`` seconds may as well take ``k + 1`` seconds less a margin: fractions are free.
2. The hard limit keeps that margin, and a reserve that grows with the time at stake, before the flag.
3. What was consumed is what the server's echo says, never what we measured.
4. Disagreement buys time: the target is divided by the share of the vote that the leading move has (Gikou).
5. What was found while pondering on the opponent's time is taken off the target, as far as that saves anything.

How to use one::

    clock = GameClock(summary.time, settings, turn=summary.to_move, now_ms=now)
    budget = clock.budget(now, ply, max_moves, known_ms)       # on our turn
    soft_ms = clock.reconsidered(progress.agreement)           # while we search
    clock.moved(consumed_ms, now)                              # at each echo of the server
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from master.csa.timecontrol import TimeControl

EXPECTED_MOVES: Final = 60
"""Own moves that a game is expected to last, at its start."""
FEWEST_MOVES: Final = 20
"""Own moves to reckon with however long the game has lasted."""
MOST_KNOWN: Final = 0.75
"""At most so much of what a move may cost is saved because something is known already."""
LEAST_AGREEMENT: Final = 0.1
"""Time is not stretched further than by this."""


@dataclass(frozen=True, slots=True)
class ClockSettings:
    """How careful to be. All in milliseconds."""

    network_margin_ms: int = 300
    """Kept back for the way of the opponent's move to us and of ours to the server, and for a busy machine."""
    most_reserve_ms: int = 500
    """The hard limit keeps back a tenth of the time at stake as well, up to this."""
    untouched_ms: int = 2500
    """So much of the main time (but no more than a quarter of all) is not planned with: it is there for the move that
    a busy machine or a slow line holds up."""
    least_ms: int = 20
    """No search is shorter, whatever the clock says."""
    unlimited_ms: int = 10_000
    """The time for a move of a game without time limit."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Time for one move, in milliseconds since it was asked for."""

    soft_ms: int
    """Aim at this."""
    hard_ms: int
    """Be done by then. Never before ``soft_ms``."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """How the running turn's budget came about, in milliseconds of the turn."""

    target_ms: float
    """To be charged, where all agree."""
    latest_ms: float
    """When a line must leave."""
    hard_ms: float
    gone_ms: float
    """What of the turn was over when the budget was asked for."""


class GameClock:
    """Both sides' remaining times as the server reckons them."""

    def __init__(
        self,
        controls: tuple[TimeControl, TimeControl],
        settings: ClockSettings | None = None,
        *,
        turn: int = 0,
        now_ms: float = 0.0,
    ) -> None:
        self.controls = controls
        self.settings = settings or ClockSettings()
        self.remaining_ms = [control.total_ms for control in controls]
        """Main time left at the start of the turn, by colour."""
        self.turn = turn
        self.turn_began_ms = now_ms
        self._plan: _Plan | None = None
        self._aim_ms: float | None = None
        """What the last budget of this turn meant to be charged."""
        self._owed_ms = [0.0, 0.0]
        """Aimed at less charged, by colour, up to one unit: fractions of a unit that add up over the moves."""

    def charge_before_start(self, colour: int, consumed_ms: int) -> None:
        """Count a move that was made before this game was joined (a position block with moves).

        Servers differ in whether they charge those moves, so an increment may not raise the time above its start.
        """
        control = self.controls[colour]
        left = control.after(self.remaining_ms[colour], consumed_ms)
        self.remaining_ms[colour] = min(left, control.total_ms)

    def moved(self, consumed_ms: int, now_ms: float) -> None:
        """The side to move has moved and was charged ``consumed_ms``; the other side's time runs from ``now_ms``."""
        control = self.controls[self.turn]
        self.remaining_ms[self.turn] = control.after(self.remaining_ms[self.turn], consumed_ms)
        if self._aim_ms is not None:
            owed = self._owed_ms[self.turn] + self._aim_ms - consumed_ms
            self._owed_ms[self.turn] = min(max(owed, -control.unit_ms), control.unit_ms)
            self._aim_ms = None
        self._plan = None
        self.turn ^= 1
        self.turn_began_ms = now_ms

    def left_ms(self, colour: int, now_ms: float) -> int:
        """Main time left, for a viewer: runs down during the side's turn, and stands at 0 in byoyomi."""
        control = self.controls[colour]
        left = self.remaining_ms[colour]
        if colour == self.turn:
            left = max(0, min(left, left + control.increment_ms - int(now_ms - self.turn_began_ms)))
        return left

    def budget(self, now_ms: float, ply: int = 0, max_moves: int | None = None, known_ms: float = 0.0) -> Budget:
        """How long the side to move may think, counted from ``now_ms``.

        Args:
            now_ms: the time now; what the turn has lasted already is taken off.
            ply: moves made so far in the game.
            max_moves: the ply at which the game is drawn, where there is one.
            known_ms: so much search of this position was done before the turn began.
        """
        control = self.controls[self.turn]
        latest = self._hard_limit(control, self.remaining_ms[self.turn])
        target = self._target(control, ply, max_moves)
        if not control.unlimited:
            saved = target - control.byoyomi_ms  # what is left of byoyomi is lost: it is no saving
            target -= min(known_ms, saved * MOST_KNOWN)
        soft = self._soft(target, latest)
        hard = min(latest, max(3.0 * soft, soft + control.byoyomi_ms))
        gone = max(0.0, now_ms - self.turn_began_ms)
        self._plan, self._aim_ms = _Plan(target, latest, hard, gone), target
        least = self.settings.least_ms
        return Budget(max(least, int(soft - gone)), max(least, int(hard - gone)))

    def reconsidered(self, agreement: float) -> int:
        """The soft time of this turn's budget again, now that it is known how far those who search agree.

        Args:
            agreement: the share of the vote that the leading move has, 0 to 1.

        Raises:
            ValueError: no budget was asked for in this turn.
        """
        plan = self._plan
        if plan is None:
            raise ValueError("no budget of this turn to reconsider")
        self._aim_ms = min(plan.target_ms / max(agreement, LEAST_AGREEMENT), max(plan.target_ms, plan.hard_ms))
        soft = min(self._soft(self._aim_ms, plan.latest_ms), plan.hard_ms)
        return max(self.settings.least_ms, int(soft - plan.gone_ms))

    def _soft(self, target_ms: float, latest_ms: float) -> float:
        """The moment of the turn to aim at, where the move is to be charged ``target_ms``."""
        control = self.controls[self.turn]
        return min(self._aligned(control, target_ms + self._owed_ms[self.turn], latest_ms), latest_ms)

    def _hard_limit(self, control: TimeControl, remaining_ms: int) -> float:
        """The last moment of the turn at which a line may leave."""
        if control.unlimited:
            # Nothing but zeros is no limit for the tournament server, yet a stricter one is conceivable: a move in the
            # first unit is charged nothing, so where the caller wants speed a small `unlimited_ms` is always safe.
            return float(self.settings.unlimited_ms)
        falls = control.flag_elapsed_ms(remaining_ms)
        return falls - self.settings.network_margin_ms - min(self.settings.most_reserve_ms, falls / 10)

    def _target(self, control: TimeControl, ply: int, max_moves: int | None) -> float:
        """What this move should be charged: a share of the main time, and all that comes anew with each move."""
        if control.unlimited:
            return float(self.settings.unlimited_ms)
        moves_to_go = max(FEWEST_MOVES, EXPECTED_MOVES - ply // 4)
        if max_moves is not None:
            moves_to_go = max(1, min(moves_to_go, math.ceil((max_moves - ply) / 2)))
        untouched = min(self.settings.untouched_ms, control.total_ms / 4)
        share = max(0.0, self.remaining_ms[self.turn] - untouched) * _weight(ply) / moves_to_go
        return share + control.byoyomi_ms + control.increment_ms

    def _aligned(self, control: TimeControl, target_ms: float, hard: float) -> float:
        """The whole of the time that is charged as the units nearest to ``target_ms``.

        So near to the flag that a delay would matter it is fewer units, where what is saved comes back later on (in
        byoyomi it does not).
        """
        margin, unit = self.settings.network_margin_ms, control.unit_ms
        comes_back = not control.byoyomi_ms and not control.unlimited
        comfortable = hard - min(self.settings.untouched_ms, hard / 3) if comes_back else hard
        if unit <= margin:
            return min(target_ms, comfortable)  # with units so fine there is nothing to align to
        # A unit at least is charged whatever happens: less of it than all would be given away.
        units = max(1, math.floor(max(target_ms, control.least_ms) / unit + 0.5) + (not control.roundup))
        if comes_back:
            units = min(units, max(1, math.floor((comfortable + margin) / unit)))
        return units * unit - margin


def _weight(ply: int) -> float:
    """How much of an even share a move gets: less in the opening, most in the middle game."""
    if ply < 16:
        return 0.6
    if ply < 40:
        return 0.6 + (ply - 16) * 0.8 / 24
    if ply < 100:
        return 1.4
    return 1.0
