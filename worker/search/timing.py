"""Time for one move of a single engine under USI. The master of a cluster has its own clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_MOVES_TO_GO: Final = 36
"""Own moves that the main time is spread over."""
_HARD_FACTOR: Final = 4
_FALL_ITERATIONS: Final = 4
_FALL_SEARCH: Final = 0.008
_FALL_ITERATION: Final = 0.006
"""More time to a centipawn that the score fell, since the last search and since so many iterations ago."""
_FALL_RANGE: Final = (0.7, 1.6)
_STABLE_FROM: Final = 1.15
_STABLE_STEP: Final = 0.05
_STABLE_LEAST: Final = 0.7
"""By iterations for which the best move has stood."""
_CHANGE_WEIGHT: Final = 0.4
"""More time to a change of the best move; one an iteration back counts half."""
_CLEAR_DEPTH: Final = 10
_CLEAR_EFFORT: Final = 0.92
_CLEAR_FACTOR: Final = 0.67
_LEAST_MS: Final = 10
_SECOND_MS: Final = 1000


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """The words of ``go``: main time left, increment and byoyomi of the side to move, in ms."""

    main_ms: int = 0
    increment_ms: int = 0
    byoyomi_ms: int = 0


@dataclass(frozen=True, slots=True)
class TimeOptions:
    """The options by which a user adapts the time, by the field's meaning."""

    delay_ms: int = 120
    """``NetworkDelay``: what GUI and line take of a move; kept free of each second that is used up."""
    last_delay_ms: int = 1120
    """``NetworkDelay2``: kept free of the last of the time, so that the flag never falls."""
    least_ms: int = 2000
    """``MinimumThinkingTime``: not less is spent where the clock allows it."""
    slow_mover: int = 100
    """``SlowMover``: percent of the usual share of the main time."""
    full_seconds: bool = True
    """``RoundUpToFullSecond``: the clock counts whole seconds, so each one that is begun is used."""


def budget(left: TimeLeft, options: TimeOptions) -> tuple[int, int]:
    """(soft, hard) time in ms for this move; neither takes the flag where ``last_delay_ms`` covers the delays.

    In the last of the time, where less than twice that delay is left, half of what there is stays free instead.
    """
    everything = left.main_ms + left.increment_ms + left.byoyomi_ms
    margin = min(options.last_delay_ms, everything // 2)
    latest = max(_LEAST_MS, everything - margin)
    share = left.main_ms * options.slow_mover // (100 * _MOVES_TO_GO)
    fresh = left.increment_ms + left.byoyomi_ms  # what comes anew with each move
    soft = share + fresh
    hard = min(latest, soft * _HARD_FACTOR, left.main_ms // 3 + fresh)
    soft = max(soft, options.least_ms)
    if options.full_seconds:
        soft = _to_full_second(soft, options.delay_ms)
        hard = _to_full_second(hard, options.delay_ms)
    hard = max(_LEAST_MS, min(max(hard, soft), latest))
    return min(soft, hard), hard


@dataclass(frozen=True, slots=True)
class Iteration:
    """The result of an iteration.

    ``effort``: the share (0 .. 1) of the search's nodes so far that the best move took; ``changes``: how often another
    move took over in it.
    """

    depth: int
    move: int
    score: int
    effort: float
    changes: int


class Outlook:
    """The share of the soft time that a search deserves, by the course of its iterations.

    More while the score falls or the best move changes, less once one move has stood for long or took nearly all the
    work (Stockfish's and YaneuraOu's factors in kind).

    Args:
        before: the score that the last search of this game promised, from the side now to move; None: unknown.
    """

    def __init__(self, before: int | None = None) -> None:
        self._before = before
        self._scores: list[int] = []
        self._move = 0
        self._stable = 0
        self._changes = 0.0

    def note(self, iteration: Iteration) -> float:
        """Take in a finished iteration; gives the factor to the soft time."""
        earlier = self._scores[-_FALL_ITERATIONS] if len(self._scores) >= _FALL_ITERATIONS else self._before
        fall = 0.0
        for score, weight in ((self._before, _FALL_SEARCH), (earlier, _FALL_ITERATION)):
            if score is not None:
                fall += weight * (score - iteration.score)
        self._scores.append(iteration.score)
        self._stable = self._stable + 1 if iteration.move == self._move else 0
        self._move = iteration.move
        self._changes = self._changes / 2 + iteration.changes
        falling = min(max(1 + fall, _FALL_RANGE[0]), _FALL_RANGE[1])
        stable = max(_STABLE_FROM - _STABLE_STEP * self._stable, _STABLE_LEAST)
        unsure = 1 + _CHANGE_WEIGHT * self._changes
        clear = _CLEAR_FACTOR if iteration.depth >= _CLEAR_DEPTH and iteration.effort >= _CLEAR_EFFORT else 1.0
        return falling * stable * unsure * clear


def _to_full_second(time_ms: int, delay_ms: int) -> int:
    """The end of the second in which ``time_ms`` falls, less the delay."""
    seconds = max(1, -(-(time_ms + delay_ms) // _SECOND_MS))
    return max(_LEAST_MS, seconds * _SECOND_MS - delay_ms)
