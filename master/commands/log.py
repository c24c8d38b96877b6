"""``gougi log``: what a game log says, in short."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from master.commands.common import CommandError
from master.commands.kinds import Kind, only
from master.commands.options import Json
from worker.files import reason

if TYPE_CHECKING:
    from master.game.summary import LogSummary


def log(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="Logs: records/gougi-….jsonl.", callback=only(Kind.LOG))
    ],
    as_json: Json = False,
) -> None:
    """Sum up game logs: results, time used, nodes lost, warnings.

    If a log was cut into several files, name any one of them: the command reads them all. It reads a log that is still
    being written as far as it goes. A log has moves and results if it was written at the level debug, the default.

    Examples:

      gougi log records/gougi-20261121-101500-4711.jsonl

      gougi log records/gougi-*.jsonl --json
    """
    from master.game.summary import LogSummary, read
    from master.logs.files import NotTextError, run_of

    found = LogSummary()
    logs = {(file.resolve().parent, run_of(file) or file.name): file for file in files}
    for file in logs.values():
        try:
            read(file, found)
        except NotTextError as error:
            raise CommandError(str(error)) from error
        except (OSError, ValueError) as error:
            raise CommandError(f"{file}: {reason(error)}") from error
    if as_json:
        print(json.dumps(found.facts(), ensure_ascii=False))
        return
    _tell(found)


def _tell(found: LogSummary) -> None:
    from rich.table import Table
    from rich.text import Text

    from master.records.notation import SIDES
    from master.ui.console import Console

    console = Console()
    say = console.say
    if found.games:
        table = Table(box=None, header_style="dim", pad_edge=False)
        for name in ("player", "against", "result", "reason"):
            table.add_column(name)
        for name in ("moves", "used", "other's"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("decided by")
        for game in found.games:
            mark = SIDES[game.side == "-"]
            cells = (f"{mark} {game.player}", game.opponent, game.result or "unfinished", game.reason)
            figures = (str(game.moves), _time(game.own_s), _time(game.other_s), _counts(game.decisions))
            table.add_row(*map(Text, (*cells, *figures)))
        console.print(table)
    results = found.results()
    words = [f"{results.pop(name, 0)} {name}" for name in ("won", "lost", "drawn")]
    words += [f"{count} {name}" for name, count in results.items()]
    say(f"games: {len(found.games)}: {', '.join(words)}" if found.games else "games: none")
    say(f"time used: {_time(sum(game.own_s for game in found.games))}")
    say(f"nodes lost: {found.node_losses.total()}" + (f" ({_counts(found.node_losses)})" if found.node_losses else ""))
    for why, count in found.loss_reasons.most_common(5):
        say(f"  {count} times: {why}")
    say(f"Ray lost: {found.ray_losses}")
    say(f"warnings: {_counts(found.loud) or 'none'}")
    if found.began:
        say(f"from {found.began} to {found.ended}, {found.lines} lines")
    for gap in found.gaps:
        say(f"missing: {gap}")
    if found.damaged:
        say(f"damaged lines passed over: {found.damaged}")


def _counts(counts: Counter[str]) -> str:
    """``vote 40, forced 2``."""
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"
