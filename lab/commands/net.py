"""``gougi net``: contents of a network file, differences of two, and the mean of some."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lab.training.run import compile_training
from master.commands.checks import Kind, only
from master.commands.common import FAILED, CommandError, EndsOn, interruptible
from master.commands.options import Json
from master.commands.plain import PlainCommand
from worker.files import described

if TYPE_CHECKING:
    from lab.training.compare import Ranking, ResultLoss, Sample
    from worker.nnue import Network

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    help="""Show, compare and blend network files (nn.bin).

    Examples:

      gougi net info runs/net1/nn.bin

      gougi net compare runs/net1/nn.bin runs/net2/nn.bin --data runs/games1
    """,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_NET = Annotated[
    Path,
    typer.Argument(exists=True, dir_okay=False, metavar="FILE", help="Network file (nn.bin).", callback=only(Kind.NET)),
]
_DATA = Annotated[
    list[Path] | None,
    typer.Option(
        "--data", exists=True, file_okay=False, metavar="FOLDER", help="Folder of gougi selfplay. May be repeated."
    ),
]


@app.command(cls=PlainCommand)
def info(
    file: _NET,
    data: _DATA = None,
    positions: Annotated[int, typer.Option(min=1, metavar="N", help="Positions of --data, at most.")] = 20_000,
    as_json: Json = False,
) -> None:
    """Show a network's architecture, size, hash and ranges of weights.

    With --data it also shows how often the units of each layer are at their limits, 0 and 127, in positions of these
    games, and how many units never leave them.

    Examples:

      gougi net info runs/net1/nn.bin

      gougi net info runs/net1/nn.bin --data runs/games1
    """
    from lab.training.features import TRAINABLE
    from lab.training.net_facts import activation_facts, file_facts
    from worker.nnue.format import NetworkFileError, parse_network

    with EndsOn(NetworkFileError, OSError):
        content = file.read_bytes()
        network = parse_network(content, file=str(file))
    facts = {"file": str(file), **file_facts(network, content)}
    if data:
        if (features := network.architecture.features.name) not in TRAINABLE:
            raise CommandError(f"{file}: --data is for networks of inputs {', '.join(TRAINABLE)}, not {features}")
        compile_training()
        records = interruptible(lambda: _records(data, positions))
        facts["activations"] = interruptible(lambda: activation_facts(network, records))
    print(json.dumps(facts) if as_json else _info_text(facts))


def _records(data: list[Path], most: int) -> Any:
    """Quiet positions of some shards, evenly."""
    import numpy as np

    from lab.selfplay.shard import ShardError, read_shard
    from lab.training.corpus import CorpusError, Replayer, Split, shard_files
    from lab.training.replay import TRAINING

    with EndsOn(CorpusError, ShardError, code=FAILED):
        files = shard_files(data)
        replayer = Replayer(Split(1e-9, every=False))
        chosen = files[:: max(1, len(files) // 8)]
        found = np.concatenate([replayer.records(read_shard(path), TRAINING) for path in chosen])
    if not len(found):
        raise CommandError(f"{data[0]}: no quiet position in it", FAILED)
    return found[np.linspace(0, len(found) - 1, min(most, len(found))).astype(np.int64)]


def _info_text(facts: dict[str, Any]) -> str:
    named = "" if facts["fv_scale_named"] else " (the file names none)"
    head = [
        ("file", f"{facts['file']}, {facts['bytes']:,} bytes"),
        ("sha256", facts["sha256"]),
        ("architecture", facts["architecture"]),
        ("parameters", f"{facts['parameters']:,}"),
        ("inputs", f"{facts['inputs']:,}, {facts['unused_inputs']:,} of them with no weight"),
        ("raw to a centipawn", f"{facts['fv_scale']}{named}"),
    ]
    wide = max(len(name) for name, _ in head)
    lines = [f"{name:{wide}}  {value}" for name, value in head]
    lines.append(f"\n{'layer':20}{'shape':>12}{'weights':>16}{'deviation':>11}{'zeros':>8}{'at ends':>9}{'biases':>18}")
    for layer in facts["layers"]:
        shape = f"{layer['outputs']}<-{layer['inputs']}"
        weights = f"{layer['least']}..{layer['most']}"
        biases = f"{layer['bias_least']}..{layer['bias_most']}"
        lines.append(
            f"{layer['name']:20}{shape:>12}{weights:>16}{layer['deviation']:>11.1f}{layer['zeros']:>8.1%}"
            f"{layer['at_the_ends']:>9.2%}{biases:>18}"
        )
    if "activations" in facts:
        lines.append(f"\n{'units':20}{'number':>8}{'at 0':>9}{'at 127':>9}{'always 0':>10}{'always 127':>12}")
        lines += [
            f"{layer['name']:20}{layer['units']:>8}{layer['at_0']:>9.1%}{layer['at_127']:>9.1%}"
            f"{layer['always_0']:>10}{layer['always_127']:>12}"
            for layer in facts["activations"]
        ]
    return "\n".join(lines)


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
            help="Share of the last net in the mean; the others share the rest. Default: equal shares.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the mean of several networks.

    Use it for nets that were trained from the same net (gougi train --from). Nets that were trained apart have their
    units in different orders, so their mean plays badly. Check the result by a match.

    Examples:

      gougi net blend runs/net2/nn.bin runs/net3/nn.bin --share 0.3 --out blended.bin

      gougi net blend runs/a/nn.bin runs/b/nn.bin runs/c/nn.bin --out mean.bin
    """
    if len(nets) < 2:
        raise CommandError(f"{nets[0]}: expected two networks or more")
    from lab.training.weights import BlendError
    from lab.training.weights import blend as mean
    from worker.files import replace_file
    from worker.nnue.format import NetworkFileError, read_network, serialise_network

    try:
        last = 1 / len(nets) if share is None else share
        shares = [(1 - last) / (len(nets) - 1)] * (len(nets) - 1) + [last]
        content = serialise_network(mean([read_network(path) for path in nets], shares))
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
    data: _DATA = None,
    positions: Annotated[int, typer.Option(min=2, metavar="N", help="Number of positions.")] = 5000,
    show: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Number of positions to show on a board, those in which they differ most."
        ),
    ] = 3,
    as_json: Json = False,
) -> None:
    """Compare the evaluations of two networks in the same positions.

    It prints the rms difference, the correlation, and the positions in which they differ most. The positions are quiet
    ones of teacher games (--data), else of random games.

    With teacher games it also prints how each network ranks the teacher's move among the legal moves, by its evaluation
    after each move, without a search. The pair rate is the share of pairs of moves that it orders as the teacher does;
    the mean rank is that of the teacher's move. The result loss says how well it foretells the results of the games (in
    nats: less is better, chance has 0.693). Positions that gougi train keeps for validation come first, because no
    network has learned from them.

    Examples:

      gougi net compare runs/net1/nn.bin runs/net2/nn.bin

      gougi net compare runs/net1/nn.bin runs/net2/nn.bin --data runs/games2 --show 10
    """
    from lab.training.compare import (
        comparison,
        evaluations,
        most_different,
        random_samples,
        ranking,
        result_loss,
        teacher_samples,
    )
    from lab.training.corpus import CorpusError, shard_files
    from worker.nnue import NetworkFileError, load_network

    with EndsOn(NetworkFileError, OSError):
        networks = [load_network(path) for path in (first, second)]
    compile_training()
    with EndsOn(CorpusError, OSError, code=FAILED):
        samples = interruptible(
            lambda: teacher_samples(shard_files(data), positions) if data else random_samples(positions)
        )
    values = interruptible(lambda: [evaluations(network, samples) for network in networks])
    ranks = interruptible(lambda: [ranking(network, samples) if data else None for network in networks])
    facts: dict[str, Any] = {"a": str(first), "b": str(second), **comparison(values[0], values[1])}
    facts["held_out"] = sum(sample.is_held_out for sample in samples)
    foretold = [result_loss(one, samples) for one in values]
    for name, rank, loss in zip("ab", ranks, foretold, strict=True):
        facts[f"ranking_{name}"] = None if rank is None else asdict(rank)
        facts[f"results_{name}"] = None if loss is None else asdict(loss)
    places = most_different(values[0], values[1], show)
    facts["most_different"] = [
        {"sfen": samples[place].sfen, "where": samples[place].where, "a": int(values[0][place]),
         "b": int(values[1][place])}
        for place in places
    ]  # fmt: skip
    if as_json:
        print(json.dumps(facts))
        return
    print(_compare_text(facts, networks, ranks, foretold))
    for place in places:
        _show(samples[place], int(values[0][place]), int(values[1][place]))


