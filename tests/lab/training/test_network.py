"""The part of the trainer that needs PyTorch: its integers match the evaluator's, and a run resumes exactly."""

from __future__ import annotations

import errno
import itertools
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: make torch")

import torch

from lab.training import generation0
from lab.training.batches import START, BatchNumber, make_batch
from lab.training.corpus import Corpus
from lab.training.features import TRAINABLE, mirrored_tables, row_tables
from lab.training.net_facts import evaluator_raw
from lab.training.network import trainer as trainer_module
from lab.training.network.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from lab.training.network.model import FACTOR, Model, SparseSums, device_sums, find_device, rounding_error
from lab.training.network.resident import Resident
from lab.training.network.trainer import Outcome, Row, Trainer, TrainingError, loss_of
from lab.training.train_settings import CHECKPOINT, CHECKPOINT_BEFORE, Schedule, TrainSettings
from lab.training.weights import LAYER_LIMIT, OUTPUT_ONE, FloatNet, from_file, random_net, to_file
from tests.lab.training.shards import corpus_of, folder_of
from worker.nnue.architecture import Architecture
from worker.nnue.features import FEATURE_SETS, HALF_KA_HM1, HALF_KP, K_P
from worker.nnue.format import serialise_network

SMALL = Architecture(K_P, 128, 16, 8)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus_of(folder_of(tmp_path_factory.mktemp("games"), shards=4))


def model_of(net: FloatNet, architecture: Architecture, *, factorise: bool = False, threads: int = 1) -> Model:
    return Model(net, architecture, factorise=factorise, device="cpu", threads=threads)


def lively(architecture: Architecture, seed: int) -> FloatNet:
    """A net whose units reach both ends of their range, as a trained one's do."""
    net = random_net(architecture, seed)
    return replace(net, transformer_weight=net.transformer_weight * 4, weight1=np.clip(net.weight1 * 3, -1.9, 1.9))


@pytest.mark.parametrize("features", [K_P, HALF_KP, HALF_KA_HM1], ids=lambda one: one.name)
@pytest.mark.parametrize("factorise", [False, True])
def test_a_quantised_pass_is_the_evaluator_to_the_last_bit(features: Any, factorise: bool, corpus: Corpus) -> None:
    architecture = Architecture(features, 128, 16, 32)
    records = corpus.validation_records(2000)
    model = model_of(lively(architecture, 4), architecture, factorise=factorise)
    if factorise:
        with torch.no_grad():
            model.parameters[FACTOR].normal_(0, 0.1, generator=torch.Generator().manual_seed(1))
    batch = make_batch(row_tables(features), records, np.arange(len(records)))
    with torch.no_grad():
        raw = model.output(batch, quantised=True).numpy().astype(np.float64) * OUTPUT_ONE
        loose = model.output(batch, quantised=False).numpy() * OUTPUT_ONE
    expected = evaluator_raw(to_file(model.net(), architecture), records)
    assert np.rint(raw).astype(np.int64).tolist() == expected.tolist()
    assert np.abs(raw - expected).max() < 0.01
    assert expected.std() > 100
    assert np.abs(loose - expected).max() > 1, "floating point rounds nothing"
    assert rounding_error(model.net(), to_file(model.net(), architecture), records, 1) == pytest.approx(
        np.sqrt(np.mean((loose - expected) ** 2)), rel=0.01
    )


def test_generation_0_is_the_same_in_integers_and_floating_point(corpus: Corpus) -> None:
    network = generation0.build()
    records = corpus.validation_records(2000)
    found = rounding_error(from_file(network), network, records, 16)
    # Its biases were made without half a step.
    assert found < 12
    assert np.abs(evaluator_raw(network, records)).max() > 10_000


@pytest.mark.parametrize("threads", [1, 3])
def test_slopes_of_the_compiled_sums_are_those_of_torch(threads: int, corpus: Corpus) -> None:
    records = corpus.validation_records(300)
    batch = make_batch(row_tables(K_P), records, np.arange(len(records)))
    net = lively(SMALL, 1)
    found = []
    for sums in (SparseSums(threads), device_sums):
        weight, bias = (
            torch.from_numpy(value.copy()).requires_grad_() for value in (net.transformer_weight, net.transformer_bias)
        )
        out = sums(weight, bias, batch, 1.0)
        slopes = torch.from_numpy(np.random.default_rng(1).standard_normal(tuple(out.shape), np.float32))
        (out * slopes).sum().backward()
        found.append((out.detach(), weight.grad, bias.grad))
    for one, other in zip(*found, strict=True):
        assert one is not None and other is not None
        assert torch.allclose(one, other, atol=1e-4)
        assert float(one.abs().sum()) > 1


def test_the_loss_is_0_if_both_agree_and_cross_entropy_else() -> None:
    labels = torch.tensor([0.0, 0.25, 0.5, 1.0])
    logits = torch.tensor([-20.0, math.log(0.25 / 0.75), 0.0, 20.0])
    assert torch.allclose(loss_of(logits / 3, labels, 3.0), torch.zeros(4), atol=1e-6)
    even = loss_of(torch.zeros(4), labels, 1.0)
    assert torch.allclose(even, torch.tensor([math.log(2), math.log(2) - 0.562335, 0.0, math.log(2)]), atol=1e-5)


