"""``gougi train``: a network from teacher games."""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cluster.processors import processors
from lab.commands.options import Out, TrainingData
from master.commands.common import FAILED, CommandError, EndsOn, notice
from master.commands.options import JsonAtEnd
from worker.files import described

if TYPE_CHECKING:
    from lab.training.weights import AnyFile, Shape
    from worker.nnue.architecture import Architecture

TORCH = "torch==2.13.0"


def require_torch(command: str) -> None:
    """Raises CommandError: there is no PyTorch; ``command``: the words after ``gougi`` that need it."""
    if importlib.util.find_spec("torch") is None:
        remedy = f"pip install {TORCH} (or Gougi with its extra: train)"
        raise CommandError(f"gougi {command} needs PyTorch, which is not installed: {remedy}", FAILED)


def train(
    data: TrainingData,
    out: Out = Path("runs/train"),
    begin: Annotated[
        Path | None,
        typer.Option(
            "--from",
            exists=True,
            dir_okay=False,
            metavar="FILE",
            help="Begin with the weights of this nn.bin. With a larger --width or --hidden, or with --features of king "
            "and piece, begin with a larger network that evaluates as it does. Default: random weights.",
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Inputs: K+P, HalfKP(Friend), HalfKA_hm1(Friend), … Default: K+P."),
    ] = None,
    width: Annotated[
        int | None, typer.Option(metavar="N", help="Width of the feature transformer, for each side. Default: 256.")
    ] = None,
    hidden: Annotated[
        str | None, typer.Option(metavar="N-M", help="Units of the two hidden layers. Default: 32-32.")
    ] = None,
    architecture: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Instead of these three, a short name: halfkp_512x2-8-64, or one of the SFNN family such as "
            "SFNN_halfkahm2_256_15_32_k3k3 (stacks: none, k3k3 or k9k9).",
        ),
    ] = None,
    epochs: Annotated[
        float | None, typer.Option(metavar="N", help="Number of times that it learns from each position. Default: 10.")
    ] = None,
    positions: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Total positions to learn from, instead of --epochs.")
    ] = None,
    batch: Annotated[int, typer.Option(min=1, metavar="N", help="Positions of a step.")] = 4096,
    rate: Annotated[float, typer.Option(metavar="R", help="The highest learning rate.")] = 0.001,
    decay: Annotated[float, typer.Option(metavar="D", help="Weight decay of AdamW.")] = 0.01,
    score_share: Annotated[
        str,
        typer.Option(
            "--lambda",
            metavar="A-B",
            help="Share of the score in a label, at the start and at the end; the rest is the game's result.",
        ),
    ] = "1-0.9",
    horizon: Annotated[
        float,
        typer.Option(
            metavar="PLIES",
            help="Look-ahead of a position's score: mix it with the scores that followed in its game, whose mean "
            "distance is this.",
        ),
    ] = 0.0,
    scale: Annotated[
        float | None,
        typer.Option(metavar="CP", help="Centipawns to one logistic unit. Default: fitted to the games."),
    ] = None,
    quantised: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Share of the run, at its end, that computes with integers, as the player does."
        ),
    ] = 0.2,
    validation: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the games that are held out for validation.")
    ] = 0.02,
    decided: Annotated[
        bool, typer.Option("--decided", help="Learn from decided positions too: a score of 6,000 and more, or a mate.")
    ] = False,
    debias: Annotated[
        bool,
        typer.Option(
            "--debias",
            help="Correct the scores of each network. All its searches misjudge some pieces on some squares in the "
            "same way; later scores of the games show this.",
        ),
    ] = False,
    exponent: Annotated[
        float,
        typer.Option(
            metavar="E", help="Loss: the difference of the chances to win to this power, 2 to 3. 0: cross-entropy."
        ),
    ] = 0.0,
    average: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Share of the run, at its end, over which the mean of the weights is tried too. 0: none.",
        ),
    ] = 0.1,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the first weights and of the order.")] = 1,
    tolerance: Annotated[
        float,
        typer.Option(
            min=0, metavar="CP", help="Largest allowed error (rms) of the network in integers against floating point."
        ),
    ] = 10.0,
    device: Annotated[
        str, typer.Option(metavar="NAME", help="cpu, cuda, cuda:1, …; auto: cuda if there is one.")
    ] = "auto",
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Threads on the CPU. Default: its processors.")
    ] = None,
    as_json: JsonAtEnd = False,
) -> int:
    """Train a network on the games of gougi selfplay, or on files of positions in the common format (.psv).

    FOLDER gets nn.bin, the log (log.jsonl) and checkpoints. Ctrl-C, a kill or a full
    disk lose two minutes at most: the same command continues, with the same result as without the interruption. After
    the first checkpoint it keeps to the shards with which it began. docs/how-to/training.md explains the settings.

    Examples:

      gougi train --data runs/games1 --out runs/net1

      gougi train --data runs/games1 --data runs/games2 --out runs/net2 --from runs/net1/nn.bin --epochs 3

      gougi train --data runs/games1 --out runs/net3 --architecture SFNN_halfkahm2_256_15_32_k3k3
    """
    require_torch("train")
    from lab.training.corpus import CorpusError
    from lab.training.network.checkpoint import CheckpointError
    from lab.training.network.model import find_device
    from lab.training.network.trainer import TrainingError
    from lab.training.run import TrainFolder, TrainFolderError, run
    from lab.training.train_settings import TrainSettings
    from lab.training.weights import read_with_beside
    from worker.nnue.architecture import NetworkFileError
    from worker.nnue.beside import read_beside

    try:
        source = read_with_beside(begin) if begin is not None else None
        shape = shape_of(source, features, width, hidden, architecture)
        first, last = _span(score_share)
        settings = TrainSettings(
            **shape, epochs=10.0 if epochs is None and positions is None else epochs,
            positions=positions, batch=batch, rate=rate, decay=decay, score_from=first,
            score_to=last, horizon=horizon, scale=scale, quantised=quantised, validation=validation,
            decided=decided, debias=debias, exponent=exponent, average=average, seed=seed,
        )  # fmt: skip
        where = find_device(device)
        if source is not None and not _is_of(source, settings.architecture):
            source, words = _grown(source, settings.architecture, seed)
            notice(words)
        wanted = {
            "data": [str(folder.resolve()) for folder in data],
            "from": None if begin is None else hashlib.sha256(begin.read_bytes()).hexdigest(),
            "from_scale": None if begin is None else read_beside(begin).fv_scale,
            **asdict(settings),
        }
        folder = TrainFolder(out)
        with folder.held():
            folder.claim(wanted)
            return run(folder, settings, source, data, tolerance, where, threads or processors(), as_json)
    except (ValueError, NetworkFileError, TrainFolderError) as error:
        raise CommandError(str(error)) from error
    except (CorpusError, CheckpointError, TrainingError) as error:
        raise CommandError(str(error), FAILED) from error
    except OSError as error:
        raise CommandError(f"{described(error)}; the same command goes on", FAILED) from error


