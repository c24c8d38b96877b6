"""Margins and limits of a clock."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClockSettings:
    """Margins and limits of a clock. Times in milliseconds."""

    network_margin_ms: int = 300
    """Kept back for the way of the opponent's move to us and of ours to the server, and for a busy machine: at the
    start of a game, and always at the least. More is kept back once the line turns out to be slower (`Delays`)."""
    most_reserve_ms: int = 1200
    """The hard limit keeps back a share of the time at stake as well, up to this; or what the line did at its worst. So
    a line that is bad from the first turn on is survived where ten seconds are at stake (YaneuraOu's ``NetworkDelay2``
    is 1120)."""
    reserve_share: float = 0.1
    """Share of the time at stake that the hard limit keeps back, up to ``most_reserve_ms``."""
    most_kept: float = 1.0
    """The hard limit keeps back no more than this share of the time at stake, margin and all, whatever the line did. At
    1 the margin is kept back even where that leaves no time: the operator has named it for such a control."""
    slow_mover: int = 100
    """Percent of the share of the main time that the plan gives a move."""
    untouched_ms: int = 2500
    """So much of the main time (but no more than a sixth of all) is not planned with: it is there for the move that
    a busy machine or a slow line holds up."""
    least_ms: int = 20
    """The shortest search, whatever the clock says."""
    unlimited_ms: int = 10_000
    """The time for a move of a game without time limit."""
