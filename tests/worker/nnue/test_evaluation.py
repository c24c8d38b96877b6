"""The evaluation is updated if possible, serves many positions and threads, and gives sensible scores."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.random_networks import HALF_KP_256, random_network
from tests.worker.nnue.playouts import STARTS, expected, mirrored, play, walk
from worker.nnue import Network, NnueState, centipawns, default_network, evaluate, evaluate_score, load_network
from worker.nnue.architecture import Architecture
from worker.nnue.features import FEATURE_SETS, HALF_KP, K_P, FeatureSet
from worker.nnue.format import NetworkFile
from worker.nnue.network import by_activity
from worker.nnue.record import SLOTS
from worker.score import MAX_EVAL, MAX_PLY
from worker.shogi import Position

REFERENCE = Path(__file__).resolve().parents[4] / "shared" / "nets" / "kp256_reference.bin"
needs_reference = pytest.mark.skipif(not REFERENCE.exists(), reason=f"the reference network is not there: {REFERENCE}")
WITHOUT_WHITE_ROOK = "lnsgkgsnl/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
WITHOUT_BLACK_ROOK = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B7/LNSGKGSNL b - 1"


@pytest.fixture(scope="module")
def half_kp() -> NetworkFile:
    return random_network(HALF_KP_256)


def test_each_ply_of_a_search_has_a_slot_of_its_own() -> None:
    """Plies that share one cost a refresh at almost every node, and no other test would notice."""
    assert len({ply & (SLOTS - 1) for ply in range(MAX_PLY)}) == MAX_PLY


def test_rows_of_no_feature_are_never_used(half_kp: NetworkFile) -> None:
    """The searcher keeps zeros in the rows of piece number 0; the file may hold anything there."""
    weight = half_kp.transformer_weight.copy()
    weight[HALF_KP.zero_rows] = 12345
    changed = NetworkFile(half_kp.architecture, half_kp.transformer_bias, weight, half_kp.biases, half_kp.weights)
    state = NnueState(Network(changed))
    for sfen in STARTS:
        position = Position.from_sfen(sfen)
        value = evaluate(position.record, state.record)
        assert value == expected(changed, position) == expected(half_kp, position)


@pytest.mark.parametrize("features", FEATURE_SETS.values(), ids=lambda features: features.name)
def test_moves_are_updates(features: FeatureSet) -> None:
    """A line evaluated move by move refreshes once per side, and at each move of the own king that changes the
    features."""
    line = ["7g7f", "3c3d", "2g2f", "5a4b", "2f2e", "4b3b", "2e2d", "2c2d", "2h2d", "8c8d", "P*2c", "2b3c", "5i6h"]
    king_moves = 3 if features.king_rows else 0
    if features.attack_classes > 1:
        king_moves = len(line) * 2  # all its accumulators come from the stored ones
    state = NnueState(Network(random_network(Architecture(features, 128, 8, 8))))
    position = Position.startpos()
    evaluate(position.record, state.record)
    for move in line:
        evaluate(play(position, [move]).record, state.record)
    assert int(state.record.refreshes) == 2 + king_moves
    assert int(state.record.updates) == 2 * len(line) - king_moves
    evaluate(position.record, state.record)
    assert int(state.record.updates) == 2 * len(line) - king_moves


def test_one_state_serves_any_positions(half_kp: NetworkFile) -> None:
    """No reset is needed between positions: games interleaved on one state do not disturb each other."""
    state = NnueState(Network(half_kp))
    walks = [walk(random.Random(seed), 60) for seed in range(4)]
    for positions in zip(*walks, strict=False):
        for position in positions:
            assert evaluate(position.record, state.record) == expected(half_kp, position)


def test_a_game_longer_than_the_stack() -> None:
    network = random_network(Architecture(K_P, 128, 8, 8))
    state = NnueState(Network(network))
    position = Position.startpos()
    for number in range(350):
        for move in ("2h3h", "8b7b", "3h2h", "7b8b"):
            play(position, [move])
            if number % 7 == 0:
                assert evaluate(position.record, state.record) == expected(network, position)
    assert position.move_number > 1400


def test_threads_share_a_network(half_kp: NetworkFile) -> None:
    network = Network(half_kp)
    states = [NnueState(network), NnueState(network)]
    assert states[0].record.transformer_weight == states[1].record.transformer_weight
    assert states[0].record.accumulators != states[1].record.accumulators
    assert network.transformer_weight.nbytes > 64_000_000 > 380_000 > states[0]._buffer.nbytes
    assert all(
        state.record[name] % 64 == 0 for state in states for name in ("accumulators", "keys", "kept", "rows", "values1")
    )


@needs_reference
def test_reference_network_is_read_right() -> None:
    """The scores that another evaluator gave for this file (shared/nets/README.md)."""
    state = NnueState(load_network(REFERENCE))

    def raw(position: Position) -> int:
        return int(evaluate(position.record, state.record))

    assert raw(Position.startpos()) == 39.75 * 16
    assert raw(Position.from_sfen(WITHOUT_WHITE_ROOK)) // 16 == 760
    assert round(raw(Position.from_sfen(WITHOUT_BLACK_ROOK)) / 16) == -591


@pytest.mark.parametrize("name", ["ours", pytest.param("reference", marks=needs_reference), "HalfKP"])
def test_mirrored_positions_are_opposite(name: str, half_kp: NetworkFile) -> None:
    """The turned board with the colours exchanged has the same score for its side to move."""
    networks = {"ours": default_network, "HalfKP": lambda: Network(half_kp)}
    network = networks[name]() if name in networks else load_network(REFERENCE)
    state = NnueState(network)
    for seed in range(10):
        for position in walk(random.Random(seed), 40):
            value = evaluate(position.record, state.record)
            assert value == evaluate(mirrored(position).record, state.record)


def test_fv_scale() -> None:
    arch = Architecture(K_P, 128, 8, 8)
    assert Network(random_network(arch)).fv_scale == 16
    assert Network(random_network(Architecture(K_P, 128, 8, 8, fv_scale=24))).fv_scale == 24
    assert Network(random_network(arch), fv_scale=20).fv_scale == 20
    with pytest.raises(ValueError, match="FV_SCALE is 0"):
        Network(random_network(arch), fv_scale=0)

    state = NnueState(Network(random_network(arch), fv_scale=20))
    record = Position.startpos().record
    raw = int(evaluate(record, state.record))
    assert evaluate_score(record, state.record) == int(raw / 20)
    state.record.fv_scale = 7
    assert evaluate_score(record, state.record) == int(raw / 7)


@pytest.mark.parametrize(
    ("raw", "scale", "score"),
    [(12165, 16, 760), (-9454, 16, -590), (15, 16, 0), (-15, 16, 0), (10**9, 1, MAX_EVAL), (-(10**9), 1, -MAX_EVAL)],
)
def test_centipawns_are_truncated_and_bounded(raw: int, scale: int, score: int) -> None:
    assert centipawns(raw, scale) == score


@pytest.mark.parametrize("features", FEATURE_SETS.values(), ids=lambda features: features.name)
def test_a_side_without_a_king(features: FeatureSet) -> None:
    network = random_network(Architecture(features, 128, 8, 8))
    state = NnueState(Network(network))
    position = Position.from_sfen("4k4/9/9/9/9/9/9/9/9 b P2r2b4g4s4n4l17p 1")
    assert evaluate(position.record, state.record) == expected(network, position)
    for move in ("P*5c", "5a4a", "5c5b+", "4a5b"):
        assert evaluate(play(position, [move]).record, state.record) == expected(network, position)


ARCHITECTURE = Architecture(K_P, 64, 8, 8)


def test_seldom_active_neurons_come_first() -> None:
    network = random_network(ARCHITECTURE)
    bias = network.transformer_bias.copy()
    bias[[3, 50]] = -20_000, 20_000
    order = by_activity(replace(network, transformer_bias=bias))
    assert sorted(order) == list(range(64))
    assert order[0] == 3
    # Others may be active in every position too.
    assert 50 in order[-8:]
