"""The games of a match, and a game that is over, as values. Pure.

Games are numbered from 1. Games 1 and 2 are the first pair: one opening, A black in the first, white in the second.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

import msgspec

_FAULTS: Final = ("CRASH", "ILLEGAL_MOVE", "TIME_UP")
MOST_FAULTS: Final = 4
"""Games in a row that a player may lose by its own fault before the match is ended."""


def pair_of(number: int) -> int:
    """The pair that a game belongs to, from 0."""
    return (number - 1) // 2


def colour_of_a(number: int) -> int:
    """The colour that A has: 0 black, 1 white."""
    return (number - 1) % 2


def games_left(games: int, played: Collection[int]) -> Iterator[int]:
    """The numbers of the games that are still to be played, in order."""
    return (number for number in range(1, games + 1) if number not in played)


@dataclass(slots=True)
class SideFigures:
    """Figures of one contestant in a game: moves that it searched, and over these the sums of what it told."""

    moves: int = 0
    nodes: int = 0
    depth: int = 0
    time_ms: int = 0
    """By the referee's clock."""
    cpu_ms: int = 0
    """CPU time of the process; 0 where the system does not tell."""

    def add(self, other: SideFigures) -> None:
        """Count ``other`` in."""
        for name in ("moves", "nodes", "depth", "time_ms", "cpu_ms"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(frozen=True, slots=True)
class PlayedGame:
    """A game that is over."""

    number: int
    points: float
    """Points of A: 0, 1/2 or 1."""
    end: str
    """As `master.records.record.Ending.reason`."""
    comment: str
    """Further words about the end."""
    plies: int
    """Moves made, without those of the opening."""
    a: SideFigures = field(default_factory=SideFigures)
    b: SideFigures = field(default_factory=SideFigures)

    def __post_init__(self) -> None:
        if self.number < 1 or self.points not in (0.0, 0.5, 1.0):
            raise ValueError(f"game {self.number} with {self.points} points")

    @property
    def at_fault(self) -> int | None:
        """The player (0 A, 1 B) that lost by an illegal move, a crash or on time; None: nobody."""
        if self.end not in _FAULTS:
            return None
        return 0 if self.points == 0 else 1

    def to_line(self) -> str:
        """One line of JSON, without its end."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_line(cls, text: str) -> PlayedGame:
        """Read a line of `to_line`.

        Raises:
            ValueError: it is none.
        """
        return msgspec.json.decode(text, type=cls)


def results_of(games: Sequence[PlayedGame]) -> list[tuple[int, float]]:
    """(pair, points of A) of games, for `lab.match.statistics.tally`."""
    return [(pair_of(game.number), float(game.points)) for game in games]


@dataclass(slots=True)
class Faults:
    """Counts the games in a row that each player lost by its own fault."""

    _rows: list[int] = field(default_factory=lambda: [0, 0])

    def too_many(self, game: PlayedGame) -> int | None:
        """Take a game that is over; returns the player (0 A, 1 B) with `MOST_FAULTS` in a row, or None."""
        for player in (0, 1):
            self._rows[player] = self._rows[player] + 1 if game.at_fault == player else 0
            if self._rows[player] >= MOST_FAULTS:
                return player
        return None