def shape_of(
    source: AnyFile | None, features: str | None, width: int | None, hidden: str | None, architecture: str | None = None
) -> dict[str, Any]:
    """The requested shape; the starting net, if there is one, supplies missing options.

    Raises:
        ValueError: ``architecture`` is no name of one.
    """
    from worker.nnue.architecture import named
    from worker.nnue.sfnn.architecture import SfnnArchitecture, is_sfnn_name, parse_sfnn_name

    asked: dict[str, Any] = {}
    if architecture is not None:
        if (features, width, hidden) != (None, None, None):
            raise CommandError("--architecture: expected it without --features, --width and --hidden")
        if is_sfnn_name(architecture):
            return {"sfnn": str(parse_sfnn_name(architecture))}
        arch = named(architecture)
        if arch is None:
            raise CommandError(f"--architecture {architecture}: expected a name such as halfkp_512x2-8-64")
        return _sizes(arch)
    if features is not None:
        asked["features"] = features
    if width is not None:
        asked["width"] = width
    if hidden is not None:
        try:
            asked["hidden1"], asked["hidden2"] = (int(part) for part in hidden.split("-"))
        except ValueError:
            raise CommandError(f"--hidden {hidden}: expected two whole numbers N-M, such as 32-32") from None
    if source is None:
        return asked
    if isinstance(source.architecture, SfnnArchitecture):
        if asked:
            raise CommandError("--from: name the shape of an SFNN network by --architecture")
        return {"sfnn": source.architecture.name}
    return _sizes(source.architecture) | asked


def _sizes(arch: Architecture) -> dict[str, Any]:
    return {"features": arch.features.name, "width": arch.width, "hidden1": arch.hidden1, "hidden2": arch.hidden2}


def _is_of(network: AnyFile, architecture: Shape) -> bool:
    return replace(network.architecture, fv_scale=None) == architecture


def _grown(source: AnyFile, architecture: Shape, seed: int) -> tuple[AnyFile, str]:
    """A larger copy of a net, and a notice about it. Ends the command if it cannot be one."""
    from lab.training.widen import WidenError, is_exact, widen

    words = f"it begins as a larger copy of --from, {architecture.name}"
    if not is_exact(source.architecture.features, architecture.features):
        words += f", and not quite the same, for {architecture.features.name} does not see the enemy's king"
    with EndsOn(WidenError, where="--from"):
        return widen(source, architecture, seed), words


def _span(text: str) -> tuple[float, float]:
    first, _, last = text.partition("-")
    try:
        return float(first), float(last or first)
    except ValueError:
        raise CommandError(f"--lambda {text}: expected two shares A-B, such as 1-0.9") from None
