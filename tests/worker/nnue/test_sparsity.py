"""The order of neurons: another one changes no evaluation, and seldom active ones come first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.random_networks import random_network
from tests.worker.nnue.playouts import expected
from worker.nnue.features import K_P
from worker.nnue.format import Architecture
from worker.nnue.network import by_activity, in_order
from worker.shogi import Position

ARCHITECTURE = Architecture(K_P, 64, 8, 8)


def test_any_order_evaluates_the_same() -> None:
    network = random_network(ARCHITECTURE)
    order = np.random.default_rng(3).permutation(64)
    other = in_order(network, order)
    assert not np.array_equal(other.weights[0], network.weights[0])
    for sfen in ("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1", "4k4/9/9/9/9/9/9/9/4K4 b RB2Gr 1"):
        position = Position.from_sfen(sfen)
        assert expected(other, position) == expected(network, position)


def test_seldom_active_neurons_come_first() -> None:
    network = random_network(ARCHITECTURE)
    bias = network.transformer_bias.copy()
    bias[[3, 50]] = -20_000, 20_000
    order = by_activity(replace(network, transformer_bias=bias))
    assert sorted(order) == list(range(64))
    assert order[0] == 3
    # Others may be active in every position too.
    assert 50 in order[-8:]
