"""Settings of a laboratory run: everything that decides the games of a folder, the opponent, and the game order."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from lab.strategies.strategy import StrategyError, strategy

MOST_NODES = 1000


class LabError(ValueError):
    """The laboratory cannot do as asked; the text names the fault and its place."""


@dataclass(frozen=True, slots=True)
class Opponent:
    """B. ``strategy`` None: one node with a budget of ``times`` that of one of A's nodes."""

    strategy: str | None = None
    nodes: int | None = None
    """Number of nodes of a strategy; None: as many as A has."""
    times: float = 1.0

    @classmethod
    def parse(cls, text: str) -> Opponent:
        """``4x``: one node with four times the budget. ``consult@4``: a strategy with four nodes; without a
        number, with as many as A.

        Raises:
            LabError: it is neither.
        """
        if text.endswith("x") and text[:-1].replace(".", "", 1).isdigit():
            times = float(text[:-1])
            if not 0 < times <= 10_000:
                raise LabError(f"against {text}: expected more than 0 and at most 10000 times the budget")
            return cls(times=times)
        name, at, number = text.partition("@")
        try:
            nodes = int(number) if at else None
        except ValueError:
            raise LabError(f"against {text}: {number!r} is no number of nodes") from None
        if nodes is not None and not 1 <= nodes <= MOST_NODES:
            raise LabError(f"against {text}: expected 1 to {MOST_NODES} nodes")
        try:
            return cls(strategy(name).name, nodes)
        except StrategyError as error:
            raise LabError(f"against {text}: expected times such as 4x, or a strategy ({error})") from None

    def fleet(self, nodes: int) -> int:
        """The number of nodes of B against ``nodes`` of A."""
        return 1 if self.strategy is None else self.nodes or nodes

    @property
    def words(self) -> str:
        """The opponent for people: ``one node``, ``one node with 4 times the budget``, ``split with 4 nodes``."""
        if self.strategy is None:
            return "one node" if self.times == 1 else f"one node with {self.times:g} times the budget"
        return f"{self.strategy} with {self.nodes or 'as many'} node{'' if self.nodes == 1 else 's'}"

    def __str__(self) -> str:
        if self.strategy is None:
            return f"{self.times:g}x"
        return self.strategy if self.nodes is None else f"{self.strategy}@{self.nodes}"


@dataclass(frozen=True, slots=True)
class LabSettings:
    """Two runs in one folder must agree in every field. The numbers of games, strategies and nodes may grow.

    Raises (constructor):
        LabError: a value is out of range, or the opponent cannot be read.
    """

    budget: int
    """Nodes per move of every node."""
    against: str = "1x"
    """In the form of `Opponent.parse`."""
    seed: int = 1
    """Seed of the openings."""
    net: str = ""
    """The SHA-256 of the network's file, not its name."""
    fv_scale: int | None = None
    hash_mb: int = 4
    """Table size of every node."""
    max_moves: int = 320
    """A longer game, counted from move 1 of the opening, is a draw."""
    resign_cp: int = 2000
    """A game is over if both sides see the same side this far ahead on `resign_moves` moves in a row each. 0: never."""
    resign_moves: int = 3

    def __post_init__(self) -> None:
        for name, low in (("budget", 1), ("hash_mb", 1), ("max_moves", 1), ("resign_cp", 0), ("resign_moves", 1)):
            if getattr(self, name) < low:
                raise LabError(f"{name} is {getattr(self, name)}: expected {low} or more")
        object.__setattr__(self, "against", str(self.opponent))

    @property
    def opponent(self) -> Opponent:
        return Opponent.parse(self.against)

    @property
    def opponent_budget(self) -> int:
        """Nodes per move of every node of B."""
        return max(1, math.floor(self.budget * self.opponent.times + 0.5))

    @property
    def title(self) -> str:
        """The title of the plot: the opponent of the Elo, and the pace."""
        return f"Elo over {self.opponent.words}; {self.budget} nodes a move for each node"


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """One point of the plot: strategy A with a number of nodes."""

    strategy: str
    nodes: int

    def __str__(self) -> str:
        return f"{self.strategy}, {self.nodes} node{'s' if self.nodes > 1 else ''}"


@dataclass(frozen=True, slots=True)
class ScheduledGame:
    """A game of a point. Games 2n and 2n + 1 are pair n: one opening, colours swapped."""

    point: Point
    number: int

    @property
    def pair(self) -> int:
        return self.number // 2

    @property
    def a_is_black(self) -> bool:
        return self.number % 2 == 0

    def __str__(self) -> str:
        return f"{self.point}, game {self.number}"


@dataclass(frozen=True, slots=True)
class Plan:
    """The requested points, strategy by strategy, and the number of games of each (even).

    Raises (constructor):
        LabError: no point, a number out of range, an unknown strategy.
    """

    strategies: tuple[str, ...]
    nodes: tuple[int, ...]
    games: int

    def __post_init__(self) -> None:
        if not self.strategies or not self.nodes:
            raise LabError("expected a strategy and a number of nodes at least")
        if self.games < 2 or self.games % 2:
            raise LabError(f"{self.games} games: expected an even number, for every opening is played twice")
        if wrong := [count for count in self.nodes if not 1 <= count <= MOST_NODES]:
            raise LabError(f"{wrong[0]} nodes: expected 1 to {MOST_NODES}")
        try:
            names = tuple(dict.fromkeys(strategy(text).name for text in self.strategies))
        except StrategyError as error:
            raise LabError(str(error)) from None
        object.__setattr__(self, "strategies", names)
        object.__setattr__(self, "nodes", tuple(sorted(set(self.nodes))))

    @property
    def points(self) -> tuple[Point, ...]:
        return tuple(Point(name, count) for name in self.strategies for count in self.nodes)

    def left(self, played: Collection[ScheduledGame]) -> Iterator[ScheduledGame]:
        """The games still to play: pair after pair, each over all points, so that all points advance together."""
        done = set(played)
        for pair in range(self.games // 2):
            for point in self.points:
                for game in (ScheduledGame(point, 2 * pair), ScheduledGame(point, 2 * pair + 1)):
                    if game not in done:
                        yield game
