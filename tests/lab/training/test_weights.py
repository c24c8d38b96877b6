"""Weights in floating point and in integers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.random_networks import random_network
from lab.training import generation0
from lab.training.weights import from_file, random_net, snapped, to_file
from worker.nnue.features import K_P
from worker.nnue.format import Architecture, NetworkFile, serialise_network

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
    one = snapped(net, layer=2)
    assert (one.weight1 == net.weight1).all() and (one.weight2 != net.weight2).any()


def test_no_unit_begins_at_an_end() -> None:
    """Inputs in the middle of their range give outputs there."""
    net = random_net(Architecture(K_P, 256, 32, 32), 3)
    assert np.allclose(net.weight1 @ np.full(512, 0.5) + net.bias1, 0.5, atol=1e-4)
    assert np.allclose(net.weight2 @ np.full(32, 0.5) + net.bias2, 0.5, atol=1e-4)
    assert np.allclose(net.weight3 @ np.full(32, 0.5) + net.bias3, 0, atol=1e-4)
