"""Cores of the players. Pure.

A game has cores of its own, as many as the larger side has nodes or threads. The sides move in turn, so both are on the
same ones; only where one ponders each has its own. Games at a time share out the cores given, evenly.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from cluster.coordination.strategies import strategy
from lab.strategies.schedule import Point
from lab.strategies.settings import LabError, Opponent


def parse_cores(text: str, allowed: Collection[int]) -> tuple[int, ...]:
    """The cores of a list such as ``0-3,8``, in its order; empty: all that are allowed.

    Args:
        allowed: those that this process may run on.

    Raises:
        LabError: it is no such list, names a core twice, or one that is not allowed.
    """
    if not text.strip():
        return tuple(sorted(allowed))
    found: list[int] = []
    for part in text.split(","):
        numbers = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", part)
        if numbers is None:
            raise LabError(f"--cores {text}: {part!r}: expected a list such as 0-3,8")
        first, last = int(numbers[1]), int(numbers[2] or numbers[1])
        if last < first:
            raise LabError(f"--cores {text}: {part!r}: {last} is before {first}")
        if foreign := [core for core in range(first, last + 1) if core not in allowed]:
            there = words(sorted(allowed))
            raise LabError(f"--cores {text}: core {foreign[0]} is not there for us; there are {there}")
        found += range(first, last + 1)
    if twice := [core for core in found if found.count(core) > 1]:
        raise LabError(f"--cores {text}: core {twice[0]} twice")
    return tuple(found)


def words(cores: Sequence[int]) -> str:
    """``0-3,8`` of the cores 0, 1, 2, 3 and 8."""
    parts: list[list[int]] = []
    for core in cores:
        if parts and core == parts[-1][-1] + 1:
            parts[-1].append(core)
        else:
            parts.append([core])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


@dataclass(frozen=True, slots=True)
class Seat:
    """The cores of both sides in a game."""

    a: tuple[int, ...]
    b: tuple[int, ...]

    @property
    def all(self) -> tuple[int, ...]:
        """The game's, each once."""
        return tuple(sorted({*self.a, *self.b}))


@dataclass(frozen=True, slots=True)
class Seating:
    """The cores of the games that are played at a time.

    Raises (constructor):
        LabError: a point's nodes do not fit; the text says how many cores they need.
    """

    cores: tuple[int, ...]
    slots: int
    """Games at a time."""
    points: tuple[Point, ...]
    opponent: Opponent
    oversubscribe: bool = False
    """Whether a game may have more nodes than cores."""

    def __post_init__(self) -> None:
        if len(self.cores) < self.slots:
            raise LabError(f"{self.slots} games at a time need {self.slots} cores or more, there are {self._there}")
        if self.oversubscribe or not (crowded := self.crowded):
            return
        largest = max(crowded, key=self.need)
        need = self.need(largest)
        games = f" and {self.slots} games at a time" if self.slots > 1 else ""
        more = "fewer nodes or games at a time" if self.slots > 1 else "fewer nodes"
        both = ", for who ponders has cores of its own" if self._ponders(largest) else ""
        raise LabError(
            f"{largest}{games} against {self.opponent.words} need {need * self.slots} cores{both}, there are "
            f"{self._there}: {more}, or --oversubscribe"
        )

    @property
    def _there(self) -> str:
        return f"{len(self.cores)} ({words(self.cores)})"

    @property
    def size(self) -> int:
        """Cores of a game, at most."""
        return len(self.cores) // self.slots

    @property
    def crowded(self) -> tuple[Point, ...]:
        """The points with more nodes than a game has cores."""
        return tuple(point for point in self.points if self.need(point) > self.size)

    def need(self, point: Point) -> int:
        """Cores that a game of ``point`` is to have."""
        a, b = self._wanted(point)
        return a + b if self._ponders(point) else max(a, b)

    def seat(self, slot: int, point: Point) -> Seat:
        """The cores of a game of ``point`` in ``slot``, from 0 on."""
        own = self.cores[slot * self.size : (slot + 1) * self.size]
        a, b = self._wanted(point)
        if self._ponders(point) and a + b <= self.size:
            return Seat(own[:a], own[a : a + b])
        shared = own[: self.need(point)]
        return Seat(shared, shared)

    def _wanted(self, point: Point) -> tuple[int, int]:
        return point.nodes, self.opponent.cores(point.nodes)

    def _ponders(self, point: Point) -> bool:
        theirs = self.opponent.strategy
        return strategy(point.strategy).ponder or (theirs is not None and strategy(theirs).ponder)