def test_the_loss_by_an_exponent_is_that_power_of_the_difference_of_chances() -> None:
    labels = torch.tensor([0.5, 0.7, 0.1])
    logits = torch.tensor([0.0, math.log(0.9 / 0.1), 0.0])
    for exponent in (2.0, 2.5, 3.0):
        expected = torch.tensor([0.0, 0.2**exponent, 0.4**exponent])
        assert torch.allclose(loss_of(logits / 3, labels, 3.0, exponent), expected, atol=1e-6)


# ---- Runs


def trainer_settings(**changes: Any) -> TrainSettings:
    return TrainSettings(
        **{
            "width": 128, "hidden1": 16, "hidden2": 8, "batch": 128, "epochs": 2.0, "rate": 0.01,
            "quantised": 0.4, **changes,
        }
    )  # fmt: skip


def trainer_of(corpus: Corpus, state: dict[str, Any] | None = None, **changes: Any) -> Trainer:
    settings = trainer_settings(**changes)
    return Trainer(
        settings, corpus, corpus.validation_records(500), random_net(settings.architecture, settings.seed),
        fv_scale=16, scale=2000.0, device="cpu", threads=1, state=state,
    )  # fmt: skip


def run(trainer: Trainer, folder: Path | None = None, batches: int = 1 << 30) -> Outcome:
    """Run, and stop after so many batches."""
    asked = 0

    def is_stopped() -> bool:  # asked before each batch
        nonlocal asked
        asked += 1
        return asked > batches

    def keep(state: dict[str, Any]) -> None:
        if folder is not None:
            write_checkpoint(folder, state)

    return trainer.run(lambda _progress: None, lambda _row: None, keep, is_stopped)


def content(outcome: Outcome) -> tuple[bytes, list[Row]]:
    return serialise_network(to_file(outcome.net, SMALL)), outcome.rows


def test_a_run_learns_and_ends_in_integers(corpus: Corpus) -> None:
    trainer = trainer_of(corpus, epochs=8.0)
    outcome = run(trainer)
    assert outcome.finished and outcome.positions >= 8 * corpus.training
    first, last = outcome.rows[0], outcome.rows[-1]
    assert last.training_loss < first.training_loss * 0.7
    assert not first.quantised and last.quantised
    assert last.epoch == 7, "from 0 on"
    records = corpus.validation_records(500)
    assert rounding_error(outcome.net, to_file(outcome.net, SMALL), records, 16) < 10
    for weight in (outcome.net.weight1, outcome.net.weight2):
        assert np.abs(weight).max() <= LAYER_LIMIT + 1e-6


def test_a_run_without_integers_has_none_at_its_end(corpus: Corpus) -> None:
    outcome = run(trainer_of(corpus, epochs=None, positions=1000, quantised=0.0))
    assert outcome.positions > 1000, "the last batch goes beyond the plan"
    assert not any(row.quantised for row in outcome.rows)


@pytest.mark.parametrize("stops", [(3,), (1, 2, 5)])
def test_a_run_that_was_stopped_ends_as_one_that_was_not(
    stops: tuple[int, ...], corpus: Corpus, tmp_path: Path
) -> None:
    expected = content(run(trainer_of(corpus)))
    state = None
    for batches in stops:
        outcome = run(trainer_of(corpus, state), tmp_path, batches)
        assert not outcome.finished
        state, notices = read_checkpoint(tmp_path)
        assert state is not None and not notices
    assert content(run(trainer_of(corpus, state), tmp_path)) == expected
    assert content(run(trainer_of(corpus, seed=2))) != expected


def test_a_net_learns_by_an_exponent(corpus: Corpus) -> None:
    outcome = run(trainer_of(corpus, exponent=2.5, epochs=6.0))
    first, last = outcome.rows[0], outcome.rows[-1]
    assert outcome.finished and last.training_loss < first.training_loss * 0.8


def test_the_mean_of_the_last_weights_is_tried_at_the_end(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer_module, "_PROGRESS_S", 0.0)  # progress after every batch
    plain = trainer_of(corpus, average=0.0, rate=0.05)
    without = run(plain)
    trainer = trainer_of(corpus, average=0.3, rate=0.05)
    weights: list[np.ndarray] = []
    schedule, over = Schedule.of(trainer_settings(average=0.3, rate=0.05), corpus.training), 0

    def note(progress: Any) -> None:
        nonlocal over
        if schedule.is_averaged(over):
            weights.append(trainer.model.parameters["weight1"].detach().numpy().copy())
        over = progress.positions

    outcome = trainer.run(note, lambda _row: None, lambda _state: None)
    assert len(outcome.rows) == len(without.rows) + 1 and outcome.rows[:-1] == without.rows
    assert len(weights) > 2
    assert np.allclose(trainer.model.parameters["weight1"].detach().numpy(), np.mean(weights, 0), atol=1e-6)
    assert min(row.validation_loss for row in outcome.rows if row.quantised) <= without.rows[-1].validation_loss


