"""Strategies by name, and the choice of one for a number of nodes and a budget.

A name is ``MODE`` or ``MODE:VOTE``, followed by any number of ``+SETTING=NUMBER``; these include ``depths``,
``share_depth`` and ``ponder``::

    split    consult:majority+depths=0+share_depth=0    split+presearch_share=0.2+takeover.margin=40

`Mode.AUTO` chooses by a table that the laboratory measured, a JSON file of points (`gougi lab --table` adds them;
``cluster/measured.json`` is part of the package)::

    {"points": [{"strategy": "consult:majority", "nodes": 4, "budget": 4000,
                 "elo": 250.0, "low": 176.0, "high": 340.0, "games": 100, "net": "…"}, …]}

``elo`` is relative to one node with the same budget, with its 95 % interval; null if every game was won or lost.
"""

from __future__ import annotations

import functools
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec

from cluster.api import SearchRequest
from cluster.coordination.settings import USUAL_VOTE, Mode, Settings, SharingSettings
from cluster.voting import Vote
from worker.files import reason, replace_file


class StrategyError(ValueError):
    """There is no such strategy; the text names the error and its place."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """Settings of a fleet's search, and their name; names with the same meaning are normalized to one."""

    name: str
    settings: Settings
    depths: bool = True
    """Like `cluster.engine_spec.FleetSpec.depths`."""
    share_depth: int = SharingSettings().depth
    """Like `SharingSettings.depth`."""
    ponder: bool = False
    """Whether it searches on the opponent's time."""


def offered() -> tuple[str, ...]:
    """The names of all modes, and of voting modes with each vote; without auto, which selects one of the others."""
    names: list[str] = []
    for mode in (mode for mode in Mode if mode is not Mode.AUTO):
        names += [f"{mode}:{vote}" for vote in Vote] if mode is Mode.CONSULT else [str(mode)]
    return tuple(names)


@functools.cache
def strategy(text: str) -> Strategy:
    """The strategy with a name.

    Raises:
        StrategyError: there is no such mode, vote or setting, or its value is not a number or out of range.
    """
    head, *changes = text.strip().split("+")
    mode_name, colon, vote_name = head.partition(":")
    try:
        mode = Mode(mode_name)
        vote = Vote(vote_name) if colon else None if mode is Mode.AUTO else USUAL_VOTE
    except ValueError:
        raise StrategyError(
            f"no strategy {head!r}: there are auto, {', '.join(offered())}; other modes take a vote after a colon too"
        ) from None
    settings, depths, share_depth, ponder = Settings(mode=mode, vote=vote), True, SharingSettings().depth, False
    names = [f"{mode}:{vote}" if colon or mode is Mode.CONSULT else str(mode)]
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals:
            raise StrategyError(f"{text!r}: {change!r}: expected SETTING=NUMBER")
        if key == "ponder":
            ponder = _switch(value, f"{text!r}: {key}")
        elif key == "share_depth":
            if not value.isdecimal():
                raise StrategyError(f"{text!r}: {key}: {value!r} is no depth")
            share_depth = int(value)
        elif key == "depths":
            depths = _switch(value, f"{text!r}: {key}")
        else:
            settings = _changed(settings, key.split("."), value, f"{text!r}: {key}")
        names.append(f"{key}={value}")
    return Strategy("+".join(names), settings, depths, share_depth, ponder)


def adjustable() -> tuple[str, ...]:
    """The names of the numeric settings; nested ones have a dot: ``takeover.margin``."""
    return (*_numbers(Settings(), ""), "depths", "share_depth", "ponder")


def _numbers(settings: Any, prefix: str) -> list[str]:
    names: list[str] = []
    for name in settings.__dataclass_fields__:
        value = getattr(settings, name)
        if is_dataclass(value):
            names += _numbers(value, f"{prefix}{name}.")
        elif type(value) in (int, float):
            names.append(prefix + name)
    return names


def _changed(settings: Any, path: list[str], value: str, where: str) -> Any:
    head, *rest = path
    known = getattr(settings, head, None) if head in settings.__dataclass_fields__ else None
    if rest and is_dataclass(known):
        return replace(settings, **{head: _changed(known, rest, value, where)})
    if rest or not isinstance(known, (int, float)) or isinstance(known, bool):
        raise StrategyError(f"{where}: no such setting; there are {', '.join(adjustable())}")
    try:
        number = int(value) if isinstance(known, int) else float(value)
    except ValueError:
        raise StrategyError(f"{where}: {value!r} is no {type(known).__name__}") from None
    try:
        return replace(settings, **{head: number})
    except ValueError as error:
        raise StrategyError(f"{where}: {error}") from None


