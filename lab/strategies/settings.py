"""Settings of a laboratory: everything that decides the games of one folder, and the opponent."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from cluster.coordination.strategies import StrategyError, strategy
from lab.match.openings import DEFAULT_MARGIN_CP, DEFAULT_PLIES

MOST_NODES = 1000


class LabError(ValueError):
    """The laboratory cannot do what was asked; the text says what is wrong, and where."""


@dataclass(frozen=True, slots=True)
class Opponent:
    """B. ``strategy`` None: one node, with ``times`` the budget of one of A's nodes."""

    strategy: str | None = None
    nodes: int | None = None
    """Number of nodes of a strategy; None: as many as A has."""
    times: float = 1.0

    @classmethod
    def parse(cls, text: str) -> Opponent:
        """``4x``: one node with four times the budget. ``consult:majority@4``: a strategy with four nodes; without a
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
    """Two runs in one folder must agree in all of it. How many games, strategies and nodes there are may grow.

    Raises (constructor):
        LabError: a value is out of range, or the opponent cannot be read.
    """

    budget: int
    """Nodes a move of every node."""
    against: str = "1x"
    """As `Opponent.parse` takes it."""
    seed: int = 1
    """Seed of the openings."""
    net: str = ""
    """Names the network: its file's SHA-256, so that another of the same name is another."""
    fv_scale: int | None = None
    hash_mb: int = 4
    """Table size of every node."""
    max_moves: int = 320
    """A game that is longer is a draw, counted from move 1 of the opening."""
    resign_cp: int = 2000
    """A game is over where both sides see the same one so far ahead, `resign_moves` moves in a row each. 0: never."""
    resign_moves: int = 3
    opening_plies: int = DEFAULT_PLIES
    opening_margin_cp: int = DEFAULT_MARGIN_CP

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
        """Nodes a move of every node of B."""
        return max(1, math.floor(self.budget * self.opponent.times + 0.5))

    @property
    def title(self) -> str:
        """The title of the plot: the opponent of the Elo, and the pace."""
        return f"Elo over {self.opponent.words}; {self.budget} nodes a move for each node"

    def plain(self) -> dict[str, Any]:
        """As the folder keeps them."""
        return asdict(self)
