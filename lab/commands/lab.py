"""``gougi lab``: measures strategies by games of fleets."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from master.commands.checks import check_folder, check_net
from master.commands.common import CommandError, EndsOn, Stoppable, compile_searcher, exit_code, notice
from master.commands.options import FvScale, JsonAtEnd, OpeningMargin, OpeningPlies

if TYPE_CHECKING:
    from cluster.coordination.strategies import Measured
    from lab.match.statistics import Sprt
    from lab.strategies.records import GameResult, LabFolder
    from lab.strategies.report import PointResult
    from lab.strategies.run import GamesProgress
    from lab.strategies.settings import LabSettings, Plan


def lab(
    nodes: Annotated[str, typer.Option(metavar="N,N,…", help="Numbers of nodes of the fleet.")] = "1,2,4,8",
    strategy: Annotated[
        str, typer.Option(metavar="NAME,NAME,…", help="Strategies (--list names them). Default: all.")
    ] = "",
    budget: Annotated[int, typer.Option(min=100, metavar="N", help="Nodes a move that each node searches.")] = 4000,
    games: Annotated[
        int, typer.Option(min=2, metavar="N", help="Games for each strategy and number of nodes; even.")
    ] = 100,
    against: Annotated[
        str,
        typer.Option(metavar="KX|NAME[@N]", help="One node with K times the budget; or a strategy with N nodes."),
    ] = "1x",
    sprt: Annotated[
        str | None,
        typer.Option(
            metavar="ELO0,ELO1",
            help="Play no more games of a strategy and number of nodes once a test has decided between these two.",
        ),
    ] = None,
    net: Annotated[Path | None, typer.Option(metavar="FILE", help="Network file (nn.bin). Default: our own.")] = None,
    fv_scale: FvScale = None,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder of the games. The same command continues them.")
    ] = Path("runs/lab"),
    concurrency: Annotated[int, typer.Option(min=1, metavar="N", help="Games at a time.")] = 1,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the openings.")] = 1,
    hash_mb: Annotated[int, typer.Option("--hash", min=1, metavar="MB", help="Table of each node.")] = 4,
    resign: Annotated[
        int,
        typer.Option(
            min=0, metavar="CP", help="Centipawns ahead at which a game ends, if both sides see it. 0: never."
        ),
    ] = 2000,
    resign_moves: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="For --resign: number of moves of each side in a row at which it must be so."
        ),
    ] = 3,
    max_moves: Annotated[
        int, typer.Option(min=10, metavar="N", help="Number of moves after which a game is drawn.")
    ] = 320,
    opening_plies: OpeningPlies = 12,
    opening_margin: OpeningMargin = 120,
    table: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Enter the result in this table; a fleet in mode auto chooses from cluster/measured.json alone.",
        ),
    ] = None,
    as_json: JsonAtEnd = False,
    list_names: Annotated[
        bool, typer.Option("--list", help="Name the strategies and their settings; no games.")
    ] = False,
) -> int:
    """Measure how much stronger a fleet of N nodes is than one node.

    All nodes are virtual: they search one after the other on this machine, in virtual time, each within its budget. The
    same seed gives the same games, however many run at a time. docs/how-to/lab.md explains the figures.

    To play real processes on a real clock, use gougi match: gougi match "gougi usi --nodes 2" gougi --byoyomi 0.3

    FOLDER gets a line for each game, the result and a plot (elo.svg). Ctrl-C keeps what was played; the same command
    goes on from there, also with more games, nodes or strategies.

    Examples:

      gougi lab --nodes 1,2,4,8 --strategy split,consult:majority --games 100 --net nn.bin --concurrency 2

      gougi lab --nodes 4 --strategy split --against 2x --out runs/lab-2x

      gougi lab --nodes 4,8 --strategy split --against consult:majority --out runs/lab-vote

      gougi lab --nodes 4 --strategy split,split+presearch_share=0.2+takeover.margin=40
    """
    from cluster.coordination.strategies import TableError, adjustable, offered
    from lab.strategies.records import LabFolder
    from lab.strategies.settings import LabError, LabSettings, Plan
    from master.analysis.strength import network_hash

    if list_names:
        print("strategies:", *offered())
        print("settings:  ", *adjustable())
        return 0
    with EndsOn(LabError, TableError):
        if net is not None:
            check_net(str(net), "--net")
        if table is not None:
            check_folder(table.parent, "--table")
            _known_points(table)
        plan = Plan(tuple(_words(strategy)) or offered(), tuple(_numbers(nodes)), games)
        settings = LabSettings(
            budget=budget,
            against=against,
            seed=seed,
            net=network_hash("" if net is None else str(net)),
            fv_scale=fv_scale,
            hash_mb=hash_mb,
            max_moves=max_moves,
            resign_cp=resign,
            resign_moves=resign_moves,
            opening_plies=opening_plies,
            opening_margin_cp=opening_margin,
        )
        test = _test(sprt)
        folder = LabFolder(out)
        if table is not None:
            from lab.strategies.report import check_for_table

            check_for_table(settings)
        with folder.held():
            code = _run(folder, settings, plan, test, net, concurrency, as_json)
            if table is not None and code == 0:
                _enter(folder, settings, plan, table)
            return code


def _enter(folder: LabFolder, settings: LabSettings, plan: Plan, table: Path) -> None:
    """Put the plan's points into ``table``, in the place of earlier measurements of the same.

    The folder may hold other points, which another command left unfinished.
    """
    from cluster.coordination.strategies import write_table
    from lab.strategies.report import measured, summarize

    points = measured(settings, summarize([record for record in folder.read()[0] if record.game.point in plan.points]))
    write_table(table, [*_known_points(table), *points])
    notice(f"{len(points)} points entered in {table}")


def _known_points(table: Path) -> tuple[Measured, ...]:
    from cluster.coordination.strategies import read_table

    return read_table(table) if table.exists() else ()


def _test(sprt: str | None) -> Sprt | None:
    from lab.match.statistics import Sprt

    with EndsOn(ValueError):
        return None if sprt is None else Sprt.parse(sprt)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(text: str) -> list[int]:
    try:
        return [int(word) for word in _words(text)]
    except ValueError:
        raise CommandError(f"--nodes {text}: expected whole numbers with commas between, such as 1,2,4") from None


def _run(
    folder: LabFolder,
    settings: LabSettings,
    plan: Plan,
    sprt: Sprt | None,
    net: Path | None,
    concurrency: int,
    as_json: bool,
) -> int:
    from cluster.engine_spec import EngineSpec
    from cluster.machine.side_by_side import side_by_side
    from lab.strategies.games import EngineMaker, virtual_workplaces
    from lab.strategies.report import facts, plot, sprt_table, summarize, table, undecided
    from lab.strategies.run import GamesProgress
    from lab.strategies.settings import Due

    for words in folder.claim(settings):
        notice(words)
    records, damage = folder.read()
    notice(damage)
    left = list(plan.left([record.game for record in records]))
    title = settings.title

    def keep(finished: bool) -> tuple[list[PointResult], dict[str, Any]]:
        results = summarize(records)
        found = facts(settings, results, finished, sprt)
        folder.keep_result(found, plot(results, title))
        return results, found

    interrupted = False
    if left:
        openings = _openings(folder, settings, plan, net)
        # Asked when a game is due: a test that was decided meanwhile ends its point, until a late game opens it again.
        due = [(game, openings[game.pair]) for game in left]
        tasks = Due(due, lambda point: sprt is None or undecided(records, point, sprt))
        spec = EngineSpec(settings.hash_mb, 1, None if net is None else str(net.resolve()), settings.fv_scale)
        places = virtual_workplaces(settings, EngineMaker(spec), concurrency)
        interrupted = not _take(
            side_by_side(places, tasks), folder, records, GamesProgress(plan, records), lambda: keep(False)
        )
    results, found = keep(not interrupted)
    if as_json:
        print(json.dumps(found, ensure_ascii=False))
    else:
        test = "" if sprt is None else sprt_table(results, sprt)
        parts = (title, table(results), test, f"plot: {folder.plot}")
        print("\n\n".join(part for part in parts if part))
    return exit_code(not interrupted, folder.path)


def _openings(folder: LabFolder, settings: LabSettings, plan: Plan, net: Path | None) -> list[str]:
    """An opening for each pair; those that are missing are made, and kept."""
    from lab.match.openings import OpeningError, made_openings
    from lab.strategies.settings import LabError

    wanted = plan.games // 2
    compile_searcher()
    if len(known := folder.known_openings()) >= wanted:
        return known
    from worker.engine import EngineError
    from worker.search.engine import NumbaEngine

    def engine() -> NumbaEngine:
        return NumbaEngine(1, 1, None if net is None else str(net), settings.fv_scale)

    try:
        made = made_openings(wanted, settings.seed, engine, settings.opening_plies, settings.opening_margin_cp)
    except (EngineError, OpeningError) as error:
        raise LabError(str(error)) from error
    folder.keep_openings(made)
    return made


def _take(
    games: Generator[GameResult],
    folder: LabFolder,
    records: list[GameResult],
    progress: GamesProgress,
    keep: Callable[[], object],
) -> bool:
    """Play on: each game goes into the folder, to ``records`` and on the screen; then ``keep`` is called.

    Returns whether all were played; else Ctrl-C or SIGTERM ended it.
    """
    with Stoppable() as block, closing(games), progress:
        for record in games:
            folder.append(record)
            records.append(record)
            progress.show(record.game.point)
            keep()
    return block.finished
