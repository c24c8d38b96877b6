"""A run as a state machine: which pair of games is to be played next, and what the results so far make of the
parameters. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import msgspec

from lab.tuning.settings import TuneSettings, TuningError
from lab.tuning.spsa import Spsa


class PairName(NamedTuple):
    """The name of a pair of games; both numbers from 0."""

    iteration: int
    pair: int

    def __str__(self) -> str:
        return f"pair {self.pair} of iteration {self.iteration}"


@dataclass(frozen=True, slots=True)
class GamePair:
    """A pair of games to play: one opening, `plus` black in the first game, white in the second."""

    iteration: int
    pair: int
    opening: str
    plus: tuple[int, ...]
    minus: tuple[int, ...]
    network: int = 0
    """The place of both sides' network in `GameSettings.net_digests`."""

    @property
    def name(self) -> PairName:
        """Its iteration and its number in it."""
        return PairName(self.iteration, self.pair)


@dataclass(frozen=True, slots=True)
class PairResult:
    """A pair of games that is over."""

    iteration: int
    pair: int
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
    def name(self) -> PairName:
        """Its iteration and its number in it."""
        return PairName(self.iteration, self.pair)

    @property
    def lead(self) -> float:
        """Points of the plus side less those of the other: -2 to 2."""
        return 2 * sum(self.points) - len(self.points)

    def to_line(self) -> str:
        """One line of JSON, without its end."""
        return json.dumps(asdict(self))

    @classmethod
    def from_line(cls, text: str) -> PairResult:
        """Read a line of `to_line`. Raises TuningError: it is none."""
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.MsgspecError as error:
            raise TuningError(f"not the line of a pair of games: {error}") from error


class TuningRun:
    """A run from its settings, its openings and the results so far.

    Args:
        openings: SFENs; they are played in turn, and begin anew at their end.
    """

    def __init__(self, settings: TuneSettings, openings: Sequence[str]) -> None:
        if not openings:
            raise TuningError("there is no opening to play from")
        self.settings = settings
        self.spsa = Spsa(settings.spsa)
        self.games = self.wins = self.losses = 0
        """Results of the plus sides; the rest are draws."""
        self._openings = openings
        self._results: dict[int, dict[int, float]] = {}
        """The leads by iteration and pair, of iterations that miss some yet."""
        self._begun: set[PairName] = set()

    @property
    def finished(self) -> bool:
        """Whether every pair is played."""
        return self.spsa.finished

    @property
    def wanted(self) -> int:
        """Games in all."""
        return 2 * self.settings.pairs * self.settings.spsa.iterations

    def take_pair(self) -> GamePair | None:
        """Begin a pair: the first that can be played, has no result and is not begun. None: there is none now."""
        for k in self.spsa.open():
            for pair in range(self.settings.pairs):
                name = PairName(k, pair)
                if name not in self._begun and pair not in self._results.get(k, ()):
                    self._begun.add(name)
                    return self.game_pair(k, pair)
        return None

    def game_pair(self, k: int, pair: int) -> GamePair:
        """A pair of an iteration that can be played now. Raises SpsaError: it cannot."""
        vectors = self.spsa.suggest(k)
        turn, place = divmod(k * self.settings.pairs + pair, len(self._openings))
        # Where the openings begin anew each gets the next network.
        network = (turn + place) % len(self.settings.games.net_digests)
        return GamePair(k, pair, self._openings[place], vectors.plus, vectors.minus, network)

    def give_back(self, name: PairName) -> None:
        """A pair that was begun is not being played any more: it can be taken again."""
        self._begun.discard(name)

    def take(self, played: PairResult) -> None:
        """Take a result.

        Raises:
            TuningError: there is one of that pair already, or it could not be played yet; nothing changes.
        """
        k, pair = played.name
        known = self._results.get(k, {})
        if k not in self.spsa.open() or pair in known or not 0 <= pair < self.settings.pairs:
            raise TuningError(f"{played.name} has its result, or could not be played yet")
        self._begun.discard(played.name)
        self._results[k] = {**known, pair: played.lead}
        self.games += len(played.points)
        self.wins += played.points.count(1.0)
        self.losses += played.points.count(0.0)
        if len(self._results[k]) == self.settings.pairs:
            self.spsa.take(k, sum(self._results.pop(k).values()))

    def vector(self) -> Mapping[str, int]:
        """The parameters as they are now, rounded, by name."""
        return {name: round(value) for name, value in zip(self.settings.names, self.spsa.theta, strict=True)}