def _compare_text(
    facts: dict[str, Any], networks: list[Network], ranks: list[Ranking | None], foretold: list[ResultLoss | None]
) -> str:
    from lab.training.compare import LATE_PLY

    rows = [
        ("A", networks[0].name),
        ("B", networks[1].name),
        ("positions", f"{facts['positions']:,}, {facts['held_out']:,} of them of games that gougi train holds out"),
        ("B less A", f"{facts['rms']:.1f} centipawns rms, {facts['mean']:+.1f} on average"),
        ("correlation", "none" if facts["correlation"] is None else f"{facts['correlation']:.4f}"),
        ("B by A", "none" if facts["slope"] is None else f"{facts['slope']:.3f}"),
        ("same side ahead", f"{facts['same_side']:.1%}"),
    ]
    for name, rank in zip("AB", ranks, strict=True):
        if rank is not None:
            rows.append(
                (
                    f"teacher's moves, {name}",
                    f"pair rate {rank.pair_rate:.1%}, mean rank {rank.mean_rank:.2f}, first {rank.first:.1%}",
                )
            )
    for name, loss in zip("AB", foretold, strict=True):
        if loss is not None:
            parts = [(f"before move {LATE_PLY}", loss.early), ("later", loss.late)]
            told = ", ".join(f"{where} {part:.4f}" for where, part in parts if part is not None)
            rows.append((f"result loss, {name}", f"{loss.loss:.4f} ({told}); scale {loss.scale:,.0f} centipawns"))
    wide = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{wide}}  {value}" for name, value in rows)


def _show(sample: Sample, a: int, b: int) -> None:
    from lab.training.compare import played_text
    from master.commands.book import print_board
    from master.ui.console import Console

    move = played_text(sample)
    print(f"\n{sample.where}: A {a:+d}, B {b:+d} for the side to move" + (f"; played: {move}" if move else ""))
    print_board(Console(), sample.position())
