"""Costs of a game in real time: time, CPU seconds by kind of process, and other work on the machine. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated, Final

import msgspec

KINDS: Final = ("nodes", "master", "fallback")
"""Kinds of a player's processes; the nursery counts as the master's."""
Cores = Annotated[tuple[Annotated[int, msgspec.Meta(ge=0)], ...], msgspec.Meta(min_length=1)]
"""Numbers of cores of the machine, one or more."""


@dataclass(slots=True)
class RealFigures:
    """Costs of one side in a game, or in many, in its own searches; forced moves are left out."""

    asked_ms: int = 0
    """Summed over its searches: the time that they were given."""
    used_ms: float = 0.0
    """Time from request to answer, as a GUI would see it."""
    late_ms: float = 0.0
    """The most by which one of them was later than asked."""
    nodes_s: float = 0.0
    """CPU seconds of its node processes while it searched; of a player without a fleet, of all of it."""
    master_s: float = 0.0
    fallback_s: float = 0.0
    idle_s: float = 0.0
    """CPU seconds of all its processes while the other side searched."""
    without_nodes: int = 0
    """Moves for which no node had an answer: the fallback's, or less."""
    starved: int = 0
    """Number of times that a node said that it does not get its core."""

    def add(self, other: RealFigures) -> None:
        for item in fields(self):
            mine, its = getattr(self, item.name), getattr(other, item.name)
            setattr(self, item.name, max(mine, its) if item.name == "late_ms" else mine + its)

    @property
    def cpu_s(self) -> dict[str, float]:
        """CPU seconds by kind of process in a second of its searches."""
        searched_s = max(1e-9, self.used_ms / 1000)
        return {kind: getattr(self, f"{kind}_s") / searched_s for kind in KINDS}


@dataclass(frozen=True, slots=True)
class RealGame:
    """Facts of a game in real time, besides those of any game."""

    cores: Cores
    """Those of the machine on which A's processes ran."""
    cores_b: Cores
    """Cores of B; those of A, except where a side ponders."""
    seconds: float
    load_start: float
    """The machine's load over the last minute when the game began."""
    load_end: float
    others: float
    """Cores' worth of work on the game's cores that was of neither side, on average."""
    voids: int
    """Number of times that the game was begun before and was void: a process died."""
    a: RealFigures = field(default_factory=RealFigures)
    b: RealFigures = field(default_factory=RealFigures)
