"""A larger network that begins as a copy of a smaller one has the same evaluation."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.playouts import positions
from benchmarks.random_networks import random_network
from lab.training.widen import WidenError, is_exact, widen
from tests.worker.nnue.playouts import expected
from worker.nnue.architecture import Architecture
from worker.nnue.features import (
    HALF_KA1,
    HALF_KA2,
    HALF_KA_HM1,
    HALF_KA_HM2,
    HALF_KP,
    HALF_KP_VM,
    HALF_RELATIVE_KP,
    K_P,
    FeatureSet,
)
from worker.nnue.format import NetworkFile

OLD = (128, 8, 16)


def values(network: NetworkFile) -> list[int]:
    return [expected(network, position) for position in positions(5, 40)]


@pytest.mark.parametrize(
    ("old", "new", "shape"),
    [
        (K_P, K_P, (256, 8, 16)),
        (K_P, K_P, (128, 16, 40)),
        (K_P, HALF_KA1, (128, 16, 16)),
        (K_P, HALF_KA2, (256, 8, 32)),
        (HALF_KP_VM, HALF_KP, OLD),
        (HALF_KP_VM, HALF_KA_HM2, (128, 8, 17)),
        (HALF_KA_HM1, HALF_KA1, OLD),
    ],
)
def test_it_evaluates_as_before(old: FeatureSet, new: FeatureSet, shape: tuple[int, int, int]) -> None:
    network = random_network(Architecture(old, *OLD, fv_scale=20))
    larger = widen(network, Architecture(new, *shape), seed=3)
    assert larger.architecture == Architecture(new, *shape, fv_scale=20)
    assert values(larger) == values(network) and is_exact(old, new)
    assert len(set(values(network))) > 5


def test_without_the_enemys_king_it_is_near() -> None:
    """If the rows of the kings are small, as in trained networks, the two networks' values are alike."""
    network = random_network(Architecture(K_P, *OLD))
    weight = np.array(network.transformer_weight)
    weight[1548:] = weight[1548:] // 4
    weight[1548 + 81 :] = weight[1548 + 81 + 1]  # the enemy's king is worth the same everywhere
    network = NetworkFile(network.architecture, network.transformer_bias, weight, network.biases, network.weights)
    larger = widen(network, Architecture(HALF_KP, 256, 8, 16), seed=3)
    assert not is_exact(K_P, HALF_KP)
    before, after = np.array(values(network)), np.array(values(larger))
    assert np.corrcoef(before, after)[0, 1] > 0.9


def test_new_units_differ_and_have_no_say_yet() -> None:
    larger = widen(random_network(Architecture(K_P, *OLD)), Architecture(K_P, 256, 16, 16), seed=3)
    columns = larger.transformer_weight[1:, 128:]
    assert len(np.unique(columns, axis=1).T) == 128
    assert not larger.weights[0][:8, 128:256].any() and larger.weights[0][8:, 128:256].any()
    assert not larger.weights[1][:, 8:].any()


@pytest.mark.parametrize(
    ("old", "new", "shape", "message"),
    [
        (K_P, K_P, (128, 8, 8), "its hidden2 is 16, not 8: it only grows"),
        (HALF_KA2, HALF_KP, OLD, r"features HalfKP\(Friend\) cannot stand for HalfKA2\(Friend\)"),
        (HALF_KP_VM, K_P, OLD, r"features K\+P cannot stand for HalfKP_vm"),
        (K_P, HALF_KA_HM2, OLD, "features HalfKA_hm2"),
        (K_P, HALF_RELATIVE_KP, OLD, "features HalfRelativeKP"),
    ],
)
def test_what_cannot_be(old: FeatureSet, new: FeatureSet, shape: tuple[int, int, int], message: str) -> None:
    network = random_network(Architecture(old, *OLD))
    with pytest.raises(WidenError, match=message):
        widen(network, Architecture(new, *shape), seed=3)
