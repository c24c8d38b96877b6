"""The compiled evaluation equals the numpy reference bit for bit, updated and refreshed, for every kind of network.

A part of it runs once more in the portable build: `tests.worker.test_portable`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.random_networks import HALF_KP_256, random_attack_network, random_network
from tests.worker.nnue.playouts import GAMES, STARTS, compare, expected
from worker.nnue import Network, NnueState, evaluate, evaluate_full
from worker.nnue.architecture import Architecture
from worker.nnue.features import (
    FEATURE_SETS,
    HALF_KA1,
    HALF_KA2,
    HALF_KA_HM1,
    HALF_KA_HM2,
    HALF_KP,
    HALF_KP_VM,
    HALF_KPE9,
    HALF_RELATIVE_KP,
    K_A2,
    K_P,
    FeatureSet,
)
from worker.nnue.format import NetworkFile, read_network
from worker.shogi import Position

REFERENCE = Path(__file__).resolve().parents[4] / "shared" / "nets" / "kp256_reference.bin"

NETWORKS = (
    # The usual HalfKP.
    Architecture(HALF_KP, 512, 8, 96),
    Architecture(HALF_KP, 512, 16, 32),
    Architecture(HALF_KP, 512, 64, 32),
    Architecture(HALF_KP, 768, 16, 64),
    Architecture(HALF_KP, 1024, 8, 32),
    Architecture(HALF_KP, 1024, 8, 64),
    # Other features.
    Architecture(K_P, 256, 32, 32),
    Architecture(HALF_KP_VM, 256, 32, 32),
    Architecture(HALF_RELATIVE_KP, 256, 32, 32),
    Architecture(HALF_KA1, 256, 32, 32),
    Architecture(HALF_KA2, 512, 16, 32),
    Architecture(HALF_KA_HM1, 256, 32, 32),
    Architecture(HALF_KA_HM2, 512, 8, 64),
    # Sizes without a kernel of their own.
    Architecture(K_P, 128, 1, 40),
    Architecture(K_P, 384, 24, 8),
    Architecture(K_P, 1024, 64, 96),
    Architecture(K_A2, 256, 32, 32),
    Architecture(HALF_KPE9, 128, 32, 32),
)
EVERY_GAMES = 14
"""Step through the real games: each of these networks evaluates every fourteenth, each from another start."""
WALKS = 4


def test_all_games() -> None:
    """More than ten thousand positions of real games and of play-outs."""
    assert compare(random_network(HALF_KP_256), games=GAMES, walks=20) >= 12_900


@pytest.mark.parametrize(
    ("number", "architecture"),
    list(enumerate(NETWORKS)),
    ids=[f"{arch.features.name}-{arch.width}-{arch.hidden1}-{arch.hidden2}" for arch in NETWORKS],
)
def test_games(number: int, architecture: Architecture) -> None:
    games = GAMES[number % EVERY_GAMES :: EVERY_GAMES]
    assert compare(random_network(architecture), games=games, walks=WALKS, seed=number) >= 780


def with_attacks(network: NetworkFile) -> NetworkFile:
    return replace(network, attack_network=random_attack_network())


def test_attack_network() -> None:
    network = with_attacks(random_network(Architecture(K_P, 128, 8, 8)))
    assert compare(network, games=GAMES[::EVERY_GAMES], walks=len(STARTS)) >= 780


@pytest.mark.skipif(not REFERENCE.exists(), reason=f"the reference network is not there: {REFERENCE}")
def test_reference_network() -> None:
    assert compare(read_network(REFERENCE), games=GAMES[::EVERY_GAMES], walks=WALKS) >= 780


def test_extreme_weights() -> None:
    """Accumulators that wrap around, layers of the largest weights: no intermediate sum saturates."""
    rng = np.random.default_rng(5)
    arch = Architecture(K_P, 256, 32, 32)
    network = NetworkFile(
        arch,
        rng.integers(-(1 << 15), 1 << 15, 256, np.int16),
        rng.integers(-(1 << 15), 1 << 15, (K_P.dimensions, 256), np.int16),
        tuple(rng.integers(-1_000_000, 1_000_000, outputs, np.int32) for outputs, _ in arch.layers),
        tuple(rng.choice(np.array([-128, -1, 0, 127], np.int8), shape) for shape in arch.layers),
    )
    assert compare(network, games=GAMES[:1], walks=WALKS) >= 100


@pytest.mark.parametrize("architecture", [NETWORKS[0], NETWORKS[1], NETWORKS[6], NETWORKS[14]], ids=str)
def test_few_active_neurons(architecture: Architecture) -> None:
    """The first layer skips the inactive inputs, even if one side has many more active ones, or none."""
    network = random_network(architecture)
    for lower in (60, 150, 250, 5000):
        bias = (network.transformer_bias - lower).astype(np.int16)
        assert compare(replace(network, transformer_bias=bias), games=GAMES[:1], walks=1) >= 100


@pytest.mark.parametrize("features", FEATURE_SETS.values(), ids=lambda features: features.name)
def test_kings_on_every_square(features: FeatureSet) -> None:
    """Games seldom bring a king into the enemy's camp, and never onto some squares."""
    network = with_attacks(random_network(Architecture(features, 128, 8, 8)))
    state = NnueState(Network(network))
    for square in range(81):
        board = [["1"] * 9 for _ in range(9)]
        file, rank = divmod(square, 9)
        board[rank][8 - file] = "K"
        board[(rank + 4) % 9][8 - (file + 3) % 9] = "k"
        board[(rank + 2) % 9][8 - (file + 6) % 9] = "+R"
        board[(rank + 6) % 9][8 - (file + 5) % 9] = "g"
        position = Position.from_sfen(f"{'/'.join(''.join(row) for row in board)} b B2Pbsn3p 1")
        assert evaluate_full(position.record, state.record) == expected(network, position), position.sfen()


@pytest.mark.parametrize("features", [HALF_KP_VM, HALF_KA_HM1, HALF_KA_HM2], ids=lambda features: features.name)
def test_left_and_right_are_one_to_mirrored_features(features: FeatureSet) -> None:
    """Unless a king stands on the middle file."""
    state = NnueState(Network(random_network(Architecture(features, 128, 8, 8))))

    def value(rows: list[str]) -> int:
        return int(evaluate(Position.from_sfen(f"{'/'.join(rows)} b B2Pbsn3p 1").record, state.record))

    rows = [
        "1111111n1",
        "l1gk11111",
        "11111g111",
        "111pp1s11",
        "111111111",
        "1P1P11111",
        "11S111111",
        "1111G1K11",
        "LN1111111",
    ]
    assert value(rows) == value([row[::-1] for row in rows])
    rows[7] = "1111KG111"
    assert value(rows) != value([row[::-1] for row in rows])
