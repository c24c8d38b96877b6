"""The display of ``gougi tune``: its progress, the parameters as a table, facts in plain values, and a plot."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final, Self

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from lab.svg import document, text
from lab.tuning.run import TuningRun
from master.commands.common import tell
from master.ui.console import Console
from master.ui.progress import span

if TYPE_CHECKING:
    from lab.tuning.play import Event
    from lab.tuning.run import TuneSettings


_EVERY_S: Final = 60.0
"""Seconds between two lines where there is no terminal."""
_LIVE_S: Final = 1.0
_SPARK: Final = 24
_WIDE: Final = 150
"""Letters of a line of a table in a file or a pipe."""
_OTHER_LINES: Final = 6
"""Lines of the screen beside the rows of the table."""


def print_whole(shown: RenderableType) -> None:
    """Print to standard output, every column whole where it is no terminal."""
    Console(width=None if sys.stdout.isatty() else _WIDE).print(shown)


def plan_table(settings: TuneSettings) -> RenderableType:
    """The parameters that would be tuned, with ranges and gains."""
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
    games = 2 * settings.pairs * spsa.iterations
    words = (
        f"{len(spsa.parameters)} parameters, {spsa.iterations:,} iterations of {2 * settings.pairs} games "
        f"({games:,} in all), {settings.games.pace}; c: how far a value is perturbed, move: how far it goes for a point"
    )
    return Group(table, Text(words))


def parameter_table(run: TuningRun, most: int | None = None) -> Table:
    """The parameters as a table.

    Args:
        most: rows at most: of those that have moved most, in steps. None: all.
    """

    rows = list(enumerate(facts(run)["parameters"]))
    if most is not None and len(rows) > most:
        kept = sorted(rows, key=lambda row: -abs(row[1]["steps"]))[:most]
        rows = sorted(kept)
    table = _table("name", "start", "now", "change", "in steps", "signal", "from", "to")
    table.add_column("path", no_wrap=True)
    for place, row in rows:
        table.add_row(
            row["name"],
            f"{row['start']:g}",
            f"{row['now']:.1f}",
            f"{row['change']:+.1f}",
            f"{row['steps']:+.2f}",
            f"{row['signal']:+.1f}",
            f"{row['low']}",
            f"{row['high']}",
            spark_of(run, place, _SPARK),
        )
    return table


def line(run: TuningRun, played: int = 0, seconds: float = 0.0) -> str:
    """The standing in one line.

    Args:
        played: games of this run of the command, in ``seconds``.
    """

    done, wanted = run.games, run.wanted
    text = f"{run.spsa.taken:,}/{run.settings.spsa.iterations:,} iterations, {done:,}/{wanted:,} games"
    if done:
        text += f", upper side +{run.wins} ={done - run.wins - run.losses} -{run.losses}"
    if run.spsa.taken:
        text += f", signal {signal(run):.2f} (chance 1 ± {signal_error(run):.2f})"
    if played and seconds > 0:
        text += f", {played * 3600 / seconds:,.0f} games/h"
        if done < wanted:
            text += f", {span((wanted - done) * seconds / played)} left"
    return text


def facts_of(run: TuningRun, folder: str) -> dict[str, Any]:
    """The facts that ``--json`` prints."""

    return {"folder": folder, **facts(run)}


class TuningProgress:
    """The standing on stderr: table and line at a terminal, rewritten; else a line a minute. A context manager.

    Args:
        run: what is shown; it goes on meanwhile.
    """

    def __init__(self, run: TuningRun) -> None:
        self._run = run
        self._console = Console(stderr=True)
        self._live = Live(console=self._console, auto_refresh=False, transient=True) if sys.stderr.isatty() else None
        self._known = run.games
        self._began: float | None = None
        self._shown = time.monotonic()

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def take(self, event: Event) -> bool:
        """Something happened. Returns whether it is time to keep a picture of it."""
        from cluster.drivers.task_pool import Opened
        from lab.tuning.play import PairLost

        if isinstance(event, Opened):
            waits = "" if event.nodes else ": waiting for a machine that has room"
            self._console.print(f"pairs at a time: {event.nodes}{waits}")
            self._began = time.monotonic()
        elif isinstance(event, PairLost):
            self._console.print(f"{event.name} is lost: {event.why}; it is played again")
        return self._show()

    def _show(self) -> bool:
        now = time.monotonic()
        if now - self._shown < (_EVERY_S if self._live is None else _LIVE_S):
            return False
        self._shown = now
        if self._live is None:
            tell(self._line())
        else:
            rows = max(1, self._console.size.height - _OTHER_LINES)
            self._live.update(Group(parameter_table(self._run, rows), Text(self._line())), refresh=True)
        return True

    def _line(self) -> str:
        seconds = 0.0 if self._began is None else time.monotonic() - self._began
        return line(self._run, self._run.games - self._known, seconds)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, name in enumerate(columns):
        table.add_column(name, justify="right" if number else "left", no_wrap=True)
    return table


_SPARKS: Final = "▁▂▃▄▅▆▇█"
_COLUMNS: Final = 4
_CELL_WIDTH, _CELL_HEIGHT = 240, 110
_MARGIN_X, _MARGIN_Y = 12, 24
_TOP: Final = 40
_POINTS: Final = 120
"""Points of a plotted line, at most."""
_LEAST_SPAN: Final = 2.0
"""Steps from the lowest to the highest value of a plot, at least: less would make much of nothing."""


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
        "pace": settings.games.pace,
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
    """The root of the mean square of the parameters' signals (`Spsa.signals`): near 1 where only chance decides.

    By chance it varies by `signal_error`.
    """
    signals = run.spsa.signals
    return math.sqrt(sum(one**2 for one in signals) / len(signals))


def signal_error(run: TuningRun) -> float:
    """The standard deviation of `signal` where there is nothing but chance."""
    return 1 / math.sqrt(2 * len(run.settings.spsa.parameters))


def sampled(run: TuningRun, place: int, points: int) -> list[float]:
    """The path of the parameter at ``place``: ``points`` values of it at most, the first and the last among them."""
    path = run.spsa.path
    count = min(points, len(path))
    if count < 2:
        return [path[-1][place]]
    return [path[i * (len(path) - 1) // (count - 1)][place] for i in range(count)]


def sparkline(values: Sequence[float], least_span: float) -> str:
    """Values as a row of blocks; the whole height is ``least_span`` or more."""
    low, high = _span(values, least_span)
    return "".join(_SPARKS[min(len(_SPARKS) - 1, int((value - low) / (high - low) * len(_SPARKS)))] for value in values)


def spark_of(run: TuningRun, place: int, width: int) -> str:
    """The sparkline of a parameter."""
    return sparkline(sampled(run, place, width), _LEAST_SPAN * run.settings.spsa.parameters[place].step)


def _span(values: Sequence[float], least: float) -> tuple[float, float]:
    low, high = min(values), max(values)
    more = max(0.0, least - (high - low)) / 2
    return low - more, high + more


def plot(run: TuningRun, title: str) -> str:
    """The SVG: a small chart for each parameter, its start dashed, all at one scale of games from left to right.

    Args:
        title: the text above the report, unchanged.
    """
    parameters = run.settings.spsa.parameters
    rows = -(-len(parameters) // _COLUMNS)
    width, height = _COLUMNS * _CELL_WIDTH, _TOP + rows * _CELL_HEIGHT
    words = f"{title}: {run.spsa.taken:,} of {run.settings.spsa.iterations:,} iterations, {run.games:,} games"
    parts = [
        text(_MARGIN_X, 24, words, size=15),
    ]
    parts += [_chart(run, place) for place in range(len(parameters))]
    return document(width, height, parts)


def _chart(run: TuningRun, place: int) -> str:
    one = run.settings.spsa.parameters[place]
    values = sampled(run, place, _POINTS)
    low, high = _span([*values, one.start], _LEAST_SPAN * one.step)
    left = place % _COLUMNS * _CELL_WIDTH + _MARGIN_X
    top = _TOP + place // _COLUMNS * _CELL_HEIGHT + _MARGIN_Y
    wide, tall = _CELL_WIDTH - 2 * _MARGIN_X, _CELL_HEIGHT - _MARGIN_Y - _MARGIN_X
    reach = wide * run.spsa.taken / run.settings.spsa.iterations

    def y(value: float) -> float:
        return top + tall * (high - value) / (high - low)

    line = " ".join(
        f"{left + reach * i / max(1, len(values) - 1):.1f},{y(value):.1f}" for i, value in enumerate(values)
    )
    words = f"{one.name}  {one.start:g} → {values[-1]:.4g}"
    return "\n".join(
        [
            f'<rect x="{left}" y="{top}" width="{wide}" height="{tall}" fill="#f7f7f7" stroke="#cccccc"/>',
            text(left, top - 6, words, size=11),
            f'<line x1="{left}" y1="{y(one.start):.1f}" x2="{left + wide}" y2="{y(one.start):.1f}" '
            'stroke="#888888" stroke-dasharray="3 3"/>',
            f'<polyline points="{line}" fill="none" stroke="#0072b2" stroke-width="1.5">'
            f"<title>{escape(f'{one.name}: {one.low} to {one.high}, step {one.step:g}')}</title></polyline>",
        ]
    )
