"""The mean of two networks."""

from __future__ import annotations

import numpy as np
import pytest

from worker.nnue.features import K_P
from worker.nnue.format import Architecture, serialise_network
from worker.training.blend import BlendError, blend
from worker.training.dummy import random_network

SMALL = Architecture(K_P, 128, 16, 8)
A, B = random_network(SMALL, 1), random_network(SMALL, 2)


def test_a_share_of_all_or_nothing_is_the_net_itself() -> None:
    assert serialise_network(blend(A, B, 0)) == serialise_network(A)
    assert serialise_network(blend(A, B, 1)) == serialise_network(B)
    assert serialise_network(blend(A, A, 0.3)) == serialise_network(A)


def test_every_weight_is_the_rounded_mean() -> None:
    mean = blend(A, B, 0.25)
    pairs = [
        (A.transformer_weight, B.transformer_weight, mean.transformer_weight),
        (A.transformer_bias, B.transformer_bias, mean.transformer_bias),
        *zip(A.weights, B.weights, mean.weights, strict=True),
        *zip(A.biases, B.biases, mean.biases, strict=True),
    ]
    for a, b, found in pairs:
        exact = 0.75 * a.astype(np.float64) + 0.25 * b
        assert np.abs(found - exact).max() <= 0.51


def test_nets_of_other_shapes_and_shares_beyond_are_refused() -> None:
    other = random_network(Architecture(K_P, 128, 8, 8), 1)
    with pytest.raises(BlendError, match="have different shapes"):
        blend(A, other, 0.5)
    with pytest.raises(ValueError, match=r"share is 1\.5"):
        blend(A, B, 1.5)
