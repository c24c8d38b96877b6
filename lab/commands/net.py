"""``gougi net``: contents and scale of a network file, differences of two, the mean of some; networks of others."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from lab.commands.options import TeacherGames
from lab.commands.selfplay import OUR_SCALE
from lab.commands.train import require_torch
from master.commands.checks import Kind, only
from master.commands.common import FAILED, CommandError, EndsOn, interruptible, tell
from master.commands.options import Architecture, Json
from master.commands.plain import PlainCommand, PlainGroup
from master.nets.command import get, list_nets
from worker.files import described

app = typer.Typer(
    cls=PlainGroup,
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    help="""List and fetch the networks that others publish; show, compare and blend network files (nn.bin).

    Examples:

      gougi net get suisho5

      gougi net info runs/net1/nn.bin

      gougi net compare runs/net1/nn.bin runs/net2/nn.bin --data runs/games1
    """,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("list", cls=PlainCommand)(list_nets)
app.command("get", cls=PlainCommand)(get)

_NET = Annotated[
    Path,
    typer.Argument(exists=True, dir_okay=False, metavar="FILE", help="Network file (nn.bin).", callback=only(Kind.NET)),
]


@app.command(cls=PlainCommand)
def info(file: _NET, architecture: Architecture = "", as_json: Json = False) -> None:
    """Show a network's architecture, size, hash and ranges of weights.

    Examples:

      gougi net info runs/net1/nn.bin
    """
    from lab.training.net_facts import facts_text, file_facts
    from worker.nnue.architecture import NetworkFileError
    from worker.nnue.beside import read_beside
    from worker.nnue.network import read_any

    with EndsOn(NetworkFileError, OSError):
        content, beside = file.read_bytes(), read_beside(file)
        network = read_any(file, architecture=architecture or beside.architecture)
    facts = {"file": str(file), **file_facts(network, content, beside.fv_scale)}
    print(json.dumps(facts) if as_json else facts_text(facts))


@app.command(cls=PlainCommand)
def calibrate(
    file: Annotated[
        Path,
        typer.Argument(exists=True, metavar="FILE", help="Network file (nn.bin) or its folder."),
    ],
    games: Annotated[int, typer.Option(min=20, max=500, metavar="N", help="Quick games.")] = 300,
    architecture: Architecture = "",
    keep: Annotated[bool, typer.Option(help="Write the scale into a file beside the network.")] = True,
    as_json: Json = False,
) -> None:
    """Measure the FV_SCALE with which a network's scores fit the search.

    The network plays quick games against itself. They show how often a score wins, and from that the divisor by which
    it wins as often as the same score of our own network. The result stays beside the network (nn.bin.toml), and every
    engine of Gougi uses it for this network, unless the option FV_SCALE or the configuration says otherwise. This takes
    a few minutes.

    Examples:

      gougi net calibrate runs/net1/nn.bin

      gougi net calibrate ~/nets/suisho --games 100 --no-keep
    """
    from lab.match.openings import natural_openings
    from master.commands.checks import check_net
    from master.commands.common import compile_searcher, tell
    from worker.nnue import NetworkFileError, load_network
    from worker.nnue.beside import write_beside
    from worker.nnue.format import network_path

    check_net(str(file), "", architecture)
    compile_searcher()
    from lab.match.calibrate import NODES, REFERENCE_CP, CalibrationError
    from lab.match.calibrate import calibrate as measure

    def on_game(number: int) -> None:
        if number % 20 == 0 and not as_json:
            tell(f"{number} of {games} games")

    with EndsOn(NetworkFileError, CalibrationError, OSError, code=FAILED):
        net = network_path(file)
        network = load_network(net, architecture=architecture)
        before = network.fv_scale
        found = interruptible(lambda: measure(network, natural_openings(1)[:games], on_game=on_game))
        facts = {**asdict(found), "nodes": NODES, "reference_cp": REFERENCE_CP, "date": f"{date.today()}"}
        if architecture:
            facts["architecture"] = architecture
    kept, unkept = None, None
    try:
        kept = write_beside(net, facts) if keep else None
    except OSError as error:  # the games took minutes: their result is shown all the same
        unkept = error
    if as_json:
        print(json.dumps({"file": str(net), **facts, "before": before, "kept": str(kept) if kept else None}))
    else:
        print(f"{net}: FV_SCALE {found.fv_scale} (95 %: {found.low:.1f} to {found.high:.1f}); until now {before}")
        print(
            f"the side ahead wins e to 1 at {found.win_scale:,.0f} raw; {found.games} games, "
            f"{found.positions:,} positions"
        )
        print(f"kept in {kept}" if kept else "not kept" if unkept else "not kept (--no-keep)")
    if unkept is not None:
        raise CommandError(described(unkept), FAILED) from unkept


@app.command(cls=PlainCommand)
def blend(
    nets: Annotated[
        list[Path],
        typer.Argument(
            exists=True,
            dir_okay=False,
            metavar="A B…",
            help="Network files (nn.bin) of the same shape.",
            callback=only(Kind.NET),
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The mean's file. It is replaced.")],
    share: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            metavar="S",
            help="Share of the last network in the mean; the others share the rest. Default: equal shares.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the mean of several networks.

    Use it for networks that were trained from the same network (gougi train --from). Networks that were trained apart
    have their units in different orders, so their mean plays badly. Check the result by a match. The networks must have
    the same FV_SCALE, which the mean's file then has.

    Examples:

      gougi net blend runs/net2/nn.bin runs/net3/nn.bin --share 0.3 --out blended.bin

      gougi net blend runs/a/nn.bin runs/b/nn.bin runs/c/nn.bin --out mean.bin
    """
    if len(nets) < 2:
        raise CommandError(f"{nets[0]}: expected two networks or more")
    from lab.training.weights import BlendError, read_with_beside
    from lab.training.weights import blend as mean
    from worker.files import replace_file
    from worker.nnue.architecture import NetworkFileError
    from worker.nnue.network import serialise

    try:
        last = 1 / len(nets) if share is None else share
        shares = [(1 - last) / (len(nets) - 1)] * (len(nets) - 1) + [last]
        content = serialise(mean([read_with_beside(path) for path in nets], shares))
        out.parent.mkdir(parents=True, exist_ok=True)
        replace_file(out, content)
    except (NetworkFileError, BlendError) as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(described(error), FAILED) from error
    if as_json:
        facts = {"net": str(out), "sha256": hashlib.sha256(content).hexdigest(), "nets": [str(path) for path in nets]}
        print(json.dumps({**facts, "shares": shares}))
        return
    print(f"{out}: {', '.join(f'{part:.0%} of {path}' for path, part in zip(nets, shares, strict=True))}")


