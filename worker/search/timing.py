"""Time for one move of a single engine under USI. The master of a cluster has its own clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_MOVES_TO_GO: Final = 36
"""Own moves that the main time is spread over."""
_HARD_FACTOR: Final = 4
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


def _to_full_second(time_ms: int, delay_ms: int) -> int:
    """The end of the second in which ``time_ms`` falls, less the delay."""
    seconds = max(1, -(-(time_ms + delay_ms) // _SECOND_MS))
    return max(_LEAST_MS, seconds * _SECOND_MS - delay_ms)
