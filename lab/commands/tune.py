"""``gougi tune``: better values of search parameters, found by games."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cluster.processors import processors
from master.commands.checks import network_file
from master.commands.common import (
    FAILED,
    CommandError,
    EndsOn,
    Stoppable,
    compile_searcher,
    exit_code,
    notice,
)
from master.commands.options import FleetAddress, FvScale, Json, JsonAtEnd, Openings
from master.commands.plain import PlainCommand, PlainGroup
from worker.files import described

if TYPE_CHECKING:
    from lab.tuning.folder import TuningFolder
    from lab.tuning.play import PairTerms
    from lab.tuning.run import TuneSettings, TuningRun
    from worker.search.engine import NumbaEngine

MOST_OPENINGS = 500
"""Openings made; a longer run plays them again."""

app = typer.Typer(
    cls=PlainGroup,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


@app.callback(invoke_without_command=True)
def tune(
    context: typer.Context,
    params: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Groups to tune (lmr, margins, singular, order, history, correction, depths) and single parameters, "
            "with commas. NAME=LOW:HIGH or NAME=LOW:HIGH:STEP gives a range of your own.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Folder of the run. The same command continues it.")
    ] = Path("runs/tune"),
    iterations: Annotated[int, typer.Option(min=1, metavar="N", help="Steps of the parameters in all.")] = 10_000,
    games_per_iteration: Annotated[
        int, typer.Option(min=2, metavar="N", help="Games of an iteration; even, two for each opening.")
    ] = 2,
    nodes: Annotated[int | None, typer.Option(min=1, metavar="N", help="Nodes a move. Default: 20000.")] = None,
    movetime: Annotated[int | None, typer.Option(min=1, metavar="MS", help="Time a move, instead of nodes.")] = None,
    rate: Annotated[
        float,
        typer.Option(
            metavar="R", help="Number of steps by which a point moves a parameter in the last iteration (r_end)."
        ),
    ] = 0.002,
    nets: Annotated[
        list[Path] | None,
        typer.Option(
            "--net",
            exists=True,
            dir_okay=False,
            metavar="FILE",
            help="Network file (nn.bin). Default: our own. Given more than once, pairs of games take them in turn.",
        ),
    ] = None,
    fv_scale: FvScale = None,
    hash_mb: Annotated[int, typer.Option("--hash", min=1, metavar="MB", help="Table of each searcher.")] = 16,
    openings: Openings = None,
    resign: Annotated[
        int,
        typer.Option(
            min=0, metavar="CP", help="Centipawns behind at which a side loses, if both sides see it. 0: never."
        ),
    ] = 2000,
    max_moves: Annotated[
        int, typer.Option(min=10, metavar="N", help="Number of moves after which a game is drawn.")
    ] = 320,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of perturbations, rounding and openings.")] = 1,
    lag: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Number of iterations played at a time; more keep a larger fleet busy."),
    ] = 8,
    concurrency: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Games at a time on this machine. Default: its processors.")
    ] = None,
    address: FleetAddress = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show parameters, ranges and gains; play nothing.")] = False,
    as_json: JsonAtEnd = False,
) -> int:
    """Tune search parameters by games (SPSA).

    Two versions of the searcher play, with two values of each parameter, and the values move towards those that win.
    FOLDER gets a line for each pair of games and a plot of the parameters. Ctrl-C, a full disk or a dead process cost
    only the pairs in progress: the same command goes on, and at a node limit it ends where it would have ended without
    the break. docs/how-to/tuning.md explains the method, and how a match confirms the result.

    Examples:

      gougi tune --params lmr,margins --plan

      gougi tune --params lmr,margins --iterations 20000 --nodes 10000 --out runs/lmr

      gougi tune show runs/lmr

      gougi tune export runs/lmr
    """
    if context.invoked_subcommand is not None:
        return 0
    from lab.tuning.play import BUILD

    # Before anything of the searcher is imported; the processes of this one get the same build.
    os.environ[BUILD] = "1"
    from cluster.api import FleetError
    from lab.selfplay.run import digest_of
    from lab.tuning.folder import TuningFolder
    from lab.tuning.run import GameSettings, PlayError, TuneSettings, TuningError
    from lab.tuning.spsa import Parameter, SpsaError, SpsaSettings
    from lab.tuning.tunable import TunableError, chosen
    from worker.nnue.format import NetworkFileError

    if games_per_iteration % 2:
        raise CommandError(f"--games-per-iteration {games_per_iteration}: expected an even number")
    if movetime is None and nodes is None:
        nodes = 20_000
    try:
        tuned = chosen(filter(None, map(str.strip, (params or "").split(","))))
        networks = tuple(network_file(net, fv_scale) for net in nets or (None,))
        digests = tuple(map(digest_of, networks))
        settings = TuneSettings(
            SpsaSettings(
                tuple(Parameter(one.name, one.start, one.low, one.high, one.step) for one in tuned),
                iterations, rate=rate, lag=lag, seed=seed,
            ),
            GameSettings(
                digests, fv_scale, nodes, movetime, hash_mb, max_moves=max_moves, resign_cp=resign
            ),
            games_per_iteration // 2,
        )  # fmt: skip
        if plan:
            return _show_plan(settings, as_json)
        folder = TuningFolder(out)
        with folder.held():
            return _run(folder, settings, networks, openings, concurrency, address, as_json)
    except (PlayError, FleetError) as error:
        raise CommandError(str(error), FAILED) from error
    except (TuningError, TunableError, SpsaError, NetworkFileError, ValueError) as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{described(error)}; the same command goes on", FAILED) from error


def _show_plan(settings: TuneSettings, as_json: bool) -> int:
    from lab.tuning.report import plan_table, print_whole

    if as_json:
        print(json.dumps(settings.to_json()))
    else:
        print_whole(plan_table(settings))
    return 0


def _run(
    folder: TuningFolder,
    settings: TuneSettings,
    networks: Sequence[bytes],
    openings: Path | None,
    concurrency: int | None,
    address: str | None,
    as_json: bool,
) -> int:
    from lab.tuning.play import PairTerms, code_version
    from lab.tuning.report import facts_of, line, parameter_table, plot, print_whole

    terms = PairTerms(settings.games, settings.names, code_version())
    notice(folder.claim(settings, terms.code))
    if address is None:
        compile_searcher()
    _settle_openings(folder, settings, networks[0], openings)
    run, dropped = folder.run(settings, mend=True)
    notice(dropped)
    whole = run.finished or _play(folder, run, terms, networks, concurrency or processors(), address)
    folder.keep_plot(plot(run, folder.path.name))
    if not as_json:
        print_whole(parameter_table(run))
    print(json.dumps(facts_of(run, str(folder.path))) if as_json else line(run))
    return exit_code(whole, folder.path)


def _settle_openings(folder: TuningFolder, settings: TuneSettings, network: bytes, file: Path | None) -> None:
    """Have the folder hold openings: those of ``file``, or made ones that ``network`` finds even.

    Raises:
        TuningError: it holds others than those of ``file``, or the file has none.
    """
    from lab.match.openings import OpeningError, made_openings, named_openings, openings_of
    from lab.tuning.run import TuningError

    known = folder.known_openings()
    try:
        name = named_openings(file)
        given = [] if name is None else openings_of(name, settings.spsa.seed)
        if known:
            if given not in ([], known):
                raise TuningError(f"{folder.path}: begun with other openings than those of {file}")
            return
        if given:
            folder.keep_openings(given)
            return
        count = min(MOST_OPENINGS, settings.pairs * settings.spsa.iterations)

        def engine() -> NumbaEngine:
            from worker.nnue import Network
            from worker.nnue.format import parse_network
            from worker.search.engine import NumbaEngine

            own = Network(parse_network(network), fv_scale=settings.games.fv_scale)
            return NumbaEngine(hash_mb=1, network=own)

        folder.keep_openings(made_openings(count, settings.spsa.seed, engine))
    except OpeningError as error:
        raise TuningError(str(error)) from error


def _play(
    folder: TuningFolder,
    run: TuningRun,
    terms: PairTerms,
    networks: Sequence[bytes],
    processes: int,
    address: str | None,
) -> bool:
    """Play what is missing. False: Ctrl-C or SIGTERM ended it."""
    import asyncio

    from lab.tuning.play import Event, play_here, play_on_ray
    from lab.tuning.report import TuningProgress, plot

    with Stoppable() as block, TuningProgress(run) as progress:

        def on_event(event: Event) -> None:
            if progress.take(event):
                folder.keep_plot(plot(run, folder.path.name))

        if address is None:
            play_here(processes, networks, terms, run, folder.append, on_event)
        else:
            asyncio.run(play_on_ray(address, networks, terms, run, folder.append, on_event))
    return block.finished


def _known(path: Path) -> tuple[TuningFolder, TuningRun]:
    """A folder and its run, as far as it is played."""
    from lab.tuning.folder import TuningFolder
    from lab.tuning.run import TuningError

    folder = TuningFolder(path)
    with EndsOn(TuningError):
        return folder, folder.run(folder.known()[0], mend=False)[0]


_FOLDER = Annotated[Path, typer.Argument(exists=True, file_okay=False, metavar="FOLDER", help="Folder of gougi tune.")]


@app.command(cls=PlainCommand)
def show(
    folder: _FOLDER,
    svg: Annotated[
        Path | None, typer.Option("--plot", dir_okay=False, metavar="FILE", help="Write the plot there.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show where the parameters are, also during the run.

    Examples:

      gougi tune show runs/tuned
    """
    from lab.tuning.report import facts_of, line, parameter_table, plot, print_whole
    from worker.files import replace_file

    place, run = _known(folder)
    if svg is not None:
        replace_file(svg, plot(run, place.path.resolve().name).encode())
    if as_json:
        print(json.dumps(facts_of(run, str(place.path))))
        return
    print_whole(parameter_table(run))
    print(line(run))


@app.command(cls=PlainCommand)
def export(
    folder: _FOLDER,
    env: Annotated[
        bool,
        typer.Option(
            "--env",
            help="Print them as GOUGI_PARAMETERS=…, so that a match plays them without a change of the sources.",
        ),
    ] = False,
) -> None:
    """Print the tuned values as lines of parameters.py.

    It prints only values that differ from those of the sources.

    Examples:

      gougi tune export runs/tuned
    """
    from worker.search import parameters
    from worker.search.parameters import VectorError, values_of, vector_text, with_vector

    _, run = _known(folder)
    constants = vars(parameters)
    own = values_of(constants)
    changed = {name: value for name, value in run.vector().items() if own.get(name) != value}
    try:
        lines = [f"{name}: Final = {value}" for name, value in with_vector(constants, changed).items()]
    except VectorError as error:
        raise CommandError(f"{folder}: {error}: it was tuned with other sources") from error
    for line in [f"GOUGI_PARAMETERS={vector_text(changed)}"] if env else lines:
        print(line)