def test_a_loss_that_is_no_number_ends_the_run(corpus: Corpus) -> None:
    trainer = trainer_of(corpus)
    with torch.no_grad():
        trainer.model.parameters["bias2"].fill_(float("nan"))
    with pytest.raises(TrainingError, match="no number any more"):
        run(trainer)


def test_a_damaged_checkpoint_is_named_and_the_one_before_it_serves(tmp_path: Path) -> None:
    assert read_checkpoint(tmp_path) == (None, [])
    for number in (1, 2):
        write_checkpoint(tmp_path, {"positions": number, "weights": torch.arange(number)})
    state, notices = read_checkpoint(tmp_path)
    assert state is not None and state["positions"] == 2 and not notices

    path = tmp_path / CHECKPOINT
    data = path.read_bytes()
    for broken in (data[: len(data) // 2], data[:60] + b"\x55" + data[61:], b""):
        path.write_bytes(broken)
        state, (notice,) = read_checkpoint(tmp_path)
        assert state is not None and state["positions"] == 1
        assert "checkpoint.pt: its checksum is wrong" in notice
        assert not path.exists(), "the next one would take the place of the good one"
    (tmp_path / CHECKPOINT_BEFORE).unlink()
    path.write_bytes(data[:60])
    with pytest.raises(CheckpointError, match=r"checkpoint\.pt: its checksum is wrong.*remove it"):
        read_checkpoint(tmp_path)


def test_a_full_disk_leaves_the_checkpoint_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_checkpoint(tmp_path, {"positions": 1})

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("worker.files.os.fsync", full)
        with pytest.raises(OSError, match=r"No space left.*checkpoint\.pt"):
            write_checkpoint(tmp_path, {"positions": 2})
    assert read_checkpoint(tmp_path) == ({"positions": 1}, [])
    write_checkpoint(tmp_path, {"positions": 3})
    assert read_checkpoint(tmp_path) == ({"positions": 3}, [])
    assert sorted(path.name for path in tmp_path.iterdir()) == [CHECKPOINT_BEFORE, CHECKPOINT]


def test_devices_that_are_not_here_are_named() -> None:
    assert find_device("cpu") == "cpu"
    for name in ("tpu", "meta", "cuda:x"):
        with pytest.raises(ValueError, match=f"device is {name}"):
            find_device(name)
    if not torch.cuda.is_available():
        assert find_device("auto") == "cpu"
        with pytest.raises(ValueError, match="sees no GPU here"):
            find_device("cuda")


def test_all_feature_sets_that_can_be_trained_have_limits_that_keep_sums_in_int16() -> None:
    from lab.training.weights import (
        FACTOR_LIMIT,
        SFNN_TRANSFORMER_LIMIT,
        TRANSFORMER_BIAS_LIMIT,
        TRANSFORMER_LIMIT,
    )

    most = max(row_tables(one).active for one in TRAINABLE.values())
    for limit, times in ((TRANSFORMER_LIMIT, 1), (SFNN_TRANSFORMER_LIMIT, 2)):
        total = round((limit + FACTOR_LIMIT) * 127) * most + round(TRANSFORMER_BIAS_LIMIT * 127)
        assert times * total < 1 << 15


# ---- Positions in a GPU's memory (the same code runs on the CPU)


@pytest.mark.parametrize("name", ["K+P", "HalfKP(Friend)", "HalfKA_hm1(Friend)"])
def test_rows_made_on_the_device_are_those_of_the_loader(name: str, corpus: Corpus) -> None:
    tables = row_tables(FEATURE_SETS[name])
    records = corpus.validation_records(300)
    resident = Resident(tables, mirrored_tables(tables), torch.device("cpu"))
    resident.add(records[:100])
    resident.add(records[100:])
    resident.close_corpus()
    at = 0
    for batch in resident.all(64):
        expected = make_batch(tables, records, np.arange(at, at + len(batch)))
        for field in ("own", "enemy", "scores", "results"):
            assert np.array_equal(getattr(batch, field).numpy(), getattr(expected, field)), field
        at += len(batch)
    assert at == len(records)


def test_batches_of_the_device_use_each_position_once_an_epoch_and_go_on_anywhere(corpus: Corpus) -> None:
    tables = row_tables(K_P)
    resident = Resident(tables, mirrored_tables(tables), torch.device("cpu"))
    resident.add_training(corpus, 1, 1)
    batches = resident.training(100, 7, START)
    count = 2 * -(-corpus.training // 100)
    whole = list(itertools.islice(batches, count))
    for epoch in range(2):
        part = [batch for place, batch in enumerate(whole) if place // (count // 2) == epoch]
        assert sum(map(len, part)) == corpus.training
        scores = torch.cat([batch.scores for batch in part]).sort().values
        assert torch.equal(scores, torch.cat([batch.scores for batch in resident.all(100)]).sort().values)
    assert not torch.equal(whole[0].own, whole[count // 2].own)
    assert whole[-1].after == BatchNumber(2)
    for place in (3, count // 2 + 1):
        again = next(resident.training(100, 7, whole[place - 1].after))
        assert torch.equal(again.own, whole[place].own)
        assert torch.equal(again.scores, whole[place].scores)