def _switch(value: str, where: str) -> bool:
    if value not in ("0", "1"):
        raise StrategyError(f"{where}: {value!r} is neither 0 nor 1")
    return value == "1"


_LONG_MS = 10_000
"""The budget, in ms, of a search without a limit."""


class TableError(ValueError):
    """A table cannot be used; the text names the error and its place."""


_Count = Annotated[int, msgspec.Meta(ge=1)]


@dataclass(frozen=True, slots=True)
class Measured:
    """One point of the table. ``budget``: nodes a move of every node.

    Raises (constructor):
        ValueError: there is no such strategy, or it needs different nodes from the others.
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
        if found.settings.mode is Mode.AUTO or (found.depths, found.share_depth) != (
            True,
            SharingSettings().depth,
        ):
            raise ValueError(f"{self.strategy}: expected a strategy that needs no other nodes than any other")

    @property
    def key(self) -> tuple[str, int, int, str]:
        """Points with the same key measure the same thing."""
        return self.strategy, self.nodes, self.budget, self.net

    @property
    def safe_elo(self) -> float:
        """A cautious Elo estimate: halfway to the interval's lower end, so that few games count little. If all games
        were won it is that end; if all were lost, minus infinity."""
        if self.elo is None:
            return -math.inf if self.low is None else self.low
        return self.elo if self.low is None else (self.elo + self.low) / 2


class _Table(msgspec.Struct):
    """The file's content."""

    points: tuple[Measured, ...]


def read_table(path: Path | None = None) -> tuple[Measured, ...]:
    """The points of ``path``, or of the table in the package.

    Raises:
        TableError: the file cannot be read, or is not a table.
    """
    source = path or Path(__file__).parents[1] / "measured.json"
    try:
        return msgspec.json.decode(source.read_text(encoding="utf-8-sig"), type=_Table).points
    except (OSError, UnicodeDecodeError) as error:
        raise TableError(f"{source}: {reason(error)}") from error
    except (msgspec.MsgspecError, RecursionError) as error:
        raise TableError(f"{source}: no table of strategies: {error}") from error


def write_table(path: Path, points: Iterable[Measured]) -> None:
    """Write the points, one per line; of points with the same key, the last. Raises OSError; then the file is
    unchanged."""
    unique = {point.key: point for point in points}
    ordered = sorted(unique.values(), key=lambda point: (point.net, point.budget, point.nodes, point.strategy))
    lines = ",\n".join("  " + json.dumps(asdict(point)) for point in ordered)
    replace_file(path, ('{"points": [\n' + lines + "\n]}\n").encode())


def choose(table: Sequence[Measured], nodes: int, budget: float) -> Measured | None:
    """The point of the best strategy for ``nodes`` nodes with a budget of ``budget`` searched nodes a move each.

    Distances are taken between logarithms: first the nearest measured budget, then for that budget the nearest number
    of nodes (if two are equally near, the smaller); among these, the highest `safe_elo`. Without a table, None.

    Points of different networks are not comparable: only the network with the most measured strategies there counts,
    then the one with the most games.

    Args:
        nodes: 2 or more.
        budget: above 0.
    """
    return max(_nearest(table, nodes, budget), key=lambda point: point.safe_elo, default=None)


def _nearest(table: Sequence[Measured], nodes: int, budget: float) -> Sequence[Measured]:
    """The nearest points: of one budget, one number of nodes and one network."""
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
    """Resolve `Mode.AUTO`: ``settings`` with the mode, the vote and all other settings in the chosen strategy's name.
    Other modes stay.

    A vote in ``settings`` is kept; then the choice is between strategies measured with that vote and those without a
    vote. If the vote was never measured, the overall best mode is used with it.

    Args:
        nodes, budget: as in `choose`.
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
    """The points to choose from if ballots are counted by ``vote`` (None: by each strategy's own)."""
    known = [(point, strategy(point.strategy).settings) for point in table]
    if not any(found.mode is not Mode.SPLIT and found.vote is vote for _, found in known):
        return table
    return [point for point, found in known if found.mode is Mode.SPLIT or found.vote is vote]


def budget(request: SearchRequest, nps: float) -> float:
    """About how many nodes a node with ``nps`` nodes a second will search for ``request``."""
    if request.nodes is not None:
        return request.nodes
    time_ms = request.soft_ms if request.soft_ms is not None else request.hard_ms
    return max(1.0, nps * (_LONG_MS if time_ms is None else time_ms) / 1000)


@functools.cache
def standard_table() -> tuple[Measured, ...]:
    """The table in the package, read once."""
    return read_table()


def _apart(a: float, b: float) -> float:
    return abs(math.log(a / b))
