"""A run: batches, loss, steps, validation, and the resulting net.

The state is a plain dictionary of tensors and numbers. A run resumed from it ends with the same result, bit for bit on
the same machine: every random value is determined by the state or the settings.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn import functional

from lab.training.batches import START, Batch, BatchNumber, batches_of, training_batches
from lab.training.corpus import Corpus, Records
from lab.training.features import mirrored_tables, row_tables
from lab.training.network.model import Model, learning_threads
from lab.training.network.resident import Resident
from lab.training.train_settings import Schedule, TrainSettings
from lab.training.weights import OUTPUT_ONE, FloatNet, snapped

CHECKPOINT_S: Final = 120.0
"""Seconds between two checkpoints; one is also written at the end, however a run ends."""
_PROGRESS_S: Final = 0.1
"""Seconds between two reports of progress: each waits for the GPU."""


class TrainingError(Exception):
    """A net cannot be trained further; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the log."""

    positions: int
    """Number of training positions so far."""
    epoch: int
    quantised: bool
    rate: float
    """Learning rate."""
    score_share: float
    training_loss: float
    """Mean loss of training since the previous line."""
    validation_loss: float
    """Mean loss of the validation positions. Both use the labels of the run's end, so that lines are comparable."""
    score_loss: float
    """The same against the score alone."""
    result_loss: float
    """The same against the result alone."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run."""

    positions: int
    total: int
    epoch: int
    loss: float
    validation_loss: float | None
    quantised: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run."""

    finished: bool
    net: FloatNet
    """The best of its last part; if that computed with integers, with the rounded weights."""
    rows: list[Row]
    positions: int
    spent_s: float
    """Total seconds of training, over all parts of the run."""


def loss_of(output: Tensor, labels: Tensor, to_logit: float, exponent: float = 0.0) -> Tensor:
    """The loss of each position, float32 [n]; 0 if output and label agree.

    Args:
        output: of the net.
        labels: probabilities that the side to move wins.
        to_logit: factor from the output to logistic units.
        exponent: power of the difference of probabilities; 0: cross-entropy minus its minimum, in nats.
    """
    if exponent:
        return (torch.sigmoid(output * to_logit) - labels).abs().pow(exponent)
    entropy = -(torch.xlogy(labels, labels) + torch.xlogy(1 - labels, 1 - labels))
    return functional.binary_cross_entropy_with_logits(output * to_logit, labels, reduction="none") - entropy


class Trainer:
    """Trains one net.

    Args:
        begin: the net to begin with.
        fv_scale: raw output per centipawn.
        scale: centipawns per logistic unit, for labels and output.
        state: of a checkpoint, to resume from.
    """

    def __init__(
        self,
        settings: TrainSettings,
        corpus: Corpus,
        validation: Records,
        begin: FloatNet,
        *,
        fv_scale: int,
        scale: float,
        device: str,
        threads: int,
        state: dict[str, Any] | None = None,
    ) -> None:
        self._settings, self._corpus, self._validation = settings, corpus, validation
        self._schedule = Schedule.of(settings, corpus.training)
        self._scale = scale
        self._to_logit = OUTPUT_ONE / fv_scale / scale
        self._threads = threads
        self._tables = row_tables(settings.architecture.features)
        self._mirror = mirrored_tables(self._tables)
        self.model = Model(begin, settings.architecture, factorise=settings.has_factors, device=device, threads=threads)
        self._optimizer = torch.optim.AdamW(
            self.model.parameters.values(), lr=settings.rate, betas=(0.9, 0.999), weight_decay=settings.decay,
            fused=device != "cpu",
        )  # fmt: skip
        self._next_batch = START
        self._epoch = START.epoch
        """The epoch of the last batch."""
        self._positions = 0
        self._rows: list[Row] = []
        self._sum, self._count = self._zero(), 0
        self._best: dict[str, Any] | None = None
        self._spent_s = 0.0
        self._mean: dict[str, Tensor] = {}
        """The mean of the weights since it began to count in the last part of the run, float64."""
        self._averaged = 0
        """Number of steps in it."""
        self._held_out: Resident | None = None
        """The validation positions, if they are on a GPU."""
        if state is not None:
            self._take(state)

    def _zero(self) -> Tensor:
        """A sum of losses, on the device: reading one waits for the GPU."""
        return torch.zeros((), dtype=torch.float64, device=self.model.device)

    def _take(self, state: dict[str, Any]) -> None:
        with torch.no_grad():
            for name, value in self.model.parameters.items():
                value.copy_(state["parameters"][name])
        self._optimizer.load_state_dict(state["optimizer"])
        self._next_batch = BatchNumber(*state["place"])
        self._epoch = self._next_batch.epoch
        self._positions = state["positions"]
        self._rows = [Row(**row) for row in state["rows"]]
        self._sum, self._count = self._zero() + state["sum"], state["count"]
        self._best = state["best"]
        self._spent_s = state["spent_s"]
        self._mean = {name: value.to(self.model.device) for name, value in state["mean"].items()}
        self._averaged = state["averaged"]

    def state(self) -> dict[str, Any]:
        """All values that the rest of the run depends on."""
        return {
            "parameters": {name: value.detach().cpu() for name, value in self.model.parameters.items()},
            "optimizer": self._optimizer.state_dict(),
            "place": [self._next_batch.epoch, self._next_batch.chunk, self._next_batch.batch],
            "positions": self._positions,
            "rows": [asdict(row) for row in self._rows],
            "sum": float(self._sum),
            "count": self._count,
            "best": self._best,
            "spent_s": self._spent_s,
            "mean": {name: value.cpu() for name, value in self._mean.items()},
            "averaged": self._averaged,
        }

    @property
    def finished(self) -> bool:
        """Whether the plan is complete."""
        return self._positions >= self._schedule.total

    def run(
        self,
        on_progress: Callable[[Progress], None],
        on_row: Callable[[Row], None],
        keep: Callable[[dict[str, Any]], None],
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> Outcome:
        """Train to the end of the plan, or until stopped; then `keep` also gets the state.

        Args:
            on_progress: callback for the progress, several times per second.
            on_row: callback for each line of the log.
            keep: writes a checkpoint.
            is_stopped: called between two batches.

        Raises:
            TrainingError: the loss is no longer a number.
            CorpusError: a shard has changed.
        """
        began = kept = time.monotonic()
        told = 0.0
        before_s = self._spent_s
        with learning_threads(self._threads, self.model.device), self._training_batches() as batches:
            while not self.finished and not is_stopped():
                due = self._schedule.validations(self._positions)
                self._step(next(batches))
                now = time.monotonic()
                self._spent_s = before_s + now - began
                if now - told >= _PROGRESS_S or self.finished:
                    told = now
                    on_progress(self._progress())
                if self._schedule.validations(self._positions) > due or self.finished:
                    on_row(self._validate())
                if now - kept > CHECKPOINT_S:
                    keep(self.state())
                    kept = time.monotonic()
            if self.finished and self._averaged:
                on_row(self._take_mean())
        keep(self.state())
        return self.outcome()

    @contextmanager
    def _training_batches(self) -> Iterator[Iterator[Batch]]:
        """Batches of the training positions: from GPU memory if they fit in it, else from threads."""
        size, seed, device = self._settings.batch, self._settings.seed, self.model.device
        if device.type == "cuda" and Resident.has_room(self._corpus.training, device):
            resident = Resident(self._tables, self._mirror, device)
            resident.add_training(self._corpus, seed, self._threads)
            yield resident.training(size, seed, self._next_batch)
            return
        with training_batches(
            self._corpus, self._tables, size, seed, self._next_batch, self._threads, self._mirror
        ) as batches:
            yield batches

    def outcome(self) -> Outcome:
        """The result of the run so far."""
        return Outcome(self.finished, self._best_net(), list(self._rows), self._positions, self._spent_s)

    def _progress(self) -> Progress:
        last = self._rows[-1].validation_loss if self._rows else None
        return Progress(
            self._positions,
            self._schedule.total,
            self._epoch,
            self._loss(),
            last,
            self._schedule.is_quantised(self._positions),
        )

    def _loss(self) -> float:
        """Mean loss of training since the last validation. Raises TrainingError: it is not a number."""
        loss = float(self._sum) / max(1, self._count)
        if loss != loss:
            raise TrainingError(
                f"the loss is no number any more after {self._positions:,} positions: try a lower --rate"
            )
        return loss

    def _labels(self, batch: Batch, score_share: float) -> Tensor:
        device = self.model.device
        wins = torch.sigmoid(torch.as_tensor(batch.scores, device=device) / self._scale)
        results = torch.as_tensor(batch.results, device=device)
        return score_share * wins + (1 - score_share) * results

    def _losses(self, output: Tensor, batch: Batch, score_share: float) -> Tensor:
        return loss_of(output, self._labels(batch, score_share), self._to_logit, self._settings.exponent)

    def _step(self, batch: Batch) -> None:
        schedule, over = self._schedule, self._positions
        for group in self._optimizer.param_groups:
            group["lr"] = schedule.rate(over)
        self._optimizer.zero_grad(set_to_none=True)
        output = self.model.output(batch, quantised=schedule.is_quantised(over))
        loss = self._losses(output, batch, schedule.score_share(over)).mean()
        loss.backward()  # type: ignore[no-untyped-call,unused-ignore]
        self._optimizer.step()
        self.model.clip()
        with torch.no_grad():
            self._sum += self._losses(output, batch, self._settings.score_to).sum()
            if schedule.is_averaged(over):
                self._average()
        self._count += len(batch)
        self._positions += len(batch)
        self._epoch, self._next_batch = self._next_batch.epoch, batch.after

    def _average(self) -> None:
        """Include the current weights in the mean."""
        self._averaged += 1
        for name, value in self.model.parameters.items():
            now = value.detach().double()
            if name in self._mean:
                self._mean[name].lerp_(now, 1 / self._averaged)
            else:
                self._mean[name] = now

    def _take_mean(self) -> Row:
        """Replace the weights by the mean at the end of the run; the mean is the result if it is better."""
        with torch.no_grad():
            for name, value in self.model.parameters.items():
                value.copy_(self._mean[name])
        self._averaged = 0
        self._sum, self._count = self._zero() + self._rows[-1].training_loss, 1  # nothing was trained since
        return self._validate()

    def _validate(self) -> Row:
        """Measure, and record whether it is the best of its part."""
        schedule, over = self._schedule, self._positions
        quantised = schedule.is_quantised(max(0, over - 1))
        blend, score, result = self.losses(quantised=quantised)
        row = Row(
            over, self._epoch, quantised, schedule.rate(over), schedule.score_share(over),
            self._loss(), blend, score, result,
        )  # fmt: skip
        self._rows.append(row)
        self._sum, self._count = self._zero(), 0
        if self._best is None or self._best["quantised"] != quantised or blend < self._best["loss"]:
            arrays = {name: torch.from_numpy(value) for name, value in self.model.net().by_name().items()}
            self._best = {"quantised": quantised, "loss": blend, "net": arrays}
        return row

    def losses(self, *, quantised: bool) -> tuple[float, float, float]:
        """Mean loss over the validation positions: by the labels of the run's end, the score, the result."""
        sums = torch.zeros(3, dtype=torch.float64)
        with torch.no_grad():
            for batch in self._validation_batches():
                output = self.model.output(batch, quantised=quantised)
                for place, share in enumerate((self._settings.score_to, 1.0, 0.0)):
                    sums[place] += self._losses(output, batch, share).double().sum().cpu()
        blend, score, result = (sums / len(self._validation)).tolist()
        return blend, score, result

    def _validation_batches(self) -> Iterator[Batch]:
        if self.model.device.type != "cuda":
            return batches_of(self._tables, self._validation, self._settings.batch)
        if self._held_out is None:
            self._held_out = Resident(self._tables, self._mirror, self.model.device)
            self._held_out.add(self._validation)
            self._held_out.close_corpus()
        return self._held_out.all(self._settings.batch)

    def _best_net(self) -> FloatNet:
        if self._best is None:
            return self.model.net()
        net = FloatNet(**{name: value.numpy() for name, value in self._best["net"].items()})
        # The last part trained the rounded weights; the unrounded ones only collect small changes.
        return snapped(net) if self._best["quantised"] else net
