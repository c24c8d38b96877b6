"""Settings of a tuning run: parameters, gains, and how its games are played. Kept in the run's folder. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from lab.tuning.spsa import SpsaSettings


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
