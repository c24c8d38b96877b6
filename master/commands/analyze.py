"""``gougi analyze``: the good and bad moves of finished games."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cluster.processors import processors
from master.commands.checks import Kind, check_fleet, check_folder, check_kind
from master.commands.common import BAD_INPUT, FAILED, INTERRUPTED, CommandError, compile_searcher, notice, tell
from master.commands.options import Address, Single
from master.commands.settings import ConfigFile, load

if TYPE_CHECKING:
    from cluster.api import Searcher
    from master.analysis.report import GameReport
    from master.analysis.run import Analysis, Job
    from master.analysis.strength import Calibration
    from master.config import Config

_MOST_UNASKED: Final = 2
"""Default number of nodes: with more, a position gets more effort than the one with which strength was measured."""


def analyze(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Records: CSA, KIF, KI2 or JKF.")],
    nodes_per_move: Annotated[
        int | None,
        typer.Option(
            min=100, metavar="N", help="Search nodes for a position, for each node of the fleet. Default: 50000."
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0.05, max=3600, metavar="S", help="Time for a position, instead of nodes.")
    ] = None,
    multipv: Annotated[
        int | None,
        typer.Option(
            min=1, max=20, metavar="N", help="Number of moves searched in each position. Default: 1; --problems: 3."
        ),
    ] = None,
    again: Annotated[
        int,
        typer.Option(
            min=1,
            max=100,
            metavar="TIMES",
            help="Bad moves are searched again with this many times the effort; 1: no second search.",
        ),
    ] = 5,
    first: Annotated[int, typer.Option("--from", min=1, metavar="N", help="First move to judge.")] = 1,
    last: Annotated[int | None, typer.Option("--to", min=1, metavar="N", help="Last move to judge.")] = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for reports and finished searches.")] = Path(
        "analysis"
    ),
    nodes: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help=f"Node processes that search. Default: {_MOST_UNASKED}; 1 on a machine with one processor.",
        ),
    ] = None,
    address: Address = None,
    single: Single = False,
    net: Annotated[str | None, typer.Option(metavar="FILE", help="Network file (nn.bin). Default: our own.")] = None,
    problems: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the bad moves as next-move problems for ShogiHome (.json) too."),
    ] = None,
    reuse: Annotated[
        bool, typer.Option("--reuse", help="Keep positions for all analyses, and use the results of earlier ones.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of tables, for programs.")] = False,
    config: ConfigFile = None,
) -> int:
    """Analyse finished games: bad moves, better moves, strength.

    The fleet searches each position, the last one first, and then again, longer, those before and after each bad move.
    FOLDER gets for each game NAME.html (with a score graph, and the best move and variation of each position; it opens
    in any browser, without a network), NAME.annotated.csa and NAME.annotated.kif. For several games it also gets
    index.html, with each player's rates over all of them. docs/how-to/analysis.md explains the figures.

    Ctrl-C keeps all finished searches; the same command continues from there.

    Examples:

      gougi analyze records/game.csa

      gougi analyze *.kif --seconds 2 --nodes 4 --out meijin

      gougi analyze game.csa --from 40 --to 60 --nodes-per-move 1000000 --multipv 3

      gougi analyze game.csa --single --json > game.json

      gougi analyze *.kif --reuse --problems mine.json
    """
    if nodes_per_move is not None and seconds is not None:
        raise CommandError("give --nodes-per-move or --seconds, not both")
    from master.analysis.run import Analysis
    from master.analysis.session import Pace

    settings = load(config, {"cluster": {"nodes": nodes, "address": address}, "engine": {"eval_file": net}})
    settings = _with_nodes(settings)
    jobs, refused = _read(files, first, last)
    check_fleet(settings, single=single)
    if problems is not None:
        if problems.is_dir():
            raise CommandError(f"--problems: {problems}: a folder, not a file")
        check_folder(problems.parent, "--problems")
    check_folder(out, "--out")
    ms = None if seconds is None else round(seconds * 1000)
    pace = Pace(None if ms is not None else nodes_per_move or 50_000, ms, multipv or (1 if problems is None else 3))
    code = _run(Analysis(settings, single, pace, out, jobs, again, problems, reuse), single, as_json)
    return code or (FAILED if refused else 0)


def _with_nodes(settings: Config) -> Config:
    """The configuration with numbers of nodes and threads filled in, if it leaves them open."""
    cluster = settings.cluster.model_copy(update={"nodes": settings.cluster.nodes or min(processors(), _MOST_UNASKED)})
    engine = settings.engine.model_copy(update={"threads": settings.engine.threads or 1})
    return settings.model_copy(update={"cluster": cluster, "engine": engine})


def _read(files: Sequence[Path], first: int, last: int | None) -> tuple[tuple[Job, ...], int]:
    """The games of all files, and the number of refused files or games; each refusal is printed at once."""
    from master.analysis.run import read_jobs

    refused: list[str] = []
    records: list[Path] = []
    for file in files:
        try:
            check_kind(file, Kind.RECORD)
            records.append(file)
        except CommandError as error:
            refused.append(str(error))
    jobs = read_jobs(records, first, last, refused, notice)
    if not jobs:
        raise CommandError("\n".join(refused), BAD_INPUT)
    for refusal in refused:
        notice(refusal)
    return jobs, len(refused)


def _run(analysis: Analysis, single: bool, as_json: bool) -> int:
    from cluster.api import FleetError
    from master.analysis.run import search, write_page, write_problems
    from master.analysis.store import PositionStore, shared_path
    from master.commands.lifetime import Interrupted, run_to_end
    from master.ui.progress import PositionBar
    from master.ui.texts import say

    files = [PositionStore(analysis.out / "positions.db")]
    if analysis.reuse:
        files.append(PositionStore(shared_path(), histories=False))

    async def main() -> tuple[list[GameReport], Calibration | None]:
        with contextlib.ExitStack() as stack:
            bar = stack.enter_context(PositionBar(0))
            stores = [stack.enter_context(file) for file in files]
            return await search(analysis, _searcher(analysis.config, single), stores, bar)

    try:
        compile_searcher()
        reports, calibration = run_to_end(main)
        page = write_page(analysis, reports, calibration)
        if analysis.problems is not None:
            count = write_problems(analysis, reports, analysis.problems)
            tell(say("problems: {count} in {file}", count=count, file=analysis.problems))
    except FleetError as error:
        raise CommandError(str(error), FAILED) from error
    except Interrupted:
        tell(say("interrupted: the same command continues from {out}", out=analysis.out))
        return INTERRUPTED
    _tell(analysis, reports, calibration, as_json)
    print(say("report: {page}", page=page), file=sys.stderr if as_json else sys.stdout)
    return 0


def _searcher(settings: Config, single: bool) -> Searcher:
    from master.commands.players import make_fleet, make_single

    return make_single(settings) if single else make_fleet(settings)


def _tell(analysis: Analysis, reports: Sequence[GameReport], calibration: Calibration | None, as_json: bool) -> None:
    from master.analysis import table
    from master.analysis.report import facts, player_facts, players
    from master.ui.console import Console

    rated = players(reports, calibration)
    if as_json:
        games = [facts(report) for report in reports]
        words = analysis.words(str.format)
        head = {"engine": words.engine, "effort": words.effort, "no_strength": words.no_strength}
        print(
            json.dumps(
                {**head, "games": games, "players": [player_facts(player) for player in rated]}, ensure_ascii=False
            )
        )
        return
    console = Console()
    terminal = table.Terminal(console.width, console.encoding)
    words = analysis.words(terminal.say)
    if len(reports) == 1:
        console.print(table.game_table(reports[0], terminal))
        console.print()
        rated = reports[0].players
    console.print(table.players_table(rated, terminal, terminal.marks if len(reports) == 1 else ()))
    console.print()
    console.print(table.strength_lines(rated, words, terminal))
    for bands in table.bands_tables(rated[:4], terminal):
        console.print(bands)
        console.print()
    console.print(table.notes(words, terminal))
