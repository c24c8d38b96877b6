"""Networks with variations: their size, and that they are reproducible."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.random_networks import random_network
from tests.worker.nnue.playouts import expected
from worker.nnue import Network, Variation, load_network
from worker.nnue.architecture import Architecture
from worker.nnue.features import FEATURE_SETS
from worker.nnue.format import NetworkFile, parse_network
from worker.nnue.network import default_file
from worker.nnue.variation import _evaluate, _positions_of, vary
from worker.shogi import Position

FILE = default_file()
SCALE = 16


@pytest.fixture(scope="module")
def network() -> NetworkFile:
    return parse_network(FILE.read_bytes())


def same(one: NetworkFile, other: NetworkFile) -> bool:
    pairs = [(one.transformer_weight, other.transformer_weight)]
    pairs += [*zip(one.weights, other.weights, strict=True), *zip(one.biases, other.biases, strict=True)]
    return all(np.array_equal(a, b) for a, b in pairs)


def deviation(network: NetworkFile, other: NetworkFile, fv_scale: int) -> float:
    """Standard deviation (cp) of the difference of two evaluations, over the positions that ``network`` finds open."""
    positions = _positions_of(network, fv_scale)
    return float((_evaluate(other, positions, fv_scale) - _evaluate(network, positions, fv_scale)).std())


def test_nothing_to_change(network: NetworkFile) -> None:
    assert vary(network, Variation(seed=7), SCALE) is network


@pytest.mark.parametrize("values", [{"dropout": 0.1}, {"noise_cp": 30.0}, {"dropout": 0.05, "noise_cp": 10.0}])
def test_a_seed_is_a_network(network: NetworkFile, values: dict[str, float]) -> None:
    one = vary(network, Variation(**values, seed=1), SCALE)  # type: ignore[arg-type]
    again = vary(network, Variation(**values, seed=1), SCALE)  # type: ignore[arg-type]
    other = vary(network, Variation(**values, seed=2), SCALE)  # type: ignore[arg-type]
    assert same(one, again)
    assert not same(one, network)
    assert not same(one, other)


@pytest.mark.parametrize("wanted", [5.0, 20.0, 80.0])
def test_noise_is_as_strong_as_asked_for(network: NetworkFile, wanted: float) -> None:
    noisy = vary(network, Variation(noise_cp=wanted, seed=1), SCALE)
    assert deviation(network, noisy, SCALE) == pytest.approx(wanted, rel=0.1)


def test_noise_follows_the_scale(network: NetworkFile) -> None:
    noisy = vary(network, Variation(noise_cp=20, seed=1), 32)
    assert deviation(network, noisy, 32) == pytest.approx(20, rel=0.05)
    assert deviation(network, noisy, 16) > 30


def test_more_dropout_differs_more_and_neither_side_is_favoured(network: NetworkFile) -> None:
    def mean_deviation(share: float) -> float:
        found = [vary(network, Variation(share, 0, seed), SCALE) for seed in range(3)]
        return float(np.mean([deviation(network, other, SCALE) for other in found]))

    small, large = mean_deviation(0.03), mean_deviation(0.3)
    assert 1 < small < large
    position = Position.startpos()
    plain, dropped = (expected(net, position) for net in (network, vary(network, Variation(0.05, 0, 1), SCALE)))
    assert abs(plain - dropped) < 100 * SCALE


def test_dropout_takes_whole_units_of_both_sides() -> None:
    source = random_network(Architecture(FEATURE_SETS["K+P"], 128, 32, 8))
    assert source.weights[0].any(axis=0).all()
    first = vary(source, Variation(dropout=0.25, seed=4), SCALE).weights[0]
    silent = ~first.any(axis=0)
    assert np.array_equal(silent[:128], silent[128:])
    assert silent[:128].sum() == 32
    kept = first[:, ~silent].astype(float)
    wanted = (source.weights[0][:, ~silent] * (4 / 3)).clip(-128, 127)
    assert np.abs(kept - wanted).max() <= 0.5


@pytest.mark.parametrize("features", ["HalfKP(Friend)", "HalfKA_hm2(Friend)"])
def test_other_kinds_of_network(features: str) -> None:
    source = random_network(Architecture(FEATURE_SETS[features], 128, 8, 8))
    assert not same(vary(source, Variation(0.1, 5, 1), SCALE), source)


def test_out_of_range() -> None:
    for values in ({"dropout": 0.6}, {"dropout": -0.1}, {"noise_cp": -1}, {"noise_cp": 2000}, {"seed": -1}):
        with pytest.raises(ValueError, match=r"expected 0"):
            Variation(**values)  # type: ignore[arg-type]


def test_it_is_what_is_loaded(network: NetworkFile) -> None:
    variation = Variation(dropout=0.1, noise_cp=20, seed=3)
    loaded, made = load_network(None, variation=variation), Network(network, variation=variation)
    assert np.array_equal(loaded.transformer_weight, made.transformer_weight)
    for one, other in zip(loaded.layers, made.layers, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert not np.array_equal(loaded.transformer_weight, load_network(None).transformer_weight)
