"""The choice of a strategy for a number of nodes and a budget, from a table that the laboratory measured.

The table is a JSON file of points (`gougi lab --table` enters them; ``cluster/measured.json`` comes with the package)::

    {"points": [{"strategy": "consult:majority", "nodes": 4, "budget": 4000,
                 "elo": 250.0, "low": 176.0, "high": 340.0, "games": 100, "net": "…"}, …]}

``elo`` is over one node of the same budget, with its 95 % interval; null where every game was won or lost.
"""

from __future__ import annotations

import functools
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import Annotated

import msgspec

from cluster.api import SearchRequest
from cluster.coordination.settings import Mode, Settings
from cluster.coordination.strategies import strategy
from cluster.engine_spec import Variety
from cluster.sharing.table import SharingSettings
from cluster.voting import Vote
from worker.files import reason, replace_file

_LONG_MS = 10_000
"""The budget of a search without end."""


class TableError(ValueError):
    """A table cannot be used; the text says what is wrong, and where."""


_Count = Annotated[int, msgspec.Meta(ge=1)]


@dataclass(frozen=True, slots=True)
class Measured:
    """One point of the table. ``budget``: nodes a move of every node.

    Raises (constructor):
        ValueError: there is no such strategy, or it needs other nodes than any other.
    """

    strategy: str
    nodes: _Count
    budget: _Count
    elo: float | None
    low: float | None
    high: float | None
    games: _Count
    net: str = ""
    """The first digits of the network file's SHA-256."""

    def __post_init__(self) -> None:
        found = strategy(self.strategy)
        if found.settings.mode is Mode.AUTO or (found.variety, found.share_depth) != (
            Variety(),
            SharingSettings().depth,
        ):
            raise ValueError(f"{self.strategy}: expected a strategy that needs no other nodes than any other")

    @property
    def key(self) -> tuple[str, int, int, str]:
        """Points of the same key are measurements of the same thing."""
        return self.strategy, self.nodes, self.budget, self.net

    @property
    def safe_elo(self) -> float:
        """The Elo that the measurement vouches for: halfway to the interval's lower end, so that few games count
        little. Where all games were won it is that end, where all were lost minus infinity."""
        if self.elo is None:
            return -math.inf if self.low is None else self.low
        return self.elo if self.low is None else (self.elo + self.low) / 2


class _Table(msgspec.Struct):
    """The file's content."""

    points: tuple[Measured, ...]


def read_table(path: Path | None = None) -> tuple[Measured, ...]:
    """The points of ``path``, or of the table that comes with the package.

    Raises:
        TableError: the file cannot be read, or is no table.
    """
    source = path or resources.files("cluster").joinpath("measured.json")
    try:
        return msgspec.json.decode(source.read_text(encoding="utf-8-sig"), type=_Table).points
    except (OSError, UnicodeDecodeError) as error:
        raise TableError(f"{source}: {reason(error)}") from error
    except (msgspec.MsgspecError, RecursionError) as error:
        raise TableError(f"{source}: no table of strategies: {error}") from error


def write_table(path: Path, points: Iterable[Measured]) -> None:
    """Write the points, one a line; of those of the same key the last. Raises OSError; the file is then as it was."""
    unique = {point.key: point for point in points}
    ordered = sorted(unique.values(), key=lambda point: (point.net, point.budget, point.nodes, point.strategy))
    lines = ",\n".join("  " + json.dumps(asdict(point)) for point in ordered)
    replace_file(path, ('{"points": [\n' + lines + "\n]}\n").encode())


def choose(table: Sequence[Measured], nodes: int, budget: float) -> Measured | None:
    """The point of the strategy that is best at ``nodes`` nodes and ``budget`` nodes a move each.

    Budgets and numbers of nodes are compared by their logarithms: the measured budget that is nearest, then at that
    budget the number of nodes that is nearest (of two equally near ones the smaller); there the highest `safe_elo`.
    Without a table, None.

    Points of two networks do not compare: the choice is among those of the network of which most strategies were
    measured there, then most games.

    Args:
        nodes: 2 or more.
        budget: above 0.
    """
    return max(_nearest(table, nodes, budget), key=lambda point: point.safe_elo, default=None)


def _nearest(table: Sequence[Measured], nodes: int, budget: float) -> Sequence[Measured]:
    """The points of one budget, one number of nodes and one network that are nearest."""
    if not table:
        return ()
    near_budget = min({point.budget for point in table}, key=lambda known: (_apart(known, budget), known))
    there = [point for point in table if point.budget == near_budget]
    near_nodes = min({point.nodes for point in there}, key=lambda known: (_apart(known, nodes), known))
    nets = _by_net(point for point in there if point.nodes == near_nodes)
    return max(nets, key=lambda own: (len(own), sum(point.games for point in own), own[0].net))


def _by_net(points: Iterable[Measured]) -> list[list[Measured]]:
    nets = defaultdict[str, list[Measured]](list)
    for point in points:
        nets[point.net].append(point)
    return list(nets.values())


def resolved(settings: Settings, table: Sequence[Measured], nodes: int, budget: float) -> Settings:
    """Resolve `Mode.AUTO`: ``settings`` with the mode, the vote and whatever else the name of the chosen strategy
    changes. Other modes stay.

    A vote that ``settings`` name is kept, and then the choice is between strategies that were measured with that vote
    and those that hold none; where no such vote was measured, the best mode of all counts by it.

    Args:
        nodes, budget: as `choose` takes them.
    """
    if settings.mode is not Mode.AUTO:
        return settings
    point = choose(_voting(table, settings.vote), nodes, budget) if nodes > 1 else None
    if point is None:
        return replace(settings, mode=Mode.CONSULT)
    chosen, plain = strategy(point.strategy).settings, Settings()
    changed = {
        item.name: getattr(chosen, item.name)
        for item in fields(Settings)
        if getattr(chosen, item.name) != getattr(plain, item.name)
    }
    return replace(settings, **{**changed, "mode": chosen.mode, "vote": settings.vote or chosen.vote})


def _voting(table: Sequence[Measured], vote: Vote | None) -> Sequence[Measured]:
    """The points among which is chosen where ballots are counted by ``vote`` (None: as the strategies have it)."""
    known = [(point, strategy(point.strategy).settings) for point in table]
    if not any(found.mode is not Mode.SPLIT and found.vote is vote for _, found in known):
        return table
    return [point for point, found in known if found.mode is Mode.SPLIT or found.vote is vote]


def budget(request: SearchRequest, nps: float) -> float:
    """Nodes that a node of ``nps`` nodes a second will search for ``request``, about."""
    if request.nodes is not None:
        return request.nodes
    time_ms = request.soft_ms if request.soft_ms is not None else request.hard_ms
    return max(1.0, nps * (_LONG_MS if time_ms is None else time_ms) / 1000)


@functools.cache
def standard_table() -> tuple[Measured, ...]:
    """The table that comes with the package, read once."""
    return read_table()


def _apart(a: float, b: float) -> float:
    return abs(math.log(a / b))
