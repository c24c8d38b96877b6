"""Settings of a match: two contestants, a pace, openings, adjudication, a test. Kept in the match's folder. Pure."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Final

from lab.match.contestants import Contestant, SettingsError
from lab.match.openings import DEFAULT_MARGIN_CP, DEFAULT_PLIES
from lab.match.statistics import Sprt
from worker.clock.timecontrol import TimeControl

FREE: Final = ("games", "concurrency")
"""Settings that may differ when a match is gone on with: no game that was played would have been another one."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Nodes or depth of each move, without a clock; or a clock, in milliseconds a side."""

    nodes: int | None = None
    depth: int | None = None
    main_ms: int = 0
    byoyomi_ms: int = 0
    increment_ms: int = 0
    margin_ms: int = 300
    """Time by which a clock may be overrun, for what operating system and pipes take."""

    def __post_init__(self) -> None:
        given = [self.nodes is not None, self.depth is not None, self.timed]
        if not any(given):
            raise SettingsError("give --nodes, --depth, --byoyomi or --time")
        if sum(given) > 1:
            raise SettingsError("give one of --nodes, --depth and a clock (--byoyomi, --time), not several")
        if self.byoyomi_ms and self.increment_ms:
            raise SettingsError("give byoyomi or an increment, not both")

    @property
    def timed(self) -> bool:
        """Whether there is a clock."""
        return bool(self.main_ms or self.byoyomi_ms or self.increment_ms)

    @property
    def control(self) -> TimeControl:
        """The clock of a side, exact to the millisecond; without a limit where there is none."""
        return TimeControl(self.main_ms, self.byoyomi_ms, self.increment_ms, unit_ms=1)

    def __str__(self) -> str:
        if self.nodes is not None:
            return f"{self.nodes} nodes a move"
        if self.depth is not None:
            return f"depth {self.depth}"
        parts = ((self.main_ms, "main time"), (self.byoyomi_ms, "byoyomi"), (self.increment_ms, "increment"))
        return ", ".join(f"{number / 1000:g} s {word}" for number, word in parts if number)


@dataclass(frozen=True, slots=True)
class MatchSettings:
    """Everything that decides how a match runs. Two runs in one folder must agree in all of it but `FREE`."""

    players: tuple[Contestant, Contestant]
    pace: Pace
    games: int
    """Number of games at most; even. A test may end the match sooner."""
    concurrency: int = 1
    seed: int = 1
    max_moves: int = 320
    """The ply after which a game is drawn, counted from move 1 of the opening."""
    resign_cp: int = 2000
    """A side is lost that is so far behind, `resign_moves` moves of a side in a row; 0: games are played to the end."""
    resign_moves: int = 3
    opening_file: str | None = None
    """`lab.match.openings.NATURAL` for those that travel with the package."""
    opening_plies: int = DEFAULT_PLIES
    opening_margin_cp: int = DEFAULT_MARGIN_CP
    opening_best: int = 0
    """Moves of an opening made are of so many that are best; 0: of all."""
    sprt: Sprt | None = None

    def __post_init__(self) -> None:
        if self.games < 2 or self.games % 2:
            raise SettingsError(f"{self.games} games: expected an even number, for every opening is played twice")
        if self.players[0].name == self.players[1].name:
            raise SettingsError(f"both players are called {self.players[0].name!r}: give them names")

    @property
    def names(self) -> tuple[str, str]:
        """Names of A and B."""
        return self.players[0].name, self.players[1].name

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain
