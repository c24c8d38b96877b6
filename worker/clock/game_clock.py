"""The clocks of both sides as the server computes them, and the time budget of the next move."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from worker.clock.delays import Delays
from worker.clock.outlook import Outlook
from worker.clock.plan import Holding, moves_to_limit, share
from worker.clock.timecontrol import ClockSettings, TimeControl

_MOST_KNOWN = 0.75
"""The largest share of a move's cost that is saved because of earlier results."""
MOST_LATE_MS = 1000
"""A searcher that is later than this counts as not answering: no margin covers that."""
_LEARNING = 0.1
"""Weight of a move in the running mean of the stretch factors."""
_TYPICAL = (0.7, 1.5)
"""The mean is kept within these limits."""
_FINE_MS = 100
"""Units up to this length are not aimed at one by one."""


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """Time for one move, in milliseconds since the request."""

    soft_ms: int
    """The time to aim at."""
    hard_ms: int
    """The latest time. Never before ``soft_ms``."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """The parts of the running turn's budget, in milliseconds of the turn."""

    target_ms: float
    """Target for the charged time, without reasons for more or less."""
    lost_ms: float
    """The part of the target that is lost for later moves if it is not used."""
    latest_ms: float
    """The latest time at which our line must leave."""
    hard_ms: float
    holding: Holding
    """Main time held in reserve."""
    free_ms: float
    """Main time free to spend now; inf if later moves cost nothing."""
    margin_ms: float
    """Time between the aim and the next unit."""
    gone_ms: float
    """Time of the turn that had passed when the budget was requested."""


