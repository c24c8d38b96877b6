"""Time for one move of a single engine under USI. The master of a cluster has its own clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_MOVES_TO_GO: Final = 36
"""Own moves that the remaining time is spread over."""
_HARD_FACTOR: Final = 4
_LEAST_MS: Final = 10


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """The words of ``go``: main time left, increment and byoyomi of the side to move, in ms."""

    main_ms: int = 0
    increment_ms: int = 0
    byoyomi_ms: int = 0


def budget(left: TimeLeft, delay_ms: int) -> tuple[int, int]:
    """(soft, hard) time in ms for this move.

    Args:
        delay_ms: what the GUI and the line may take from us; kept free of the last reserve.

    The hard limit never takes the flag: main time, the increment that the server adds before the move and byoyomi,
    less ``delay_ms``.
    """
    reserve = left.main_ms + left.increment_ms + left.byoyomi_ms - delay_ms
    soft = left.main_ms // _MOVES_TO_GO + left.increment_ms + left.byoyomi_ms - delay_ms
    hard = min(reserve, soft * _HARD_FACTOR, left.main_ms // 3 + left.increment_ms + left.byoyomi_ms - delay_ms)
    hard = max(_LEAST_MS, hard)
    return max(_LEAST_MS, min(soft, hard)), hard
