"""Larger copies of a network."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.worker.selfplay.games import games_of, made
from worker.nnue import Network, NnueState, evaluate_full
from worker.nnue.features import HALF_KA1, HALF_KA_HM1, HALF_KA_ZONES, HALF_KP, K_P, FeatureSet
from worker.nnue.format import Architecture, NetworkFile, parse_network, serialise_network
from worker.selfplay.walk import whole_move
from worker.training.dummy import random_network
from worker.training.grow import GrowError, grown
from worker.training.packed import unpacked_position

SMALL = Architecture(K_P, 128, 16, 8)


@pytest.fixture(scope="module")
def small() -> NetworkFile:
    """A network in which no sum wraps around, with both ends of int8 among its weights."""
    network = random_network(SMALL, seed=4)
    weight = network.transformer_weight.copy()
    weight[K_P.zero_rows] = 0
    first = network.weights[0].copy()
    first[0, :4] = (-128, 127, -127, 0)
    return replace(network, transformer_weight=weight, weights=(first, *network.weights[1:]))


def values(network: NetworkFile) -> list[int]:
    """Raw outputs of positions of games, among them kings far up."""
    state = NnueState(Network(network))
    found = []
    for game in games_of(made(games=6, entering=0.5, max_moves=60)):
        position = unpacked_position(game.start, game.move_number)
        for move in game.moves:
            found.append(int(evaluate_full(position.record, state.record)))
            position.push(int(whole_move(position.record, int(move))))
    return found


@pytest.mark.parametrize(
    ("features", "width"), [(K_P, 128), (K_P, 256), (K_P, 512), (HALF_KA1, 128), (HALF_KA_ZONES, 256)]
)
def test_every_position_keeps_its_value(small: NetworkFile, features: FeatureSet, width: int) -> None:
    shape = replace(SMALL, features=features, width=width)
    larger = grown(small, shape)
    assert larger.architecture == shape
    assert values(larger) == values(small)
    assert serialise_network(parse_network(serialise_network(larger))) == serialise_network(larger)
    assert serialise_network(grown(small, shape)) == serialise_network(larger)


def test_copies_of_a_unit_have_other_weights_behind_them(small: NetworkFile) -> None:
    first = grown(small, replace(SMALL, width=256)).weights[0].astype(int)
    assert np.count_nonzero(first[:, :128] != first[:, 128:256]) > 0.9 * first[:, :128].size
    assert np.abs(first).max() <= 128


def test_its_own_shape_gives_the_network_itself(small: NetworkFile) -> None:
    assert serialise_network(grown(small, SMALL)) == serialise_network(small)


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (replace(SMALL, width=384), "width 384: expected 128, or 2, 4, 8"),
        (replace(SMALL, hidden1=32), "hidden layers 32-8: the network has 16-8"),
        (replace(SMALL, features=HALF_KP), r"HalfKP\(Friend\) do not follow from K\+P"),
        (replace(SMALL, features=HALF_KA_HM1), r"HalfKA_hm1\(Friend\) do not follow from K\+P"),
    ],
)
def test_shapes_that_do_not_follow_are_refused(small: NetworkFile, shape: Architecture, text: str) -> None:
    with pytest.raises(GrowError, match=text):
        grown(small, shape)


def test_a_network_does_not_shrink(small: NetworkFile) -> None:
    with pytest.raises(GrowError, match="width 128: expected 256"):
        grown(grown(small, replace(SMALL, width=256)), SMALL)
