"""The fit of attack terms: their numbers in a position, and terms that are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.random_networks import random_network
from lab.training.attack_terms import counts_of, fit
from lab.training.compare import evaluations
from tests.lab.training.shards import corpus_of, folder_of
from worker.nnue.architecture import Architecture
from worker.nnue.attack_terms import CONSTANT, TERMS
from worker.nnue.features import K_P
from worker.nnue.format import NetworkFile

SCALE = 700


@pytest.fixture(scope="module")
def network() -> NetworkFile:
    return random_network(Architecture(K_P, 128, 8, 8))


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    return np.concatenate(corpus_of(folder_of(tmp_path_factory.mktemp("games"), shards=8)).sample(1 << 20))


def with_terms(network: NetworkFile) -> NetworkFile:
    terms = np.random.default_rng(2).integers(-1000, 1000, TERMS, np.int16)
    return replace(network, attack_terms=terms)


def test_the_counts_are_what_the_evaluation_adds(network: NetworkFile, records: np.ndarray) -> None:
    taught = with_terms(network)
    counts = counts_of(records)
    assert (counts[:, CONSTANT] == 1).all() and counts.max() > 10
    added = (evaluations(taught, records) - evaluations(network, records)) * 16
    assert taught.attack_terms is not None
    assert added.tolist() == (counts.astype(np.int64) @ taught.attack_terms.astype(np.int64)).tolist()


def test_terms_that_are_known_are_found(network: NetworkFile, records: np.ndarray) -> None:
    taught = with_terms(network)
    records = records.copy()
    records["score"] = np.rint(evaluations(taught, records))
    half = len(records) // 2
    found = fit(network, records[:half], records[half:], SCALE)
    assert found.network.attack_terms is not None and taught.attack_terms is not None
    counts = counts_of(records)
    wanted, measured = (counts[half:] @ one.attack_terms.astype(np.float64) for one in (taught, found.network))
    assert np.std(measured - wanted) < 0.2 * np.std(wanted)
    chances = 1 / (1 + np.exp(-records["score"][half:] / SCALE))
    least = -np.mean(chances * np.log(chances) + (1 - chances) * np.log(1 - chances))
    assert least <= found.after < least + 0.001 < found.before


def test_without_positions_there_is_no_fit(network: NetworkFile, records: np.ndarray) -> None:
    with pytest.raises(ValueError, match="too few positions"):
        fit(network, records, records[:0], SCALE)


def test_a_network_learns_what_its_terms_leave(network: NetworkFile, records: np.ndarray, tmp_path: Path) -> None:
    corpus = corpus_of(folder_of(tmp_path / "games", shards=8))
    taught = with_terms(network)
    assert taught.attack_terms is not None
    corpus.terms = taught.attack_terms, 16
    left = np.concatenate(corpus.sample(1 << 20))
    added = evaluations(taught, records) - evaluations(network, records)
    inside = np.abs(records["score"] - added) < 30_000
    assert inside.mean() > 0.99
    assert np.abs((records["score"] - left["score"] - added)[inside]).max() <= 0.5
