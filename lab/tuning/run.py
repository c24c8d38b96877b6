"""A run as a state machine: its settings, the pair of games to be played next, and what the results so far make of the
parameters. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import msgspec

from lab.tuning.spsa import Spsa, SpsaSettings


class TuningError(Exception):
    """A run cannot be begun or gone on with; the text says what is wrong, and where."""


class PlayError(TuningError):
    """The settings are right, but the games cannot be played; results so far are kept."""


@dataclass(frozen=True, slots=True)
class GameSettings:
    """Settings of the games; every node gets them with each pair.

    Raises:
        TuningError: a value is out of range.
    """

    net_digests: tuple[str, ...]
    """SHA-256 of each network's file. Pairs take the networks in turn."""
    fv_scale: int | None = None
    nodes: int | None = 20_000
    """Node limit of a move; None: by time."""
    movetime_ms: int | None = None
    hash_mb: int = 16
    max_moves: int = 320
    resign_cp: int = 2000
    """A game is over where both see one side so far ahead, `resign_moves` moves of each in a row; 0: never."""
    resign_moves: int = 3

    def __post_init__(self) -> None:
        if not self.net_digests:
            raise TuningError("there is no network to play with")
        if (self.nodes is None) == (self.movetime_ms is None):
            raise TuningError("give the nodes of a move, or its time")
        for name, value, least in (
            ("nodes", self.nodes, 1),
            ("movetime", self.movetime_ms, 1),
            ("hash", self.hash_mb, 1),
            ("max-moves", self.max_moves, 10),
            ("resign", self.resign_cp, 0),
            ("resign-moves", self.resign_moves, 1),
        ):
            if value is not None and value < least:
                raise TuningError(f"{name} is {value}: expected {least} or more")

    @property
    def pace(self) -> str:
        """Nodes or time of a move, in words."""
        return f"{self.movetime_ms} ms a move" if self.nodes is None else f"{self.nodes:,} nodes a move"


@dataclass(frozen=True, slots=True)
class TuneSettings:
    """Everything that decides how a run goes. Two runs of one folder must agree in all of it."""

    spsa: SpsaSettings
    games: GameSettings
    pairs: int = 1
    """Pairs of games of an iteration: each from one opening, with colours swapped."""

    def __post_init__(self) -> None:
        if self.pairs < 1:
            raise TuningError(f"{self.pairs} pairs of games an iteration: expected 1 or more")

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
        """Read what `to_json` gave. Raises TuningError: it is not that."""
        try:
            return msgspec.convert(facts, cls)
        except msgspec.ValidationError as error:
            raise TuningError(f"no settings of gougi tune: {error}") from error


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
