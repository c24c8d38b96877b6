"""A run of ``gougi train``: from its folder and its settings to the net and its report."""

from __future__ import annotations

import hashlib
import json
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from numba import float32, float64, int32, int64, uint64

from lab.jit import FOLDER
from lab.run_folder import RunFolder
from lab.selfplay.run import warm_up_selfplay
from lab.training import kernels, replay
from lab.training.corpus import Beside, Corpus, Split, shard_files
from lab.training.train_settings import CHECKPOINT, CHECKPOINT_BEFORE
from master.commands.common import (
    FAILED,
    INTERRUPTED,
    CommandError,
    compile_searcher,
    interruptible,
    notice,
    tell,
)
from master.ui.progress import Bars
from worker.files import replace_file
from worker.nnue import NN
from worker.shogi.state import POS
from worker.warm import Progress as OnStage
from worker.warm import Stage, compile_once

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from lab.training.network.trainer import Outcome, Progress, Row, Trainer
    from lab.training.train_settings import TrainSettings
    from lab.training.weights import AnyFile, FloatNet


_DEBIAS_POSITIONS: Final = 1_000_000
"""Positions of each network from which the correction of its scores is fitted."""
_VALUES: Final = float32[:, ::1]
_LINE: Final = float32[::1]
_ROWS: Final = int32[:, ::1]
_STAGES: Final[tuple[Stage, ...]] = (
    (
        "games",
        replay.replay_games,
        (POS, *(int64,) * 3, uint64, *(int64,) * 3, *(float64,) * 2, *(int64,) * 3, int64[::1]),
    ),
    ("rows", replay.write_rows, (int64,) * 9),
    ("sums", kernels.sum_rows, (_VALUES, _LINE, _ROWS, _VALUES, int64, float32, int64, int64)),
    ("slopes", kernels.add_slopes, (_ROWS, _VALUES, _VALUES, int64, float32, _VALUES, _LINE, int64, int64)),
    ("evaluation", kernels.evaluate_records, (POS, NN, *(int64,) * 4)),
    ("attacks", kernels.write_attack_inputs, (POS, *(int64,) * 5)),
)


def warm_up_training(on_stage: OnStage | None = None) -> bool:
    """`lab.selfplay.run.warm_up_selfplay`, then the trainer. Returns False if the cache was complete already."""
    fresh = warm_up_selfplay(on_stage)
    return compile_once(_STAGES, f"{FOLDER}/complete-training", on_stage) or fresh


class TrainFolderError(Exception):
    """A folder cannot be used for the command; the text gives the reason."""


