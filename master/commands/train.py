"""``gougi train``: a network out of teacher games."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from master.commands.common import FAILED, INTERRUPTED, CommandError, compile_searcher, interruptible
from worker.files import described

if TYPE_CHECKING:
    from master.commands.train_board import Board
    from worker.nnue.format import NetworkFile
    from worker.training.corpus import Corpus
    from worker.training.network.trainer import Outcome, Progress, Row, Trainer
    from worker.training.train_folder import TrainFolder
    from worker.training.train_settings import TrainSettings
    from worker.training.weights import FloatNet

TORCH = "torch==2.13.0"
NO_TORCH = f"gougi train needs PyTorch, which is not installed: pip install {TORCH} (or Gougi with its extra: train)"


def train(
    data: Annotated[
        list[Path],
        typer.Option(
            "--data", exists=True, file_okay=False, metavar="FOLDER", help="Of gougi selfplay. May be given again."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Where the run is kept. The same again goes on with it.")
    ] = Path("runs/train"),
    begin: Annotated[
        Path | None,
        typer.Option(
            "--from",
            exists=True,
            dir_okay=False,
            metavar="FILE",
            help="Begin with this nn.bin. Default: random weights.",
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Inputs: K+P, HalfKP(Friend), HalfKA_hm1(Friend), … Default: K+P."),
    ] = None,
    width: Annotated[
        int | None, typer.Option(metavar="N", help="Of the feature transformer, for each side. Default: 256.")
    ] = None,
    hidden: Annotated[
        str | None, typer.Option(metavar="N-M", help="Units of the two hidden layers. Default: 32-32.")
    ] = None,
    factorise: Annotated[
        bool | None,
        typer.Option(
            "--factorise/--no-factorise",
            help="Whether inputs of a kind share a part of their weights. Default: where they name the king's square.",
        ),
    ] = None,
    epochs: Annotated[
        float | None, typer.Option(metavar="N", help="Times that each position is learned from. Default: 10.")
    ] = None,
    positions: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Positions to learn from in all, instead of --epochs.")
    ] = None,
    batch: Annotated[int, typer.Option(min=1, metavar="N", help="Positions of a step.")] = 4096,
    rate: Annotated[float, typer.Option(metavar="R", help="The highest learning rate.")] = 0.001,
    decay: Annotated[float, typer.Option(metavar="D", help="Weight decay of AdamW.")] = 0.01,
    warm_up: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the run over which the learning rate rises.")
    ] = 0.02,
    score_share: Annotated[
        str,
        typer.Option(
            "--lambda",
            metavar="A-B",
            help="Share of the score in a label, at the start and at the end; the rest is the game's result.",
        ),
    ] = "1-0.9",
    scale: Annotated[
        float | None,
        typer.Option(metavar="CP", help="Centipawns to one logistic unit. Default: what the games fit."),
    ] = None,
    quantised: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the run, at its end, that computes with integers.")
    ] = 0.2,
    validation: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the games that nothing is learned from.")
    ] = 0.02,
    everything: Annotated[
        bool, typer.Option("--all", help="Learn from positions that are not quiet too: checks, captures, promotions.")
    ] = False,
    patience: Annotated[
        int, typer.Option(min=0, metavar="N", help="Validations without a better loss that end a part. 0: none do.")
    ] = 10,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the first weights and of the order.")] = 1,
    tolerance: Annotated[
        float, typer.Option(min=0, metavar="CP", help="How far integers may be from floating point, rms.")
    ] = 10.0,
    device: Annotated[
        str, typer.Option(metavar="NAME", help="cpu, cuda, cuda:1, …; auto: cuda where there is one.")
    ] = "auto",
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="On the CPU. Default: its processors.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object at the end, for programs.")] = False,
) -> int:
    """Train a network on the games of gougi selfplay.

    FOLDER gets nn.bin, the log (log.jsonl), a plot of the losses (loss.svg) and checkpoints. Ctrl-C, a kill or a full
    disk lose two minutes at most: the same command goes on, and comes to the same end as without the break. It goes on
    with the shards that it began with. docs/training.md explains the settings.

    Examples:

      gougi train --data runs/generation1 --out runs/net1

      gougi train --data runs/generation1 --data runs/generation2 --out runs/net2 --from runs/net1/nn.bin --epochs 3
    """
    if importlib.util.find_spec("torch") is None:
        raise CommandError(NO_TORCH, FAILED)
    from worker.nnue.format import NetworkFileError, read_network
    from worker.training.corpus import CorpusError
    from worker.training.network.checkpoint import CheckpointError
    from worker.training.network.device import find_device
    from worker.training.network.trainer import TrainingError
    from worker.training.train_folder import TrainFolder, TrainFolderError
    from worker.training.train_settings import TrainSettings

    try:
        source = read_network(begin) if begin is not None else None
        shape = _shape(source, features, width, hidden)
        first, last = _span(score_share)
        settings = TrainSettings(
            **shape, factorise=factorise, epochs=10.0 if epochs is None and positions is None else epochs,
            positions=positions, batch=batch, rate=rate, decay=decay, warm_up=warm_up, score_from=first,
            score_to=last, scale=scale, quantised=quantised, validation=validation, every=everything,
            patience=patience, seed=seed,
        )  # fmt: skip
        where = find_device(device)
        wanted = {
            "data": [str(folder.resolve()) for folder in data],
            "from": None if begin is None else hashlib.sha256(begin.read_bytes()).hexdigest(),
            **asdict(settings),
        }
        folder = TrainFolder(out)
        with folder.held():
            folder.claim(wanted)
            return _run(folder, settings, source, data, tolerance, where, threads or _processors(), as_json)
    except (ValueError, NetworkFileError, TrainFolderError) as error:
        raise CommandError(str(error)) from error
    except (CorpusError, CheckpointError, TrainingError) as error:
        raise CommandError(str(error), FAILED) from error
    except OSError as error:
        raise CommandError(f"{described(error)}; the same command goes on", FAILED) from error


def _shape(source: NetworkFile | None, features: str | None, width: int | None, hidden: str | None) -> dict[str, Any]:
    """The shape that is asked for: that of the net to begin with, where there is one."""
    asked: dict[str, Any] = {}
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
    arch = source.architecture
    own = {"features": arch.features.name, "width": arch.width, "hidden1": arch.hidden1, "hidden2": arch.hidden2}
    for name, value in asked.items():
        if own[name] != value:
            raise CommandError(f"--from: its {name} is {own[name]}, not {value}: a net keeps its shape")
    return own


def _span(text: str) -> tuple[float, float]:
    first, _, last = text.partition("-")
    try:
        return float(first), float(last or first)
    except ValueError:
        raise CommandError(f"--lambda {text}: expected two shares A-B, such as 1-0.9") from None


def _processors() -> int:
    return len(os.sched_getaffinity(0))


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _run(
    folder: TrainFolder,
    settings: TrainSettings,
    source: NetworkFile | None,
    data: list[Path],
    tolerance: float,
    device: str,
    threads: int,
    as_json: bool,
) -> int:
    from master.commands.train_board import Board, summary

    report = folder.known_report()
    if report is None:
        compile_searcher(training=True)
        with Board() as board:
            trainer, corpus = _trainer(folder, settings, source, data, device, threads)
            try:
                outcome = _learn(folder, trainer, board)
            finally:
                trainer.model.close()
        if not outcome.finished:
            _tell(f"interrupted: the same command goes on with {folder.path}")
            if as_json:
                print(json.dumps({"folder": str(folder.path), "finished": False, "positions": outcome.positions}))
            return INTERRUPTED
        report = _export(folder, settings, source, corpus, outcome, tolerance)
    print(json.dumps(report) if as_json else summary(report))
    return 0


def _trainer(
    folder: TrainFolder,
    settings: TrainSettings,
    source: NetworkFile | None,
    data: list[Path],
    device: str,
    threads: int,
) -> tuple[Trainer, Corpus]:
    """All that learning needs: the games, the net to begin with, and where the run was."""
    from worker.training.corpus import Split
    from worker.training.network.checkpoint import read_checkpoint
    from worker.training.network.trainer import Trainer
    from worker.training.train_settings import Schedule
    from worker.training.weights import from_file, random_net

    def on_shard(number: int, total: int) -> None:
        if number % 50 == 0:
            _tell(f"reading shard {number + 1} of {total}")

    split = Split(settings.validation, settings.every)
    corpus, notices = interruptible(lambda: folder.corpus(data, split, on_shard))
    state, more = read_checkpoint(folder.path)
    for notice in notices + more:
        _tell(f"gougi: {notice}")
    scale = settings.scale or corpus.scale
    if scale is None:
        raise CommandError("the games fit no win-rate scale: there are too few; give one by --scale")
    wanted = Schedule.of(settings, corpus.training).validation_positions
    records = interruptible(lambda: corpus.validation_records(wanted))
    begin: FloatNet = random_net(settings.architecture, settings.seed) if source is None else from_file(source)
    _tell(
        f"{corpus.training:,} positions for training, {corpus.validation:,} for validation, "
        f"win-rate scale {scale:,.0f} centipawns, {device}"
    )
    return Trainer(
        settings, corpus, records, begin, fv_scale=_fv_scale(source), scale=scale, device=device, threads=threads,
        state=state,
    ), corpus  # fmt: skip


def _fv_scale(source: NetworkFile | None) -> int:
    from worker.nnue.network import DEFAULT_FV_SCALE

    return (source.architecture.fv_scale if source is not None else None) or DEFAULT_FV_SCALE


def _learn(folder: TrainFolder, trainer: Trainer, board: Board) -> Outcome:
    """Learn until the end, or until Ctrl-C or SIGTERM; a second one does not wait for the checkpoint."""
    from master.commands.train_plot import plot
    from worker.training.network.checkpoint import write_checkpoint

    stopped = False
    rows = [asdict(row) for row in trainer.outcome().rows]

    def on_signal(_number: int, _frame: object) -> None:
        nonlocal stopped
        if stopped:
            raise KeyboardInterrupt
        stopped = True

    def on_progress(progress: Progress) -> None:
        board.take(progress)

    def on_row(row: Row) -> None:
        rows.append(asdict(row))
        board.row(row)
        keep_log()

    def keep_log() -> None:
        from worker.files import replace_file

        folder.keep_log(rows)
        replace_file(folder.plot, plot(rows, folder.path.resolve().name).encode())

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return trainer.run(on_progress, on_row, lambda state: write_checkpoint(folder.path, state), lambda: stopped)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _export(
    folder: TrainFolder,
    settings: TrainSettings,
    source: NetworkFile | None,
    corpus: Corpus,
    outcome: Outcome,
    tolerance: float,
) -> dict[str, Any]:
    """Write nn.bin where its integers are as good as what was learned; returns what is to be said of it."""
    from worker.files import replace_file
    from worker.nnue.format import serialise_network
    from worker.training.exactness import measure
    from worker.training.train_settings import Schedule
    from worker.training.weights import to_file

    architecture = settings.architecture if source is None else source.architecture
    network = to_file(outcome.net, architecture)
    wanted = Schedule.of(settings, corpus.training).validation_positions
    found = interruptible(lambda: measure(outcome.net, network, corpus.validation_records(wanted), _fv_scale(source)))
    if not found.rms <= tolerance:
        raise CommandError(
            f"{folder.path}: the net in integers differs from the one in floating point by {found.rms:.1f} centipawns "
            f"rms, more than {tolerance:g}; {found.worst} is most to blame: a longer --quantised part helps, "
            "--tolerance allows it",
            FAILED,
        )
    data = serialise_network(network)
    replace_file(folder.net, data, to_disk=True)
    last = min((row for row in outcome.rows if row.quantised == outcome.rows[-1].quantised), key=_loss)
    report = {
        "folder": str(folder.path),
        "finished": True,
        "net": str(folder.net),
        "sha256": hashlib.sha256(data).hexdigest(),
        "games": sum(one.games for one in corpus.sources),
        "training_positions": corpus.training,
        "validation_positions": corpus.validation,
        "positions": outcome.positions,
        "spent_s": round(outcome.spent_s, 1),
        "positions_per_s": round(outcome.positions / max(outcome.spent_s, 1e-9)),
        "scale": settings.scale or corpus.scale,
        "validation_loss": last.validation_loss,
        "score_loss": last.score_loss,
        "result_loss": last.result_loss,
        "quantised_rms": found.rms,
        "quantised_rms_by_layer": dict(found.layers),
    }
    replace_file(folder.report, (json.dumps(report, indent=2) + "\n").encode())
    return report


def _loss(row: Row) -> float:
    return row.validation_loss
