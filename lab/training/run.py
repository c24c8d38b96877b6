"""A run of ``gougi train``: from its folder and its settings to the net and the report about it."""

from __future__ import annotations

import hashlib
import json
import math
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lab.svg import document, line, text
from master.commands.common import (
    FAILED,
    INTERRUPTED,
    CommandError,
    WarmUp,
    compile_searcher,
    interruptible,
    notice,
    tell,
)
from master.ui.progress import Bars

if TYPE_CHECKING:
    from lab.training.corpus import Corpus
    from lab.training.network.trainer import Outcome, Progress, Row, Trainer
    from lab.training.train_folder import TrainFolder
    from lab.training.train_settings import TrainSettings
    from lab.training.weights import FloatNet
    from worker.nnue.format import NetworkFile


def compile_training() -> None:
    """Compile the searcher, self-play and the trainer if they are not in the cache, with progress on stderr."""

    def find() -> WarmUp:
        from lab.training.warm import warm_up_training

        return warm_up_training

    compile_searcher(find)


def run(
    folder: TrainFolder,
    settings: TrainSettings,
    source: NetworkFile | None,
    data: list[Path],
    tolerance: float,
    device: str,
    threads: int,
    as_json: bool,
) -> int:
    """Train, or go on, in a folder that this process holds; write the net, and say what came out.

    Args:
        source: the net to begin with; None: random weights.
        tolerance: centipawns, rms, that integers may differ from floating point.

    Returns:
        The exit code.

    Raises:
        CommandError: the integers differ by more, or the games fit no scale.
        CorpusError, CheckpointError, TrainingError, TrainFolderError, OSError: as the parts raise them.
    """

    report = folder.known_report()
    if report is None:
        compile_training()
        with TrainingProgress() as progress:
            trainer, corpus = _trainer(folder, settings, source, data, device, threads)
            try:
                outcome = _learn(folder, trainer, progress)
            finally:
                trainer.model.close()
        if not outcome.finished:
            tell(f"interrupted: the same command goes on with {folder.path}")
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
    from lab.training.corpus import Split
    from lab.training.network.checkpoint import read_checkpoint
    from lab.training.network.trainer import Trainer
    from lab.training.train_settings import Schedule
    from lab.training.weights import from_file, random_net

    def on_shard(number: int, total: int) -> None:
        if number % 50 == 0:
            tell(f"reading shard {number + 1} of {total}")

    split = Split(
        settings.validation, settings.every, settings.decided, settings.horizon, settings.use, settings.least_depth
    )
    corpus, notices = interruptible(lambda: folder.corpus(data, split, on_shard))
    state, more = read_checkpoint(folder.path)
    for words in notices + more:
        notice(words)
    scale = settings.scale or corpus.scale
    if scale is None:
        raise CommandError("the games fit no win-rate scale: there are too few; give one by --scale")
    corpus.scale = scale  # labels look ahead by the scale of the run
    wanted = Schedule.of(settings, corpus.training).validation_positions
    records = interruptible(lambda: corpus.validation_records(wanted))
    begin: FloatNet = random_net(settings.architecture, settings.seed) if source is None else from_file(source)
    tell(
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


def _learn(folder: TrainFolder, trainer: Trainer, progress: TrainingProgress) -> Outcome:
    """Learn until the end, or until Ctrl-C or SIGTERM; a second one does not wait for the checkpoint."""
    from lab.training.network.checkpoint import write_checkpoint

    stopped = False
    rows = [asdict(row) for row in trainer.outcome().rows]

    def on_signal(_number: int, _frame: object) -> None:
        nonlocal stopped
        if stopped:
            raise KeyboardInterrupt
        stopped = True

    def on_row(row: Row) -> None:
        rows.append(asdict(row))
        progress.row(row)
        keep_log()

    def keep_log() -> None:
        from worker.files import replace_file

        folder.keep_log(rows)
        replace_file(folder.plot, plot(rows, folder.path.resolve().name).encode())

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return trainer.run(progress.take, on_row, lambda state: write_checkpoint(folder.path, state), lambda: stopped)
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
    from lab.training.net_facts import measure
    from lab.training.train_settings import Schedule
    from lab.training.weights import to_file
    from worker.files import replace_file
    from worker.nnue.format import serialise_network

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
    last = min(
        (row for row in outcome.rows if row.quantised == outcome.rows[-1].quantised),
        key=lambda row: row.validation_loss,
    )
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


_EACH_S: Final = 0.25


class TrainingProgress:
    """The standing on stderr: a bar at a terminal, else a line for each validation. A context manager."""

    def __init__(self) -> None:
        self._bars = Bars()
        self._bar = self._bars.bar("", None)
        self._first: tuple[float, int] | None = None
        self._shown = 0.0
        self._last: Progress | None = None

    def take(self, progress: Progress) -> None:
        """A batch was learned from."""
        now = time.monotonic()
        if self._first is None:
            self._first = (now, progress.positions)
            self._bar.begin(progress.over)
        self._last = progress
        if self._bars.live and now - self._shown >= _EACH_S:
            self._shown = now
            self._show(progress, validation=progress.validation_loss)

    def row(self, row: Row) -> None:
        """A validation is over."""
        if self._last is not None:
            self._show(self._last, validation=row.validation_loss, quantised=row.quantised, tell=True)

    def tell(self, text: str) -> None:
        """A line that stays, above the bar."""
        self._bars.note(text)

    def rate(self) -> float:
        """Positions a second of wall time; 0: not known yet."""
        if self._first is None or self._last is None:
            return 0.0
        began, positions = self._first
        spent = time.monotonic() - began
        return (self._last.positions - positions) / spent if spent > 0 else 0.0

    def _show(self, last: Progress, *, validation: float | None, quantised: bool = False, tell: bool = False) -> None:
        words = f"{last.positions:,} positions, epoch {last.epoch + 1}"
        if last.loss:
            words += f", loss {last.loss:.5f}"
        if validation is not None:
            words += f", validation {validation:.5f}" + (" in integers" if quantised else "")
        if self.rate():
            words += f", {self.rate():,.0f} positions a second"
        self._bar.show(last.over, words, total=last.total, tell=tell)

    def __enter__(self) -> TrainingProgress:
        self._bars.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.__exit__()


def summary(report: dict[str, Any]) -> str:
    """The report of a run as lines."""
    layers = ", ".join(f"{name} {rms:.1f}" for name, rms in report["quantised_rms_by_layer"].items())
    return "\n".join(
        (
            f"{report['net']}: {report['positions']:,} positions of {report['games']:,} games, "
            f"validation loss {report['validation_loss']:.5f}",
            f"win-rate scale {report['scale']:,.0f} centipawns",
            f"integers against floating point: {report['quantised_rms']:.1f} centipawns rms ({layers})",
        )
    )


_WIDTH, _HEIGHT = 760, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 50, 60, 60
_LINES: Final = (("training_loss", "training", "#56b4e9"), ("validation_loss", "validation", "#d55e00"))
_TICKS: Final = (1, 1.5, 2, 3, 5, 7)


def plot(rows: Sequence[Mapping[str, Any]], title: str) -> str:
    """The SVG.

    Args:
        rows: of the log, as `lab.training.network.trainer.Row` has them; may be empty.
        title: stands above, as it is.
    """
    values = [row[name] for row in rows for name, _, _ in _LINES if row[name] > 0] or [0.01, 0.1]
    low, high = math.log(min(values)) - 0.03, math.log(max(values)) + 0.03
    last = max((row["positions"] for row in rows), default=1)

    def x(positions: float) -> float:
        return _LEFT + positions / last * (_WIDTH - _LEFT - _RIGHT)

    def y(loss: float) -> float:
        share = (high - math.log(loss)) / (high - low) if loss > 0 else 1.0
        return _TOP + share * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        text(_LEFT, 30, title, size=16),
        text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 12, "positions learned from", anchor="middle"),
    ]
    for tick in _ticks(low, high):
        parts.append(line(_LEFT, y(tick), _WIDTH - _RIGHT, y(tick), "#ddd"))
        parts.append(text(_LEFT - 8, y(tick) + 4, f"{tick:.4g}", anchor="end"))
    for quarter in range(5):
        at = last * quarter / 4
        parts.append(line(x(at), _HEIGHT - _BOTTOM, x(at), _HEIGHT - _BOTTOM + 5, "#888"))
        parts.append(text(x(at), _HEIGHT - _BOTTOM + 20, f"{at:,.0f}", anchor="middle"))
    whole = next((row["positions"] for row in rows if row["quantised"]), None)
    if whole is not None:
        parts.append(line(x(whole), _TOP, x(whole), _HEIGHT - _BOTTOM, "#888"))
        parts.append(text(x(whole) - 4, _TOP - 6, "in integers from here", anchor="end"))
    for place, (name, words, colour) in enumerate(_LINES):
        path = " ".join(f"{x(row['positions']):.1f},{y(row[name]):.1f}" for row in rows)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        left = _WIDTH - _RIGHT - 220 + 110 * place
        parts.append(line(left, 26, left + 22, 26, colour))
        parts.append(text(left + 28, 30, words))
    return document(_WIDTH, _HEIGHT, parts)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers between two logarithms."""
    decades = range(math.floor(low / math.log(10)), math.ceil(high / math.log(10)) + 1)
    return [tick * 10.0**ten for ten in decades for tick in _TICKS if low <= math.log(tick * 10.0**ten) <= high]