class GameClock:
    """Both sides' remaining times, and the delays of the connection so far."""

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
            delays: the known delays of the connection, updated from now on; None: nothing is known.
            typical_stretch: the mean stretch factor of earlier moves.
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
        """The charge that the last budget of this turn aimed at."""
        self._soft_at_ms = 0.0
        """The soft time given to the searcher or, if that had already passed, the time when it was given."""
        self._sent_ms: float | None = None
        """When our line of this turn left."""
        self._owed_ms = [0.0, 0.0]
        """The aimed time minus the charged time, by colour, up to one unit: fractions of a unit add up over the
        moves."""
        self._stretch: float | None = None
        """The factor by which this turn's target was stretched, if it was reconsidered."""
        self._typical_stretch = typical_stretch
        """Running mean of the stretch factors over our turns. Without it we would not keep to the plan if most moves
        are easier than planned, as with a slow opponent and long pondering."""
        self._delay_ms = [control.delay_ms for control in controls]
        """Time of each turn that is not charged, by colour, as far as the server has kept to it."""

    def charge_before_start(self, colour: int, consumed_ms: int) -> None:
        """Count a move that was made before this game was joined (a position block with moves).

        Some servers charge those moves and some do not, so an increment may not raise the time above its initial value.
        """
        control = self.controls[colour]
        left = control.after(self.remaining_ms[colour], consumed_ms)
        self.remaining_ms[colour] = min(left, control.total_ms)

    def sent(self, now_ms: float) -> None:
        """Note that the line that ends this turn has left; later lines do not count."""
        if self._sent_ms is None:
            self._sent_ms = now_ms

    def moved(self, consumed_ms: int, now_ms: float) -> None:
        """Note that the side to move has moved and was charged ``consumed_ms``; the other side's time runs from
        ``now_ms``."""
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
        """The mean stretch of our moves, including the current one."""
        if self._stretch is None:
            return self._typical_stretch
        return self._typical_stretch + _LEARNING * (self._stretch - self._typical_stretch)

    def left_ms(self, colour: int, now_ms: float) -> int:
        """Main time left, for a viewer: it runs down during the side's turn, and is 0 in byoyomi."""
        control = self.controls[colour]
        left = self.remaining_ms[colour]
        if colour == self.turn:
            left = max(0, min(left, left + control.increment_ms - int(now_ms - self.turn_began_ms)))
        return left

    def latest_ms(self) -> float:
        """The last moment of the turn at which a line of the side to move may leave; below 0 if it is too late."""
        control = self.controls[self.turn]
        if control.unlimited:
            # If all times are 0, the tournament server sets no limit, but another server may be stricter. A move within
            # the first unit is charged nothing, so a small `unlimited_ms` is always safe if the caller wants speed.
            return float(self.settings.unlimited_ms)
        falls = control.flag_elapsed_ms(self.remaining_ms[self.turn])
        if not control.byoyomi_ms + control.increment_ms and falls <= control.unit_ms + 1:
            # The last unit. It is enough for any number of moves as long as no delay exceeds it, and once lost it never
            # returns: a risk gains nothing.
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
            now_ms: the time now; the time since the turn began is deducted.
            ply: moves made so far in the game.
            max_moves: the ply at which the game is drawn, if there is a limit.
            known_ms: time for which this position was searched before the turn began.
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
        """The new soft time of this turn, counted from the same moment as its budget, with the search's results so far.

        Args:
            outlook: the state of the search.
            now_ms: the time now: a soft time that has already passed when it is given does not make the searcher late.
                None: early enough for any soft time.

        Raises:
            ValueError: no budget was requested in this turn.
        """
        plan = self._running_plan()
        stretch = outlook.stretch
        # Only as far as the move can be stretched: time that it never got teaches nothing.
        self._stretch = min(stretch, max(1.0, plan.hard_ms / plan.target_ms)) if plan.target_ms > 0 else 1.0
        target = plan.target_ms * stretch
        if stretch < 1.0:
            target = plan.lost_ms + (plan.target_ms - plan.lost_ms) * stretch
        target = min(target, max(plan.target_ms, plan.hard_ms))
        soft = min(self._soft(target, plan), plan.hard_ms)
        self._aim(target, soft, now_ms)
        return max(self.settings.least_ms, int(soft - plan.gone_ms))

    def soonest_ms(self) -> int:
        """The time before which moving saves nothing, counted from the same moment as this turn's budget.

        Raises:
            ValueError: no budget was requested in this turn.
        """
        plan = self._running_plan()
        return max(0, int(min(self._soft(plan.lost_ms, plan), plan.hard_ms) - plan.gone_ms))

    def free_until_ms(self, elapsed_ms: float) -> int:
        """The time up to which the move costs no more than at ``elapsed_ms``; both count from the same moment as this
        turn's budget.

        Raises:
            ValueError: no budget was requested in this turn.
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
        """The moment of the turn to aim at, if the move is to be charged ``target_ms``."""
        # Owed time is paid back, but not at the expense of later moves.
        wanted = min(target_ms + self._owed_ms[self.turn], max(target_ms, plan.free_ms))
        return min(self._aligned(self.controls[self.turn], wanted, plan), plan.latest_ms)

    def _target(
        self, control: TimeControl, holding: Holding, ply: int, max_moves: int | None, score: int | None
    ) -> float:
        """The time that this move should be charged: the unavoidable cost, a share of the rest, and all time that is
        added each move."""
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
        """The part of the target that is lost if this move is made sooner: byoyomi, the unavoidable cost and, on the
        last move, all of it.

        This includes byoyomi even while there is main time, although the server deducts it from that: saving it mostly
        puts off the moves that have only byoyomi. With much main time a part comes back (docs/notebook/clock.md).
        """
        if control.unlimited or moves_to_limit(ply, max_moves) == 1:
            return target_ms
        return min(control.byoyomi_ms + (holding.cost_ms or 0.0), target_ms)

    def _margin(self, holding: Holding) -> float:
        """The margin to keep before the next unit.

        If hardly more main time is left than is held in reserve, and lost time never comes back, a later move would
        need any unit charged in excess. Then the margin is as large as before the flag.
        """
        usual = self.delays.usual_ms
        if holding.cost_ms is None or self.remaining_ms[self.turn] - holding.wanted_ms >= holding.kept_ms:
            return usual
        return max(
            usual + min(self.settings.most_reserve_ms, self.controls[self.turn].unit_ms / 2), self.delays.worst_ms
        )

    def _aligned(self, control: TimeControl, target_ms: float, plan: _Plan) -> float:
        """All the time that is charged as the number of units nearest to ``target_ms``.

        If the flag is so near that a delay would matter, it is fewer units, provided that saved time can be used later
        (in byoyomi it cannot).
        """
        margin, unit, latest = plan.margin_ms, control.unit_ms, plan.latest_ms
        comes_back = not control.byoyomi_ms and not control.unlimited
        comfortable = latest - min(plan.holding.all_ms, latest / 3) if comes_back else latest
        if unit <= _FINE_MS:  # no unit to align to, and the transit of the lines is charged too
            charged_as_well = self.delays.middle_ms
            return max(0.0, min(target_ms - charged_as_well, comfortable) - (margin - self.delays.usual_ms))
        # At least one unit is always charged: using less than all of it would be a waste.
        units = max(1, math.floor(max(target_ms, control.least_ms) / unit + 0.5) + (not control.roundup))
        if comes_back:
            units = min(units, max(1, math.floor((comfortable + margin) / unit)))
        return max(0.0, units * unit - margin)

    def _learn(self, control: TimeControl, consumed_ms: int, sent_ms: float, now_ms: float) -> None:
        """Learn from our line and its echo about the connection and the server's arithmetic."""
        thought = sent_ms - self.turn_began_ms
        beyond = now_ms - sent_ms  # up and down, as the charge contains down and up
        delay = self._delay_ms[self.turn]
        if delay and consumed_ms > control.charge(thought + beyond - delay):
            # Not every server keeps to its announced delay. Relying on it again would cost main time.
            delay = self._delay_ms[self.turn] = 0
        if consumed_ms > control.least_ms:
            charged_at_least = consumed_ms - (control.unit_ms if control.roundup else 0)
            beyond = max(beyond, charged_at_least + delay - thought)
        after_soft = after_hard = 0.0
        if self._plan is not None:
            after_soft = min(max(0.0, sent_ms - self._soft_at_ms), MOST_LATE_MS)
            after_hard = max(0.0, thought - max(self._plan.hard_ms, self._plan.gone_ms + self.settings.least_ms))
        self.delays.add(beyond, after_soft, after_hard)