@app.command(cls=PlainCommand)
def compare(
    first: Annotated[
        Path,
        typer.Argument(
            exists=True, dir_okay=False, metavar="A", help="Network file (nn.bin).", callback=only(Kind.NET)
        ),
    ],
    second: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, metavar="B", help="Another one.", callback=only(Kind.NET))
    ],
    data: TeacherGames,
    positions: Annotated[int, typer.Option(min=2, metavar="N", help="Number of positions.")] = 5000,
    as_json: Json = False,
) -> None:
    """Compare the evaluations of two networks in quiet positions of teacher games.

    It prints the rms difference, the correlation, and how well each network predicts, without a search, the results of
    the games (result loss, in nats: less is better, chance has 0.693) and the winning chances by their scores
    (distance, in nats). The differences have 95 % intervals. Positions that gougi train keeps for validation come
    first, because no network has learned from them.

    Examples:

      gougi net compare runs/net1/nn.bin runs/net2/nn.bin --data runs/games2
    """
    from lab.training.compare import comparison, comparison_text, quiet_records
    from lab.training.corpus import CorpusError, shard_files
    from lab.training.run import compile_training
    from lab.training.weights import read_with_beside
    from worker.nnue.architecture import NetworkFileError

    with EndsOn(NetworkFileError, OSError):
        a, b = (read_with_beside(path) for path in (first, second))
    compile_training()
    with EndsOn(CorpusError, OSError, code=FAILED):
        records, held_out = interruptible(lambda: quiet_records(shard_files(data, psv=False), positions))
    facts = {"a": str(first), "b": str(second), "held_out": held_out}
    facts |= interruptible(lambda: comparison(a, b, records))
    print(json.dumps(facts) if as_json else comparison_text(facts))


