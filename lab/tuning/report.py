"""The display of ``gougi tune``: its progress, the parameters as a table, and facts in plain values."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cluster.drivers.task_pool import Opened, TaskLost
from lab.tuning.play import Event
from lab.tuning.state import TuneSettings, TuningRun
from master.ui.console import Console
from master.ui.progress import Bars

_SPARKS: Final = "▁▂▃▄▅▆▇█"
_SPARK: Final = 24
"""Characters of a sparkline."""
_LEAST_SPAN: Final = 2.0
"""Minimum number of steps from the lowest to the highest value of a sparkline: less would exaggerate small changes."""
_WIDE: Final = 150
"""Width in characters of a table's line in a file or a pipe."""


def print_whole(shown: RenderableType) -> None:
    """Print to standard output, every column whole if it is no terminal."""
    Console(width=None if sys.stdout.isatty() else _WIDE).print(shown)


def plan_table(settings: TuneSettings) -> RenderableType:
    """The parameters to be tuned, with ranges and gains."""
    spsa = settings.spsa
    table = _table("name", "start", "from", "to", "step", "first c", "last c", "first move", "last move")
    last = spsa.iterations - 1
    for one in spsa.parameters:
        table.add_row(
            one.name,
            f"{one.start:g}",
            f"{one.low}",
            f"{one.high}",
            f"{one.step:g}",
            f"{spsa.perturbation(one, 0):.4g}",
            f"{spsa.perturbation(one, last):.4g}",
            f"{spsa.gain(one, 0):.3g}",
            f"{spsa.gain(one, last):.3g}",
        )
    words = (
        f"{len(spsa.parameters)} parameters, {spsa.iterations:,} iterations of 2 games, {settings.games.nodes:,} nodes "
        "a move; c: how far a value is perturbed, move: how far it goes for a point"
    )
    return Group(table, Text(words))


def parameter_table(run: TuningRun) -> Table:
    """The parameters as a table."""
    table = _table("name", "start", "now", "change", "in steps", "signal", "from", "to")
    table.add_column("path", no_wrap=True)
    for place, row in enumerate(facts(run)["parameters"]):
        table.add_row(
            row["name"],
            f"{row['start']:g}",
            f"{row['now']:.1f}",
            f"{row['change']:+.1f}",
            f"{row['steps']:+.2f}",
            f"{row['signal']:+.1f}",
            f"{row['low']}",
            f"{row['high']}",
            sparkline(sampled(run, place, _SPARK), _LEAST_SPAN * row["step"]),
        )
    return table


def line(run: TuningRun) -> str:
    """The state of the run in one line."""
    return (
        f"{run.spsa.taken:,}/{run.settings.spsa.iterations:,} iterations, {run.games:,}/{run.wanted:,} games"
        + "".join(f", {part}" for part in _results(run))
    )


def _results(run: TuningRun) -> list[str]:
    parts = []
    if run.games:
        parts.append(f"upper side +{run.wins} ={run.games - run.wins - run.losses} -{run.losses}")
    if run.spsa.taken:
        parts.append(f"signal {signal(run):.2f} (chance 1 ± {signal_error(run):.2f})")
    return parts


class TuningProgress(Bars):
    """The progress on stderr.

    Args:
        run: the run to show; it continues meanwhile.
    """

    def __init__(self, run: TuningRun) -> None:
        super().__init__("games")
        self._run = run
        self._bar = self.bar("", run.wanted, hourly=True)

    def take(self, event: Event) -> None:
        """Show an event."""
        if isinstance(event, Opened):
            waits = "" if event.nodes else ": waiting for a machine that has room"
            self.note(f"pairs at a time: {event.nodes}{waits}")
        elif isinstance(event, TaskLost):
            self.note(f"{event.name} is lost: {event.why}; it is played again")
        self._bar.show(self._run.games, ", ".join(_results(self._run)), tell=not self._run.games % 100)


def facts(run: TuningRun) -> dict[str, Any]:
    """The run in plain values."""
    spsa, settings = run.spsa, run.settings
    last = max(0, min(spsa.taken, settings.spsa.iterations) - 1)
    return {
        "iterations": settings.spsa.iterations,
        "taken": spsa.taken,
        "games": run.games,
        "wins": run.wins,
        "losses": run.losses,
        "nodes": settings.games.nodes,
        "finished": run.finished,
        "signal": round(signal(run), 3),
        "parameters": [
            {
                "name": one.name,
                "start": one.start,
                "now": round(value, 3),
                "change": round(value - one.start, 3),
                "steps": round((value - one.start) / one.step, 3),
                "low": one.low,
                "high": one.high,
                "step": one.step,
                "perturbation": round(settings.spsa.perturbation(one, last), 3),
                "gain": round(settings.spsa.gain(one, last), 4),
                "signal": round(own, 2),
            }
            for one, value, own in zip(settings.spsa.parameters, spsa.theta, spsa.signals, strict=True)
        ],
    }


def signal(run: TuningRun) -> float:
    """The root mean square of the parameters' signals (`Spsa.signals`): near 1 if only chance decides.

    By chance it varies by `signal_error`.
    """
    signals = run.spsa.signals
    return math.sqrt(sum(one**2 for one in signals) / len(signals))


def signal_error(run: TuningRun) -> float:
    """The standard deviation of `signal` if there is only chance."""
    return 1 / math.sqrt(2 * len(run.settings.spsa.parameters))


def sampled(run: TuningRun, place: int, points: int) -> list[float]:
    """The path of the parameter at ``place``: at most ``points`` values of it, including the first and the last."""
    path = run.spsa.path
    count = min(points, len(path))
    if count < 2:
        return [path[-1][place]]
    return [path[i * (len(path) - 1) // (count - 1)][place] for i in range(count)]


def sparkline(values: Sequence[float], least_span: float) -> str:
    """Values as a row of blocks; the full height is ``least_span`` or more."""
    low, high = min(values), max(values)
    more = max(0.0, least_span - (high - low)) / 2
    low, high = low - more, high + more
    return "".join(_SPARKS[min(len(_SPARKS) - 1, int((value - low) / (high - low) * len(_SPARKS)))] for value in values)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, name in enumerate(columns):
        table.add_column(name, justify="right" if number else "left", no_wrap=True)
    return table
