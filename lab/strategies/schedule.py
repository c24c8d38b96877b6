"""The games of a laboratory, in their order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from cluster.coordination.strategies import StrategyError, strategy
from lab.strategies.settings import MOST_NODES, LabError


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
    """The points asked for, strategy by strategy, and the games of each (even).

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
        """The games still to play: pair after pair, each over all points, so that all points grow together."""
        done = set(played)
        for pair in range(self.games // 2):
            for point in self.points:
                for game in (ScheduledGame(point, 2 * pair), ScheduledGame(point, 2 * pair + 1)):
                    if game not in done:
                        yield game


class Due(Iterator[tuple[ScheduledGame, str]]):
    """Games with their openings, in order, each as long as its point is open.

    It may be asked again after it had nothing: a point whose test is decided may be opened again by a game that ends
    late.

    Args:
        left: what is to be played.
        is_open: whether more games of a point are wanted; asked each time.
    """

    def __init__(self, left: Iterable[tuple[ScheduledGame, str]], is_open: Callable[[Point], bool]) -> None:
        self._left = list(left)
        self._is_open = is_open

    def __next__(self) -> tuple[ScheduledGame, str]:
        closed = set[Point]()  # to ask takes a look at all games that were played
        for index, (game, _) in enumerate(self._left):
            if game.point in closed:
                continue
            if self._is_open(game.point):
                return self._left.pop(index)
            closed.add(game.point)
        raise StopIteration
