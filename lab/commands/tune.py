"""``gougi tune``: better values of search parameters, found by games."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cluster.processors import processors
from lab.commands.options import GROUP_SETTINGS, Hash, Out
from master.commands.checks import network_file
from master.commands.common import FAILED, CommandError, EndsOn
from master.commands.options import FleetAddress, FvScale, Json, JsonAtEnd, Openings
from master.commands.plain import PlainCommand, PlainGroup
from worker.files import described

if TYPE_CHECKING:
    from lab.tuning.state import TuningRun

app = typer.Typer(cls=PlainGroup, rich_markup_mode=None, add_completion=False, context_settings=GROUP_SETTINGS)


@app.callback(invoke_without_command=True)
def tune(
    context: typer.Context,
    params: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Groups to tune (lmr, margins, singular, order, history, correction, depths) and single parameters, "
            "separated by commas. NAME=LOW:HIGH or NAME=LOW:HIGH:STEP gives a range of your own.",
        ),
    ] = None,
    out: Out = Path("runs/tune"),
    iterations: Annotated[
        int, typer.Option(min=1, metavar="N", help="Steps of the parameters; each takes two games.")
    ] = 10_000,
    nodes: Annotated[int, typer.Option(min=1, metavar="N", help="Nodes a move.")] = 20_000,
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
    hash_mb: Hash = 16,
    openings: Openings = None,
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
    FOLDER gets a line for each pair of games. Ctrl-C, a full disk or a dead process cost only the pairs in progress:
    the same command continues, with the same result as without the interruption. docs/how-to/tuning.md explains the
    method, and how a match confirms the result.

    Examples:

      gougi tune --params lmr,margins --plan

      gougi tune --params lmr,margins --iterations 20000 --nodes 10000 --out runs/lmr

      gougi tune show runs/lmr

      gougi tune export runs/lmr
    """
    if context.invoked_subcommand is not None:
        return 0
    from lab.tuning.play import BUILD

    # Before any import of the searcher; child processes get the same build.
    os.environ[BUILD] = "1"
    import hashlib

    from cluster.api import FleetError
    from lab.tuning.run import run, show_plan
    from lab.tuning.spsa import SpsaError, SpsaSettings
    from lab.tuning.state import GameSettings, PlayError, TuneSettings, TuningError
    from lab.tuning.tunable import chosen
    from worker.nnue.architecture import NetworkFileError

    try:
        parameters = tuple(chosen(filter(None, map(str.strip, (params or "").split(",")))))
        networks, scales = zip(*(network_file(net, fv_scale) for net in nets or (None,)), strict=True)
        if len(set(scales)) > 1:
            raise ValueError("--net: the files beside these networks give different FV_SCALEs: give one by --fv-scale")
        digests = tuple(hashlib.sha256(network).hexdigest() for network in networks)
        settings = TuneSettings(
            SpsaSettings(parameters, iterations, rate=rate, lag=lag, seed=seed),
            GameSettings(digests, scales[0], nodes, hash_mb),
        )
        if plan:
            return show_plan(settings, as_json)
        return run(out, settings, networks, openings, address or concurrency or processors(), as_json)
    except (PlayError, FleetError) as error:
        raise CommandError(str(error), FAILED) from error
    except (TuningError, SpsaError, NetworkFileError, ValueError) as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{described(error)}; the same command goes on", FAILED) from error


def _known(path: Path) -> TuningRun:
    """A folder's run, as far as it has been played."""
    from lab.tuning.folder import TuningFolder
    from lab.tuning.state import TuningError

    folder = TuningFolder(path)
    with EndsOn(TuningError):
        return folder.run(folder.known(), mend=False)[0]


_FOLDER = Annotated[Path, typer.Argument(exists=True, file_okay=False, metavar="FOLDER", help="Folder of gougi tune.")]


@app.command(cls=PlainCommand)
def show(folder: _FOLDER, as_json: Json = False) -> None:
    """Show the current parameters, also during the run.

    Examples:

      gougi tune show runs/tuned
    """
    from lab.tuning.report import facts, line, parameter_table, print_whole

    run = _known(folder)
    if as_json:
        print(json.dumps({"folder": str(folder), **facts(run)}))
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

    run = _known(folder)
    constants = vars(parameters)
    own = values_of(constants)
    changed = {name: value for name, value in run.vector().items() if own.get(name) != value}
    try:
        lines = [f"{name}: Final = {value}" for name, value in with_vector(constants, changed).items()]
    except VectorError as error:
        raise CommandError(f"{folder}: {error}: it was tuned with other sources") from error
    for line in [f"GOUGI_PARAMETERS={vector_text(changed)}"] if env else lines:
        print(line)