class TrainFolder(RunFolder):
    """``train.json``, ``data.json``, ``checkpoint.pt`` and the previous one, ``log.jsonl``, ``nn.bin``."""

    command = "gougi train"
    refused = TrainFolderError

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.settings = path / "train.json"
        self.data = path / "data.json"
        self.log = path / "log.jsonl"
        self.net = path / "nn.bin"
        self.report = path / "report.json"

    @contextmanager
    def held(self) -> Iterator[None]:
        """As `RunFolder.held`; also removes leftovers of a process that was killed while it wrote."""
        with super().held():
            for name in ("*.pt", "*.json", "*.jsonl", "*.svg", "*.bin"):
                for path in self.path.glob(f".{name}.*"):
                    path.unlink()
            yield

    def claim(self, wanted: Mapping[str, Any]) -> None:
        """Store the settings in a new folder, or check those of an old one.

        A folder in which nothing was trained yet counts as new: its settings and its shards are discarded.

        Raises:
            TrainFolderError: it was begun with other settings, which the message names; or it cannot be read.
            OSError: it cannot be written.
        """
        learned = (CHECKPOINT, CHECKPOINT_BEFORE, self.net.name, self.report.name)
        is_new = self.settings.exists() and not any((self.path / name).exists() for name in learned)
        if is_new and self.known_facts(self.settings).keys() >= wanted.keys():  # otherwise another command made it
            self.data.unlink(missing_ok=True)
            self.settings.unlink()
        self.claim_settings(self.settings, wanted)

    def corpus(
        self, folders: Sequence[Path], split: Split, on_shard: Callable[[int, int], None]
    ) -> tuple[Corpus, list[str]]:
        """The shards with which the run was begun, read for the first time if it is new, and notices for the user.

        Raises:
            TrainFolderError: the stored list cannot be read.
            CorpusError: a shard cannot be used.
            OSError: one cannot be read.
        """
        files = shard_files(folders)
        if not self.data.exists():
            corpus = Corpus.index(files, split, on_shard)
            self.keep_facts(self.data, corpus.to_json())
            return corpus, []
        try:
            corpus = Corpus.from_json(self.known_facts(self.data), split)
        except (KeyError, TypeError) as error:
            raise TrainFolderError(f"{self.data}: not readable: {error!r}") from error
        known = {str(Path(source.path).resolve()) for source in corpus.sources}
        if more := sum(str(path) not in known for path in files):
            return corpus, [f"{more} shards came later than this run: it goes on with its own {len(known)}"]
        return corpus, []

    def keep_log(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write the log: one JSON object per line. Raises OSError."""
        replace_file(self.log, "".join(json.dumps(row) + "\n" for row in rows).encode())

    def known_report(self) -> dict[str, Any] | None:
        """The report of a finished run on its net; None: the run has none yet. Raises TrainFolderError."""
        return self.known_facts(self.report) if self.report.exists() and self.net.exists() else None


def compile_training() -> None:
    """Compile the searcher, self-play and the trainer if they are not in the cache, and show the progress on stderr."""
    compile_searcher(lambda: warm_up_training)


def run(
    folder: TrainFolder,
    settings: TrainSettings,
    source: AnyFile | None,
    data: list[Path],
    tolerance: float,
    device: str,
    threads: int,
    as_json: bool,
) -> int:
    """Train, or resume, in a folder that this process holds; write the net, and print the result.

    Args:
        source: the net to begin with; None: random weights.
        tolerance: centipawns, rms, that integers may differ from floating point.

    Returns:
        The exit code.

    Raises:
        CommandError: the integers differ by more, or no scale fits the games.
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
    source: AnyFile | None,
    data: list[Path],
    device: str,
    threads: int,
) -> tuple[Trainer, Corpus]:
    """Everything for the training: the games, the net to begin with, and the run's last state."""
    from lab.training.corpus import Split
    from lab.training.network.checkpoint import read_checkpoint
    from lab.training.network.trainer import Trainer
    from lab.training.train_settings import Schedule
    from lab.training.weights import from_file, random_net

    def on_shard(number: int, total: int) -> None:
        if number % 50 == 0:
            tell(f"reading shard {number + 1} of {total}")

    split = Split(settings.validation, decided=settings.decided, horizon=settings.horizon)
    corpus, notices = interruptible(lambda: folder.corpus(data, split, on_shard))
    state, more = read_checkpoint(folder.path)
    for words in notices + more:
        notice(words)
    scale = settings.scale or corpus.scale
    if scale is None:
        raise CommandError("the games fit no win-rate scale: there are too few; give one by --scale")
    corpus.scale = scale  # look-ahead of labels uses the scale of the run
    if settings.debias and not corpus.corrections:
        _debias(folder, corpus, scale)
    corpus.beside = beside(source)
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


def _debias(folder: TrainFolder, corpus: Corpus, scale: float) -> None:
    """Fit the correction of each network's scores, and keep it with the list of the shards."""
    from lab.training.features import row_tables
    from lab.training.network.debias import AHEAD, piece_corrections
    from worker.nnue.features import K_P

    networks = dict.fromkeys(source.net for source in corpus.sources if source.net and source.training)
    if not networks:
        raise CommandError("--debias: PSV files do not say what follows a position in its game; it needs shards")
    tables = row_tables(K_P)

    def fitted(net: str) -> npt.NDArray[np.float32]:
        now, later = (corpus.of_network(net, ahead) for ahead in (corpus.split.horizon, AHEAD))
        tell(f"fitting the correction of the scores of network {net[:12]}, {now.training:,} positions")
        parts = zip(now.sample(_DEBIAS_POSITIONS), later.sample(_DEBIAS_POSITIONS), strict=True)
        return piece_corrections(list(parts), tables, scale, now.training)

    corpus.corrections = interruptible(lambda: {net: fitted(net) for net in networks})
    folder.keep_facts(folder.data, corpus.to_json())


