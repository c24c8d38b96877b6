"""The display of ``gougi tune``: its progress, and the parameters as a table."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final, Self

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from master.commands.common import tell
from master.ui.console import Console
from master.ui.progress import span

if TYPE_CHECKING:
    from lab.tuning.ray_tasks import Event
    from lab.tuning.run import TuningRun
    from lab.tuning.settings import TuneSettings

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
    from lab.tuning.report import facts, spark_of

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
    from lab.tuning.report import signal, signal_error

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
    from lab.tuning.report import facts

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
        from lab.tuning.ray_tasks import PairLost

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
