"""The plan of faults for the player: bursts that overlap, from a seed. Pure."""

from __future__ import annotations

import enum
import random
from collections.abc import Sequence
from dataclasses import dataclass


class Kind(enum.StrEnum):
    """A fault."""

    KILL_NODE = "kill a node"
    KILL_NODES = "kill all nodes"
    KILL_FALLBACK = "kill the fallback"
    KILL_FORK_SERVER = "kill a fork server"
    KILL_PLAYER = "kill the player"
    STOP_NODE = "stop a node"
    STOP_NODES = "stop all nodes"
    CUT = "cut the line"
    DISK_FULL = "fill the disk"
    RESTART = "restart the player"


LASTING = frozenset({Kind.STOP_NODE, Kind.STOP_NODES, Kind.CUT, Kind.DISK_FULL})
"""Faults that end by themselves."""

ENDING = frozenset({Kind.KILL_PLAYER, Kind.RESTART})
"""Faults after which all processes and files of the player must disappear, and another player starts."""


@dataclass(frozen=True, slots=True)
class Strike:
    """One fault."""

    after_s: float
    """Seconds since the burst began."""
    kind: Kind
    pick: float
    """Which of several targets it hits: 0 the first, up to 1 the last."""
    lasts_s: float
    """Seconds that it lasts; 0: it is over at once."""


def burst(rng: random.Random, kinds: Sequence[Kind]) -> list[Strike]:
    """One to four faults within four seconds, in their order; one that ends the player is the last."""
    strikes = []
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4))):
        kind = rng.choice(kinds)
        lasts_s = rng.uniform(0.2, 4.0) if kind in LASTING else 0.0
        strikes.append(Strike(rng.uniform(0.0, 4.0), kind, rng.random(), lasts_s))
    strikes.sort(key=lambda strike: strike.after_s)
    ends = next((number for number, strike in enumerate(strikes, start=1) if strike.kind in ENDING), len(strikes))
    return strikes[:ends]