def _fv_scale(source: AnyFile | None) -> int:
    from worker.nnue.network import DEFAULT_FV_SCALE

    return (source.architecture.fv_scale if source is not None else None) or DEFAULT_FV_SCALE


def beside(source: AnyFile | None) -> Beside | None:
    """What the attack network of a network adds to it; None if it has none."""
    from lab.training.compare import evaluations
    from worker.nnue.format import NetworkFile

    if not isinstance(source, NetworkFile) or source.attack_network is None:
        return None
    both, alone = source, replace(source, attack_network=None)
    return lambda records: evaluations(both, records) - evaluations(alone, records)


def _learn(folder: TrainFolder, trainer: Trainer, progress: TrainingProgress) -> Outcome:
    """Train until the end, or until Ctrl-C or SIGTERM; a second one does not wait for the checkpoint."""
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
        folder.keep_log(rows)

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return trainer.run(progress.take, on_row, lambda state: write_checkpoint(folder.path, state), lambda: stopped)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _export(
    folder: TrainFolder,
    settings: TrainSettings,
    source: AnyFile | None,
    corpus: Corpus,
    outcome: Outcome,
    tolerance: float,
) -> dict[str, Any]:
    """Write nn.bin if its integers are as good as the trained weights; returns the report."""
    from lab.training.network.model import rounding_error
    from lab.training.train_settings import Schedule
    from lab.training.weights import to_file
    from worker.files import replace_file
    from worker.nnue.format import NetworkFile
    from worker.nnue.network import serialise

    architecture = settings.architecture if source is None else source.architecture
    network = to_file(outcome.net, architecture)
    wanted = Schedule.of(settings, corpus.training).validation_positions
    records = interruptible(lambda: corpus.validation_records(wanted))
    error = interruptible(lambda: rounding_error(outcome.net, network, records, _fv_scale(source)))
    if not error <= tolerance:
        raise CommandError(
            f"{folder.path}: the net in integers differs from the one in floating point by {error:.1f} centipawns "
            f"rms, more than {tolerance:g}: a longer --quantised part helps, --tolerance allows it",
            FAILED,
        )
    if isinstance(network, NetworkFile) and isinstance(source, NetworkFile):
        network = replace(network, attack_network=source.attack_network)
    data = serialise(network)
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
        "quantised_rms": error,
    }
    replace_file(folder.report, (json.dumps(report, indent=2) + "\n").encode())
    return report


_EACH_S: Final = 0.25


class TrainingProgress(Bars):
    """The progress on stderr: a bar at a terminal, else a line for each validation."""

    def __init__(self) -> None:
        super().__init__()
        self._bar = self.bar("", None)
        self._began: tuple[float, int] | None = None
        self._shown = 0.0
        self._last: Progress | None = None

    def take(self, progress: Progress) -> None:
        """Show the progress after a batch."""
        now = time.monotonic()
        if self._began is None:
            self._began = (now, progress.positions)
            self._bar.begin(progress.positions)
        self._last = progress
        if self.live and now - self._shown >= _EACH_S:
            self._shown = now
            self._show(progress, validation=progress.validation_loss)

    def row(self, row: Row) -> None:
        """Show the result of a validation."""
        if self._last is not None:
            self._show(self._last, validation=row.validation_loss, quantised=row.quantised, tell=True)

    def _show(self, last: Progress, *, validation: float | None, quantised: bool = False, tell: bool = False) -> None:
        words = f"{last.positions:,} positions, epoch {last.epoch + 1}"
        if last.loss:
            words += f", loss {last.loss:.5f}"
        if validation is not None:
            words += f", validation {validation:.5f}" + (" in integers" if quantised else "")
        if self._began is not None and (spent := time.monotonic() - self._began[0]) > 0:
            words += f", {(last.positions - self._began[1]) / spent:,.0f} positions a second"
        self._bar.show(min(last.positions, last.total), words, total=last.total, tell=tell)


def summary(report: dict[str, Any]) -> str:
    """The report of a run as lines."""
    return "\n".join(
        (
            f"{report['net']}: {report['positions']:,} positions of {report['games']:,} games, "
            f"validation loss {report['validation_loss']:.5f}",
            f"win-rate scale {report['scale']:,.0f} centipawns",
            f"integers against floating point: {report['quantised_rms']:.1f} centipawns rms",
        )
    )
