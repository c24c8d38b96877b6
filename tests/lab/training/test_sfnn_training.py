"""The SFNN trainer: its integers match the evaluator's, it learns, and it begins as a copy of a smaller net."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: make torch")

import torch

from lab.selfplay.walk import PIECES
from lab.training.batches import make_batch
from lab.training.corpus import Corpus, Records
from lab.training.features import mirrored_tables, row_tables
from lab.training.kernels import piece_codes
from lab.training.net_facts import evaluator_raw
from lab.training.network.model import FACTOR, Model, rounding_error
from lab.training.network.stacks import stacks_of
from lab.training.network.trainer import Trainer
from lab.training.train_settings import TrainSettings
from lab.training.weights import from_file, random_net, to_file
from lab.training.widen import WidenError, widen
from tests.lab.training.shards import corpus_of, folder_of
from worker.nnue.network import read_any, serialise
from worker.nnue.sfnn.architecture import parse_sfnn_name
from worker.nnue.sfnn.file import SfnnFile
from worker.nnue.sfnn.reference import evaluate
from worker.nnue.sfnn.stacks import stack_index
from worker.shogi.pieces import KING

SHAPES = (
    "SFNN_halfkahm2_128_15_32",
    "SFNN_halfkahm2_128_15_32_k3k3",
    "SFNN_halfka2_128_7_64_k3k3",
    "SFNN_halfkp_64_16_8_k3k3",
    "SFNN_kp_256_16_16_k9k9",
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus_of(folder_of(tmp_path_factory.mktemp("games"), shards=4))


def lively(name: str) -> Model:
    """A net whose units reach both ends of their range, with different stacks."""
    architecture = parse_sfnn_name(name)
    net, rng = random_net(architecture, 4), np.random.default_rng(1)

    def noise(values: np.ndarray, deviation: float) -> np.ndarray:
        return values + rng.normal(0, deviation, values.shape).astype(np.float32)

    net = replace(
        net, transformer_weight=net.transformer_weight * 4, weight1=noise(net.weight1, 0.1).clip(-1.9, 1.9),
        bias1=noise(net.bias1, 0.3), weight2=noise(net.weight2, 0.2).clip(-1.9, 1.9), bias3=noise(net.bias3, 0.1),
    )  # fmt: skip
    factorise = architecture.features.king_rows
    model = Model(net, architecture, factorise=factorise, device="cpu", threads=1)
    if factorise:
        with torch.no_grad():
            model.parameters[FACTOR].normal_(0, 0.1, generator=torch.Generator().manual_seed(1))
    return model


def boards(records: Records) -> list[tuple[list[int], list[list[int]], list[int]]]:
    """Board, hands and kings' squares of records; black is to move."""
    codes, found = piece_codes(), []
    for record in records:
        board, hands, kings = [0] * 81, [[0] * 16, [0] * 16], [-1, -1]
        for number in record["pieces"][:PIECES]:
            code = int(codes[number])
            if code & 1 << 12:
                hands[code >> 3 & 1][code & 7] += 1
            else:
                board[code & 127] = code >> 7
                if code >> 7 & 15 == KING:
                    kings[code >> 11] = code & 127
        found.append((board, hands, kings))
    return found


@pytest.mark.parametrize("name", SHAPES)
def test_trainer_oracle_and_kernel_agree_to_the_last_bit(name: str, corpus: Corpus, tmp_path: Path) -> None:
    model, records = lively(name), corpus.validation_records(1000)
    file = tmp_path / "nn.bin"
    file.write_bytes(serialise(to_file(model.net(), model.architecture)))
    network = read_any(file)
    assert isinstance(network, SfnnFile) and network.architecture == model.architecture, "the header is true"
    batch = make_batch(row_tables(model.architecture.features), records, np.arange(len(records)))
    with torch.no_grad():
        raw = model.output(batch, quantised=True).numpy().astype(np.float64) * 9600
    expected = evaluator_raw(network, records)
    assert np.abs(raw - expected).max() < 0.01 and expected.std() > 100
    assert expected[:40].tolist() == [evaluate(network, 0, *place) for place in boards(records[:40])]
    # Floating point rounds nothing; these weights are larger than trained ones.
    assert 0.1 < rounding_error(model.net(), network, records, 16) < 150


