"""Weights in floating point and in integers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.random_networks import random_network
from lab.training import generation0
from lab.training.weights import BlendError, blend, from_file, random_net, snapped, to_file
from worker.nnue.architecture import Architecture
from worker.nnue.features import K_P
from worker.nnue.format import NetworkFile, serialise_network

SMALL = Architecture(K_P, 128, 16, 8)


@pytest.mark.parametrize("network", [random_network(SMALL, 5), generation0.build()], ids=["random", "generation 0"])
def test_a_network_comes_back_bit_for_bit(network: NetworkFile) -> None:
    assert serialise_network(to_file(from_file(network), network.architecture)) == serialise_network(network)


def test_hidden_sums_are_rounded_to_the_nearest() -> None:
    net = random_net(SMALL, 1)
    file = to_file(net, SMALL)
    # Half a step of `>> 6` in the biases of hidden layers, none in the output's.
    assert file.biases[0].tolist() == (np.rint(net.bias1 * np.float32(64 * 127)) + 32).astype(int).tolist()
    assert file.biases[2].tolist() == np.rint(net.bias3 * np.float32(9600)).astype(int).tolist()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("weight1", 2.5, "layer 1: a weight does not fit into int8"),
        ("weight3", -1.8, "output: a weight does not fit into int8"),
        ("transformer_weight", 300.0, "feature transformer: a weight does not fit into int16"),
        ("bias2", float("nan"), "layer 2: a weight is no number"),
    ],
)
def test_what_does_not_fit_is_named(name: str, value: float, words: str) -> None:
    net = random_net(SMALL, 1)
    values = getattr(net, name).copy()
    values.ravel()[0] = value
    with pytest.raises(ValueError, match=words):
        to_file(replace(net, **{name: values}), SMALL)


def test_snapped_weights_are_those_of_the_file() -> None:
    net = random_net(SMALL, 2)
    file = to_file(net, SMALL)
    assert serialise_network(to_file(snapped(net), SMALL)) == serialise_network(file)
    again = from_file(file)
    for name, values in snapped(net).by_name().items():
        assert np.allclose(values, getattr(again, name), atol=1e-6)


def test_no_unit_begins_at_an_end() -> None:
    """Inputs in the middle of their range give outputs there."""
    net = random_net(Architecture(K_P, 256, 32, 32), 3)
    assert np.allclose(net.weight1 @ np.full(512, 0.5) + net.bias1, 0.5, atol=1e-4)
    assert np.allclose(net.weight2 @ np.full(32, 0.5) + net.bias2, 0.5, atol=1e-4)
    assert np.allclose(net.weight3 @ np.full(32, 0.5) + net.bias3, 0, atol=1e-4)


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
    with pytest.raises(BlendError, match="differ in shape"):
        blend([A, B, other], [0.5, 0.25, 0.25])
    for shares in ([1.5, -0.5], [0.5, 0.6], [1.0]):
        with pytest.raises(ValueError, match="expected 2, together 1"):
            blend([A, B], shares)
