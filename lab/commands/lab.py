"""``gougi lab``: measures strategies by games of fleets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.commands.options import Concurrency, Hash, MaxMoves, Out, SprtBounds
from master.commands.checks import check_net
from master.commands.common import CommandError, EndsOn
from master.commands.options import FvScale, JsonAtEnd


def lab(
    nodes: Annotated[str, typer.Option(metavar="N,N,…", help="Numbers of nodes of the fleet.")] = "1,2,4,8",
    strategy: Annotated[
        str, typer.Option(metavar="NAME,NAME,…", help="Strategies (--list names them). Default: all.")
    ] = "",
    budget: Annotated[
        int, typer.Option(min=100, metavar="N", help="Search nodes a move, for each node of the fleet.")
    ] = 4000,
    games: Annotated[
        int, typer.Option(min=2, metavar="N", help="Games for each strategy and number of nodes; even.")
    ] = 100,
    against: Annotated[
        str,
        typer.Option(metavar="KX|NAME[@N]", help="One node with K times the budget; or a strategy with N nodes."),
    ] = "1x",
    sprt: SprtBounds = None,
    net: Annotated[Path | None, typer.Option(metavar="FILE", help="Network file (nn.bin). Default: our own.")] = None,
    fv_scale: FvScale = None,
    out: Out = Path("runs/lab"),
    concurrency: Concurrency = 1,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the openings.")] = 1,
    hash_mb: Hash = 4,
    max_moves: MaxMoves = 320,
    as_json: JsonAtEnd = False,
    list_names: Annotated[
        bool, typer.Option("--list", help="Name the strategies and their settings; no games.")
    ] = False,
) -> int:
    """Measure how much stronger a fleet of N nodes is than one node.

    All nodes are virtual: they search one after the other on this machine, in virtual time, each within its budget. The
    same seed gives the same games, however many run at a time. docs/how-to/lab.md explains the figures.

    To play real processes on a real clock, use gougi match: gougi match "gougi usi --nodes 2" gougi --byoyomi 0.3

    FOLDER gets a line for each game, and the result. Ctrl-C keeps all finished games; the same command
    continues from there, also with more games, nodes or strategies.

    Examples:

      gougi lab --nodes 1,2,4,8 --strategy split,consult --games 100 --net nn.bin --concurrency 2

      gougi lab --nodes 4 --strategy split --against 2x --out runs/lab-2x

      gougi lab --nodes 4,8 --strategy split --against consult --out runs/lab-vote

      gougi lab --nodes 4 --strategy split,split+presearch_share=0.2+takeover.margin=40
    """
    from cluster.coordination.settings import Mode
    from lab.match.statistics import Sprt
    from lab.strategies.records import LabFolder
    from lab.strategies.run import run
    from lab.strategies.settings import LabError, LabSettings, Plan
    from lab.strategies.strategy import THREADS, adjustable
    from master.analysis.strength import network_hash

    if list_names:
        print("strategies:", *Mode, THREADS)
        print("settings:  ", *adjustable())
        return 0
    with EndsOn(ValueError):
        test = None if sprt is None else Sprt.parse(sprt)
    with EndsOn(LabError):
        if net is not None:
            check_net(str(net), "--net")
        plan = Plan(tuple(_words(strategy)) or tuple(Mode), tuple(_numbers(nodes)), games)
        settings = LabSettings(
            budget=budget,
            against=against,
            seed=seed,
            net=network_hash("" if net is None else str(net)),
            fv_scale=fv_scale,
            hash_mb=hash_mb,
            max_moves=max_moves,
        )
        return run(LabFolder(out), settings, plan, test, net, concurrency, as_json)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(text: str) -> list[int]:
    try:
        return [int(word) for word in _words(text)]
    except ValueError:
        raise CommandError(f"--nodes {text}: expected whole numbers with commas between, such as 1,2,4") from None
