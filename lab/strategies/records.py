"""The results of the games, and their folder: settings, openings, a line for each game."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from cluster.api import Decision
from lab.match.folder import GamesFolder
from lab.strategies.settings import LabError, ScheduledGame


@dataclass(slots=True)
class FleetFigures:
    """Figures of one side in a game, or in many."""

    moves: int = 0
    """Number of searched moves; those that need no search are left out."""
    nodes: int = 0
    """Nodes searched, by all its nodes together."""
    wasted: int = 0
    """Number of these nodes that were wasted (`cluster.api.Decision.wasted`)."""
    redeals: int = 0
    """Number of times that a tree was redealt within a search."""
    votes: int = 0
    """Moves with two ballots or more."""
    agreement: float = 0.0
    """Summed over ``votes``: the share of the ballots for the move played, 0 to 1."""
    hits: int = 0
    """Moves whose position was being pondered when their search began."""

    @classmethod
    def of(cls, decision: Decision, dealt: Sequence[str]) -> FleetFigures:
        """Count one searched move; ``dealt``: the reason for each deal of a tree (the event's ``why``)."""
        found = cls(1, decision.nodes, decision.wasted, len(dealt) - dealt.count("presearch"))
        if len(decision.ballots) > 1:
            found.votes, found.agreement = 1, round(decision.agreement, 6)
        found.hits = int(decision.pondered_ms > 0)
        return found

    def add(self, other: FleetFigures) -> None:
        for item in fields(self):
            setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))


@dataclass(frozen=True, slots=True)
class GameResult:
    """A finished game. ``points`` are A's: 0, 1/2 or 1; ``moves`` are USI, from the opening on."""

    game: ScheduledGame
    points: float
    end: str
    """The end in words: one of `lab.match.game.End`, ``score`` or ``resignation``."""
    moves: tuple[str, ...]
    a: FleetFigures
    b: FleetFigures

    def __post_init__(self) -> None:
        if self.points not in (0.0, 0.5, 1.0):
            raise ValueError(f"points: a game scores 0, 0.5 or 1, not {self.points}")

    def __str__(self) -> str:
        return str(self.game)


class LabFolder(GamesFolder[GameResult]):
    """A folder with ``lab.json``, ``openings.txt``, ``games.jsonl`` and ``result.json``."""

    command = "gougi lab"
    refused = LabError

    def __init__(self, path: Path) -> None:
        super().__init__(path, "lab.json", "games.jsonl", GameResult)
        self.result = path / "result.json"

    def keep_openings(self, openings: list[str]) -> None:
        """Write a longer list. Raises LabError: it does not begin with the openings that were already used."""
        known = self.known_openings()
        if openings[: len(known)] != known:
            raise LabError(
                f"{self.openings}: the openings that these sources make are others: choose another folder, or no more "
                f"than {2 * len(known)} games"
            )
        super().keep_openings(openings)