@app.command(cls=PlainCommand)
def attacks(
    file: Annotated[
        Path,
        typer.Argument(
            exists=True, dir_okay=False, metavar="FILE", help="Network file (nn.bin).", callback=only(Kind.NET)
        ),
    ],
    data: TeacherGames,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The new file. It is replaced.")],
    scale: Annotated[
        float, typer.Option(min=1, metavar="CP", help="Centipawns of the scores to one logistic unit.")
    ] = OUR_SCALE,
    score_share: Annotated[
        float,
        typer.Option(
            "--lambda",
            min=0,
            max=1,
            metavar="SHARE",
            help="Share of the score in a label; the rest is the game's result.",
        ),
    ] = 1.0,
    horizon: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="PLIES",
            help="Look-ahead of a position's score, as of gougi train. Chance in later scores does so small a network "
            "little harm.",
        ),
    ] = 4.0,
    positions: Annotated[int, typer.Option(min=100, metavar="N", help="Number of positions, at most.")] = 3_000_000,
    as_json: Json = False,
) -> None:
    """Give a network an attack network, trained with the scores of teacher games.

    An attack network is a small network whose output is added to the one's beside it. Its inputs are attacks: on the
    squares around both kings and on the pieces of both sides, moves and drops that give check, safe squares, and the
    evaluation by the network beside it. The file has it in its architecture string, and programs that do not know it
    play without it. Networks of the classic families can have one, but not SFNN networks. gougi train --from keeps it,
    and the network learns what it leaves.

    Examples:

      gougi net attacks runs/net1/nn.bin --data runs/games1 --out attacks.bin
    """
    require_torch("net attacks")
    from lab.training.compare import positions_of
    from lab.training.corpus import CorpusError, shard_files
    from lab.training.network.attacks import PASSES, fit
    from lab.training.replay import TRAINING, VALIDATION
    from lab.training.run import compile_training
    from lab.training.weights import read_with_beside
    from worker.files import replace_file
    from worker.nnue.architecture import NetworkFileError
    from worker.nnue.format import NetworkFile, serialise_network

    with EndsOn(NetworkFileError, OSError):
        network = read_with_beside(file)
    if not isinstance(network, NetworkFile):
        raise CommandError(f"{file}: an SFNN network, which can have no attack network")
    compile_training()
    with EndsOn(CorpusError, OSError, ValueError, code=FAILED):
        shards = shard_files(data, psv=False)
        known, other = interruptible(
            lambda: [positions_of(shards, positions, part, horizon, scale) for part in (TRAINING, VALIDATION)]
        )

        def on_pass(number: int, loss: float) -> None:
            tell(f"pass {number} of {PASSES}: loss {loss:.5f}")

        found = interruptible(lambda: fit(network, known, other, scale, score_share=score_share, on_pass=on_pass))
        content = serialise_network(found.network)
        out.parent.mkdir(parents=True, exist_ok=True)
        replace_file(out, content)
    facts = {"net": str(out), "sha256": hashlib.sha256(content).hexdigest(), "positions": len(known)}
    facts |= {"held_out": len(other), "before": found.before, "after": found.after}
    if as_json:
        print(json.dumps(facts))
        return
    print(
        f"{out}: from {len(known):,} positions; loss in {len(other):,} others {found.before:.5f} -> {found.after:.5f}"
    )
