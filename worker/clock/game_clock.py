"""The clocks of both sides as the server reckons them, and the budget of the move to be made."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from worker.clock.delays import Delays
from worker.clock.outlook import Outlook
from worker.clock.plan import Holding, moves_to_limit, share
from worker.clock.timecontrol import ClockSettings, TimeControl

_MOST_KNOWN = 0.75
"""The largest share of a move's cost that is saved because something is known already."""
MOST_LATE_MS = 1000
"""A searcher that is later than this has not answered: no margin makes up for that."""
_LEARNING = 0.1
"""Weight of a move in the mean of the stretches."""
_TYPICAL = (0.7, 1.5)
"""The mean counts no further than this."""
_FINE_MS = 100
"""Units no longer than this are not aimed at one by one."""


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """Time for one move, in milliseconds since it was asked for."""

    soft_ms: int
    """Aim at this."""
    hard_ms: int
    """Be done by then. Never before ``soft_ms``."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """The parts of the running turn's budget, in milliseconds of the turn."""

    target_ms: float
    """Time to be charged, where nothing speaks for more or less."""
    lost_ms: float
    """The part of the target that no later move gets back if it is not used."""
    latest_ms: float
    """The latest time at which our line must leave."""
    hard_ms: float
    holding: Holding
    """Main time held in reserve."""
    free_ms: float
    """Main time free to spend now; inf where later moves cost nothing."""
    margin_ms: float
    """Time from the moment that is aimed at to the next unit."""
    gone_ms: float
    """Time of the turn that was over when the budget was asked for."""