@pytest.mark.parametrize("name", SHAPES)
def test_the_stack_is_that_of_the_player_also_of_a_mirrored_position(name: str, corpus: Corpus) -> None:
    architecture, records = parse_sfnn_name(name), corpus.validation_records(300)
    tables = row_tables(architecture.features)
    expected = [stack_index(architecture.stacks, 0, hands, kings) for _, hands, kings in boards(records)]
    for used in (tables, mirrored_tables(tables)):
        batch = make_batch(used, records, np.arange(len(records)))
        assert stacks_of(batch, architecture, torch.device("cpu")).tolist() == expected
    assert len(set(expected)) > 1 or not architecture.stacks.king


@pytest.mark.parametrize("name", ["SFNN_kp_64_15_8", "SFNN_halfkahm2_64_7_16_k3k3"])
def test_a_run_learns_and_ends_in_integers(name: str, corpus: Corpus) -> None:
    settings = TrainSettings(sfnn=name, batch=128, epochs=6.0, rate=0.01, quantised=0.4)
    trainer = Trainer(
        settings, corpus, corpus.validation_records(500), random_net(settings.architecture, 1), fv_scale=16,
        scale=2000.0, device="cpu", threads=1,
    )  # fmt: skip
    outcome = trainer.run(lambda _: None, lambda _: None, lambda _: None)
    first, last = outcome.rows[0], outcome.rows[-1]
    assert last.training_loss < first.training_loss * 0.7 and last.quantised
    network = to_file(outcome.net, settings.architecture)
    assert rounding_error(outcome.net, network, corpus.validation_records(500), 16) < 10
    assert serialise(to_file(from_file(network), settings.architecture)) == serialise(network)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SFNN_halfkahm2_128_15_32", "SFNN_halfkahm2_192_23_40_k3k3"),
        ("SFNN_halfkahm2_128_15_32_k3k3", "SFNN_halfka2_256_15_32_k3k3"),
        ("SFNN_kp_64_16_8", "SFNN_halfka2_64_24_8"),
    ],
)
def test_a_larger_net_begins_as_a_copy(old: str, new: str, corpus: Corpus) -> None:
    model, records = lively(old), corpus.validation_records(200)
    network = to_file(model.net(), model.architecture)
    larger = widen(network, parse_sfnn_name(new), seed=3)
    assert larger.architecture == parse_sfnn_name(new)
    assert evaluator_raw(larger, records).tolist() == evaluator_raw(network, records).tolist()


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ("SFNN_kp_64_15_8_k3k3", "hidden1 is 16, not 15"),
        ("SFNN_kp_64_23_8", "the shortcut and the stacks stay"),
        ("SFNN_halfkahm2_64_16_8", "features HalfKA_hm2"),
    ],
)
def test_what_cannot_grow(new: str, message: str) -> None:
    network = to_file(random_net(parse_sfnn_name("SFNN_kp_64_16_8"), 1), parse_sfnn_name("SFNN_kp_64_16_8"))
    with pytest.raises(WidenError, match=message):
        widen(network, parse_sfnn_name(new), seed=3)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("SFNN_ka2_64_15_8", "its features cannot be trained"),
        ("SFNN_kp_64_15_8_hand4", "its stacks cannot be trained"),
        ("SFNN_kp_64_15_8_k9k9z", "its stacks cannot be trained"),
        ("SFNN_kp_256_16_8_c128_s64x2", "c128_s64x2 cannot be trained"),
    ],
)
def test_shapes_that_cannot_be_trained_are_named(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainSettings(sfnn=name)
