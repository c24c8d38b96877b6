"""Attack networks in training: their inputs in records, the fit, and what a network learns beside one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.random_networks import random_attack_network, random_network
from lab.training.compare import evaluations
from lab.training.kernels import attack_inputs
from lab.training.net_facts import evaluator_raw
from lab.training.run import beside
from tests.lab.training.shards import corpus_of, folder_of
from worker.nnue.architecture import Architecture
from worker.nnue.attack_inputs import CHECKS, DROPS, EVALUATION, HANDS, INPUTS, SAFE, SHIELDS
from worker.nnue.attack_network import AttackNetwork
from worker.nnue.features import K_P
from worker.nnue.format import NetworkFile

SCALE = 700


@pytest.fixture(scope="module")
def network() -> NetworkFile:
    return random_network(Architecture(K_P, 128, 8, 8))


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    return np.concatenate(corpus_of(folder_of(tmp_path_factory.mktemp("games"), shards=8)).sample(1 << 20))


def added_by(network: NetworkFile, records: np.ndarray) -> np.ndarray:
    """What an attack network adds to the raw output."""
    return evaluator_raw(network, records) - evaluator_raw(replace(network, attack_network=None), records)


def taught(network: NetworkFile) -> NetworkFile:
    """With an attack network that adds some hundred centipawns."""
    attacks = random_attack_network()
    weights = (*attacks.weights[:2], (attacks.weights[2] * 3).astype(np.int8))
    return replace(network, attack_network=AttackNetwork(attacks.biases, weights))


def test_every_part_has_inputs(network: NetworkFile, records: np.ndarray) -> None:
    inputs = attack_inputs(records, evaluator_raw(network, records))
    assert inputs.shape == (len(records), INPUTS) and inputs.max() <= 127
    for part in np.split(inputs, (DROPS, HANDS, SAFE, CHECKS, SHIELDS, EVALUATION), axis=1):
        assert part.any()


def test_the_trainer_has_the_inputs_of_the_searcher(network: NetworkFile, records: np.ndarray) -> None:
    better = taught(network)
    assert better.attack_network is not None
    values = attack_inputs(records, evaluator_raw(network, records)).astype(np.int64)
    for weights, biases in zip(better.attack_network.weights, better.attack_network.biases, strict=True):
        sums = values @ weights.T.astype(np.int64) + biases
        values = (sums >> 6).clip(0, 127)
    added = added_by(better, records)
    assert (sums[:, 0] >> 2).tolist() == added.tolist()
    assert added.std() > 500


def test_what_an_attack_network_adds_is_learned(network: NetworkFile, records: np.ndarray) -> None:
    pytest.importorskip("torch")
    from lab.training.network.attacks import fit

    better = taught(network)
    records = records.copy()
    records["score"] = np.rint(evaluations(better, records))
    half = len(records) // 2
    found = fit(network, records[:half], records[half:], SCALE, passes=100)
    wanted, measured = (added_by(one, records[half:]) for one in (better, found.network))
    assert np.corrcoef(wanted, measured)[0, 1] > 0.4
    assert found.after < found.before


@pytest.mark.parametrize(("score_share", "learned"), [(0.5, True), (1.0, False)])
def test_what_results_say_is_learned_if_they_have_a_share(
    score_share: float, learned: bool, network: NetworkFile, records: np.ndarray
) -> None:
    pytest.importorskip("torch")
    from lab.training.network.attacks import fit

    records = records.copy()
    records["score"] = np.rint(evaluations(network, records))
    added = added_by(taught(network), records)
    records["result"] = np.sign(added - np.median(added))
    half = len(records) // 2
    found = fit(network, records[:half], records[half:], SCALE, score_share=score_share, passes=60)
    measured = added_by(found.network, records[half:])
    assert (measured.std() > 100 and np.corrcoef(added[half:], measured)[0, 1] > 0.2) == learned


def test_without_positions_there_is_no_fit(network: NetworkFile, records: np.ndarray) -> None:
    pytest.importorskip("torch")
    from lab.training.network.attacks import fit

    with pytest.raises(ValueError, match="too few positions"):
        fit(network, records, records[:0], SCALE)


def test_a_network_learns_what_its_attack_network_leaves(
    network: NetworkFile, records: np.ndarray, tmp_path: Path
) -> None:
    corpus = corpus_of(folder_of(tmp_path / "games", shards=8))
    better = taught(network)
    corpus.beside = beside(better)
    left = np.concatenate(corpus.sample(1 << 20))
    added = evaluations(better, records) - evaluations(network, records)
    inside = np.abs(records["score"] - added) < 30_000
    assert inside.mean() > 0.99
    assert np.abs((records["score"] - left["score"] - added)[inside]).max() <= 0.5
