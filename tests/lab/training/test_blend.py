"""The mean of networks."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.random_networks import random_network
from lab.training.weights import BlendError, blend
from worker.nnue.features import K_P
from worker.nnue.format import Architecture, serialise_network

SMALL = Architecture(K_P, 128, 16, 8)
A, B, C = (random_network(SMALL, seed) for seed in (1, 2, 3))


def test_a_share_of_all_or_nothing_is_the_net_itself() -> None:
    assert serialise_network(blend([A, B], [1, 0])) == serialise_network(A)
    assert serialise_network(blend([A, B], [0, 1])) == serialise_network(B)
    assert serialise_network(blend([A, A, A], [0.3, 0.3, 0.4])) == serialise_network(A)


def test_every_weight_is_the_rounded_mean() -> None:
    nets, mean = (A, B, C), blend([A, B, C], [0.5, 0.25, 0.25])
    all_values = [(net.transformer_weight, net.transformer_bias, *net.weights, *net.biases) for net in (*nets, mean)]
    for a, b, c, found in zip(*all_values, strict=True):
        exact = 0.5 * a.astype(np.float64) + 0.25 * b + 0.25 * c
        assert np.abs(found - exact).max() <= 0.51


def test_nets_of_other_shapes_and_shares_beyond_are_refused() -> None:
    other = random_network(Architecture(K_P, 128, 8, 8), 1)
    with pytest.raises(BlendError, match="have different shapes"):
        blend([A, B, other], [0.5, 0.25, 0.25])
    for shares in ([1.5, -0.5], [0.5, 0.6], [1.0]):
        with pytest.raises(ValueError, match="expected 2, together 1"):
            blend([A, B], shares)
