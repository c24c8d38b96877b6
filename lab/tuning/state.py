"""A run as a state machine: its settings, the next pair of games, and the parameters that follow from the results so
far. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import msgspec

from lab.tuning.spsa import Spsa, SpsaSettings

MAX_MOVES: Final = 320
"""Number of moves after which a game is drawn."""
RESIGN_CP: Final = 2000
"""A game is over if both sides see the same side this far ahead,"""
RESIGN_MOVES: Final = 3
"""on this number of consecutive moves each."""


class TuningError(Exception):
    """A run cannot be begun or resumed; the text names the fault and its place."""


class PlayError(TuningError):
    """The settings are right, but the games cannot be played; results so far are kept."""


@dataclass(frozen=True, slots=True)
class GameSettings:
    """Settings of the games; every node gets them with each pair."""

    net_digests: tuple[str, ...]
    """SHA-256 of each network's file. Pairs use the networks in turn."""
    fv_scale: int | None = None
    nodes: int = 20_000
    """Node limit of a move."""
    hash_mb: int = 16


@dataclass(frozen=True, slots=True)
class TuneSettings:
    """Everything that decides how a run goes. Two runs of one folder must agree in every field."""

    spsa: SpsaSettings
    games: GameSettings

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(one.name for one in self.spsa.parameters)

    def to_json(self) -> dict[str, Any]:
        """The settings as plain values."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> TuneSettings:
        """Read the output of `to_json`. Raises TuningError: it is not that."""
        try:
            return msgspec.convert(facts, cls)
        except msgspec.ValidationError as error:
            raise TuningError(f"no settings of gougi tune: {error}") from error


@dataclass(frozen=True, slots=True)
class GamePair:
    """The pair of games of an iteration: one opening, `plus` black in the first game, white in the second."""

    iteration: int
    """From 0."""
    opening: str
    plus: tuple[int, ...]
    minus: tuple[int, ...]
    network: int = 0
    """The index of both sides' network in `GameSettings.net_digests`."""


@dataclass(frozen=True, slots=True)
class PairResult:
    """A finished pair of games."""

    iteration: int
    points: tuple[float, float]
    """Points of the plus side in each game: 0, 1/2 or 1."""
    plies: int = 0
    """Moves of both games."""
    nodes: int = 0
    cpu_s: float = 0.0

    def __post_init__(self) -> None:
        if not set(self.points) <= {0.0, 0.5, 1.0}:
            raise ValueError(f"points: a game scores 0, 0.5 or 1, not {self.points}")

    @property
    def lead(self) -> float:
        """Points of the plus side minus those of the other: -2 to 2."""
        return 2 * sum(self.points) - len(self.points)

    def __str__(self) -> str:
        return f"pair {self.iteration}"


class TuningRun:
    """A run built from its settings, its openings and the results so far.

    Args:
        openings: SFENs; they are played in turn, and start over at the end.
    """

    def __init__(self, settings: TuneSettings, openings: Sequence[str]) -> None:
        if not openings:
            raise TuningError("there is no opening to play from")
        self.settings = settings
        self.spsa = Spsa(settings.spsa)
        self.games = self.wins = self.losses = 0
        """Results of the plus sides; the rest are draws."""
        self._openings = openings
        self._begun: set[int] = set()

    @property
    def finished(self) -> bool:
        """Whether every pair is played."""
        return self.spsa.finished

    @property
    def wanted(self) -> int:
        """Games of the whole run."""
        return 2 * self.settings.spsa.iterations

    def take_pair(self) -> GamePair | None:
        """Begin a pair: the first that can be played, has no result and is not begun. None: there is none now."""
        for k in self.spsa.open():
            if k not in self._begun:
                self._begun.add(k)
                return self.game_pair(k)
        return None

    def game_pair(self, k: int) -> GamePair:
        """The pair of an iteration that can be played now. Raises SpsaError: it cannot."""
        vectors = self.spsa.suggest(k)
        turn, place = divmod(k, len(self._openings))
        # When the openings start over, each gets the next network.
        network = (turn + place) % len(self.settings.games.net_digests)
        return GamePair(k, self._openings[place], vectors.plus, vectors.minus, network)

    def give_back(self, k: int) -> None:
        """The pair of an iteration is no longer being played: it can be taken again."""
        self._begun.discard(k)

    def take(self, result: PairResult) -> None:
        """Take a result. Raises SpsaError: there is one already, or the pair could not be played yet; nothing
        changes."""
        self.spsa.take(result.iteration, result.lead)
        self._begun.discard(result.iteration)
        self.games += len(result.points)
        self.wins += result.points.count(1.0)
        self.losses += result.points.count(0.0)

    def vector(self) -> Mapping[str, int]:
        """The current parameters, rounded, by name."""
        return {name: round(value) for name, value in zip(self.settings.names, self.spsa.theta, strict=True)}