class GameClock:
    """Both sides' remaining times, and what the line has cost so far."""

    def __init__(
        self,
        controls: tuple[TimeControl, TimeControl],
        settings: ClockSettings | None = None,
        *,
        turn: int = 0,
        now_ms: float = 0.0,
        delays: Delays | None = None,
        typical_stretch: float = 1.0,
    ) -> None:
        """
        Args:
            delays: what is known of the line already, and learned from here on; None: nothing yet.
            typical_stretch: what moves were found to need before.
        """
        self.controls = controls
        self.settings = settings or ClockSettings()
        self.remaining_ms = [control.total_ms for control in controls]
        """Main time left at the start of the turn, by colour."""
        self.turn = turn
        self.turn_began_ms = now_ms
        self.delays = delays or Delays(self.settings.network_margin_ms)
        self._plan: _Plan | None = None
        self._aim_ms: float | None = None
        """Time that the last budget of this turn meant to be charged."""
        self._soft_at_ms = 0.0
        """The moment that the searcher was told to aim at; where it was told too late for that, when it was told."""
        self._sent_ms: float | None = None
        """The time at which our line of this turn left."""
        self._owed_ms = [0.0, 0.0]
        """Aimed at less charged, by colour, up to one unit: fractions of a unit that add up over the moves."""
        self._stretch: float | None = None
        """Stretch of this turn's target, where it was reconsidered."""
        self._typical_stretch = typical_stretch
        """Running mean over our turns: what moves usually turn out to need. Without it the plan would not be kept to
        where most moves are easier than it thinks, as they are with a slow opponent and long pondering."""
        self._delay_ms = [control.delay_ms for control in controls]
        """Time of each turn that is not charged, by colour, as far as the server turned out to keep to that."""

    def charge_before_start(self, colour: int, consumed_ms: int) -> None:
        """Count a move that was made before this game was joined (a position block with moves).

        Servers differ in whether they charge those moves, so an increment may not raise the time above its start.
        """
        control = self.controls[colour]
        left = control.after(self.remaining_ms[colour], consumed_ms)
        self.remaining_ms[colour] = min(left, control.total_ms)

    def sent(self, now_ms: float) -> None:
        """The line that ends this turn has left; what leaves behind it does not count."""
        if self._sent_ms is None:
            self._sent_ms = now_ms

    def moved(self, consumed_ms: int, now_ms: float) -> None:
        """The side to move has moved and was charged ``consumed_ms``; the other side's time runs from ``now_ms``."""
        control = self.controls[self.turn]
        if self._sent_ms is not None:
            self._learn(control, consumed_ms, self._sent_ms, now_ms)
        self.remaining_ms[self.turn] = control.after(self.remaining_ms[self.turn], consumed_ms)
        if self._aim_ms is not None:
            owed = self._owed_ms[self.turn] + self._aim_ms - consumed_ms
            self._owed_ms[self.turn] = min(max(owed, -control.unit_ms), control.unit_ms)
        self._typical_stretch = self.typical_stretch
        self._plan = self._aim_ms = self._sent_ms = self._stretch = None
        self.turn ^= 1
        self.turn_began_ms = now_ms

    @property
    def typical_stretch(self) -> float:
        """The mean stretch of our moves, the one that is being made included."""
        if self._stretch is None:
            return self._typical_stretch
        return self._typical_stretch + _LEARNING * (self._stretch - self._typical_stretch)

    def left_ms(self, colour: int, now_ms: float) -> int:
        """Main time left, for a viewer: runs down during the side's turn, and stands at 0 in byoyomi."""
        control = self.controls[colour]
        left = self.remaining_ms[colour]
        if colour == self.turn:
            left = max(0, min(left, left + control.increment_ms - int(now_ms - self.turn_began_ms)))
        return left

    def latest_ms(self) -> float:
        """The last moment of the turn at which a line of the side to move may leave; below 0 where it is too late."""
        control = self.controls[self.turn]
        if control.unlimited:
            # Nothing but zeros is no limit for the tournament server, yet a stricter one is conceivable: a move in the
            # first unit is charged nothing, so where the caller wants speed a small `unlimited_ms` is always safe.
            return float(self.settings.unlimited_ms)
        falls = control.flag_elapsed_ms(self.remaining_ms[self.turn])
        if not control.byoyomi_ms + control.increment_ms and falls <= control.unit_ms + 1:
            # The last unit. It pays for any number of moves as long as no delay is longer than it, and never again for
            # one: there is nothing to be had for a risk.
            return 0.0
        careful = self.delays.usual_ms + min(self.settings.most_reserve_ms, falls * self.settings.reserve_share)
        kept = max(careful, min(self.delays.worst_ms, falls / 2))
        return falls - min(kept, falls * self.settings.most_kept)

    def budget(
        self,
        now_ms: float,
        ply: int = 0,
        max_moves: int | None = None,
        known_ms: float = 0.0,
        score: int | None = None,
    ) -> TimeBudget:
        """The thinking time of the side to move, counted from ``now_ms``.

        Args:
            now_ms: the time now; what the turn has lasted already is taken off.
            ply: moves made so far in the game.
            max_moves: the ply at which the game is drawn, where there is one.
            known_ms: so much search of this position was done before the turn began.
            score: of our last move, for us, in centipawns (or a mate).
        """
        control, remaining = self.controls[self.turn], self.remaining_ms[self.turn]
        latest = self.latest_ms()
        holding = Holding.of(control, self.delays, self.settings, ply, max_moves)
        target = self._target(control, holding, ply, max_moves, score)
        lost = self._lost_if_saved(control, holding, target, ply, max_moves)
        target -= min(known_ms, (target - lost) * _MOST_KNOWN)
        gone = max(0.0, now_ms - self.turn_began_ms)
        free = math.inf if holding.cost_ms is None else remaining - holding.due_ms
        margin = self._margin(holding)
        plan = _Plan(target, lost, latest, latest, holding, free, margin, gone)
        soft = self._soft(target, plan)
        hard = min(latest, max(3.0 * soft, soft + control.byoyomi_ms))
        if not control.unlimited and (holding.cost_ms is not None or not control.byoyomi_ms):
            most = remaining + control.increment_ms - holding.due_ms - holding.kept_ms / 2
            hard = min(hard, max(soft, most - self.delays.usual_ms))
        self._plan = replace(plan, hard_ms=hard)
        self._aim(target, soft, now_ms)
        least = self.settings.least_ms
        return TimeBudget(max(least, int(soft - gone)), max(least, int(hard - gone)))

    def reconsidered(self, outlook: Outlook, now_ms: float | None = None) -> int:
        """The soft time of this turn's budget again, counted as that was, now that more is known of the position.

        Args:
            outlook: how the search stands.
            now_ms: the time now: a searcher that is told to aim at a moment that is over is not late by that. None: it
                is early enough for anything.

        Raises:
            ValueError: no budget was asked for in this turn.
        """
        plan = self._running_plan()
        stretch = outlook.stretch
        # As far as the move can be stretched: what it was never given teaches nothing.
        self._stretch = min(stretch, max(1.0, plan.hard_ms / plan.target_ms)) if plan.target_ms > 0 else 1.0
        target = plan.target_ms * stretch
        if stretch < 1.0:
            target = plan.lost_ms + (plan.target_ms - plan.lost_ms) * stretch
        target = min(target, max(plan.target_ms, plan.hard_ms))
        soft = min(self._soft(target, plan), plan.hard_ms)
        self._aim(target, soft, now_ms)
        return max(self.settings.least_ms, int(soft - plan.gone_ms))

    def soonest_ms(self) -> int:
        """The time of this turn's move before which to make it saves nothing, counted as its budget was.

        Raises:
            ValueError: no budget was asked for in this turn.
        """
        plan = self._running_plan()
        return max(0, int(min(self._soft(plan.lost_ms, plan), plan.hard_ms) - plan.gone_ms))

    def free_until_ms(self, elapsed_ms: float) -> int:
        """The time of this turn's move up to which it costs no more than at ``elapsed_ms``; both counted as its budget
        was.

        Raises:
            ValueError: no budget was asked for in this turn.
        """
        plan, unit = self._running_plan(), self.controls[self.turn].unit_ms
        if unit <= _FINE_MS:
            return int(elapsed_ms)
        units = math.floor((elapsed_ms + plan.gone_ms + plan.margin_ms) / unit) + 1
        return max(int(elapsed_ms), int(min(units * unit - plan.margin_ms, plan.hard_ms) - plan.gone_ms))

    def _running_plan(self) -> _Plan:
        if self._plan is None:
            raise ValueError("no budget of this turn to reconsider")
        return self._plan

    def _aim(self, target_ms: float, soft_ms: float, now_ms: float | None) -> None:
        self._aim_ms = target_ms
        soft_at = self.turn_began_ms + soft_ms
        self._soft_at_ms = soft_at if now_ms is None else max(soft_at, now_ms)

    def _soft(self, target_ms: float, plan: _Plan) -> float:
        """The moment of the turn to aim at, where the move is to be charged ``target_ms``."""
        # What is owed is paid, but not by the moves to come.
        wanted = min(target_ms + self._owed_ms[self.turn], max(target_ms, plan.free_ms))
        return min(self._aligned(self.controls[self.turn], wanted, plan), plan.latest_ms)

    def _target(
        self, control: TimeControl, holding: Holding, ply: int, max_moves: int | None, score: int | None
    ) -> float:
        """The time that this move should be charged: the cost of any move, a share of the rest, and all that comes
        anew."""
        if control.unlimited:
            return float(self.settings.unlimited_ms)
        cost = holding.cost_ms or 0.0
        part = min(1.0, share(ply, max_moves, score) * self.settings.slow_mover / 100)
        planned = max(0.0, self.remaining_ms[self.turn] - holding.all_ms - cost) * part
        usual = min(max(self._typical_stretch, _TYPICAL[0]), _TYPICAL[1])
        comes_back = control.increment_ms + self._delay_ms[self.turn]
        return (planned + comes_back) / usual + control.byoyomi_ms + cost

    def _lost_if_saved(
        self, control: TimeControl, holding: Holding, target_ms: float, ply: int, max_moves: int | None
    ) -> float:
        """The part of the target that is lost where this move is made sooner: byoyomi, the cost of any move, and all of
        it on the last move.

        Byoyomi also while there is main time, though the server takes it from that: what is saved of it mostly puts
        off the moves that have byoyomi alone. With much main time a part comes back (docs/notebook/clock.md).
        """
        if control.unlimited or moves_to_limit(ply, max_moves) == 1:
            return target_ms
        return min(control.byoyomi_ms + (holding.cost_ms or 0.0), target_ms)

    def _margin(self, holding: Holding) -> float:
        """The margin to keep in front of the next unit.

        Where hardly more of the main time is left than what is held, and what is lost of that never comes back, a unit
        charged too much were one that a later move wants: there it is as much as in front of the flag.
        """
        usual = self.delays.usual_ms
        if holding.cost_ms is None or self.remaining_ms[self.turn] - holding.wanted_ms >= holding.kept_ms:
            return usual
        return max(
            usual + min(self.settings.most_reserve_ms, self.controls[self.turn].unit_ms / 2), self.delays.worst_ms
        )

    def _aligned(self, control: TimeControl, target_ms: float, plan: _Plan) -> float:
        """The whole of the time that is charged as the units nearest to ``target_ms``.

        So near to the flag that a delay would matter it is fewer units, where what is saved comes back later on (in
        byoyomi it does not).
        """
        margin, unit, latest = plan.margin_ms, control.unit_ms, plan.latest_ms
        comes_back = not control.byoyomi_ms and not control.unlimited
        comfortable = latest - min(plan.holding.all_ms, latest / 3) if comes_back else latest
        if unit <= _FINE_MS:  # there is nothing to align to, and the way of the lines is charged too
            charged_as_well = self.delays.middle_ms
            return max(0.0, min(target_ms - charged_as_well, comfortable) - (margin - self.delays.usual_ms))
        # A unit at least is charged whatever happens: less of it than all would be given away.
        units = max(1, math.floor(max(target_ms, control.least_ms) / unit + 0.5) + (not control.roundup))
        if comes_back:
            units = min(units, max(1, math.floor((comfortable + margin) / unit)))
        return max(0.0, units * unit - margin)

    def _learn(self, control: TimeControl, consumed_ms: int, sent_ms: float, now_ms: float) -> None:
        """Learn from our line and its echo about the connection, and about the server's arithmetic."""
        thought = sent_ms - self.turn_began_ms
        beyond = now_ms - sent_ms  # up and down, as what is charged is down and up
        delay = self._delay_ms[self.turn]
        if delay and consumed_ms > control.charge(thought + beyond - delay):
            # Not every server keeps to the delay that it announces. To count on it once more would cost main time.
            delay = self._delay_ms[self.turn] = 0
        if consumed_ms > control.least_ms:
            charged_at_least = consumed_ms - (control.unit_ms if control.roundup else 0)
            beyond = max(beyond, charged_at_least + delay - thought)
        after_soft = after_hard = 0.0
        if self._plan is not None:
            after_soft = min(max(0.0, sent_ms - self._soft_at_ms), MOST_LATE_MS)
            after_hard = max(0.0, thought - max(self._plan.hard_ms, self._plan.gone_ms + self.settings.least_ms))
        self.delays.add(beyond, after_soft, after_hard)
