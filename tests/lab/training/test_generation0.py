"""Generation 0: reproducible, and sane about what things are worth."""

from __future__ import annotations

import hashlib
import random

import pytest

from lab.training import generation0
from tests.worker.nnue.playouts import walk
from worker.nnue import Network, NnueState, evaluate_score
from worker.nnue.format import serialise_network
from worker.shogi import Position
from worker.shogi.makemove import make_null, unmake_null
from worker.shogi.notation import parse_usi

DIGEST = "25d1cd4df6f71e0441ef2ce49ca9464a5568fa9c476785ec1c9b1f7f4064002d"
"""The first teacher of every run of `gougi learn` that names no other one."""
START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL"


@pytest.fixture(scope="module")
def state() -> NnueState:
    return NnueState(Network(generation0.build()))


def score(state: NnueState, sfen: str) -> int:
    return int(evaluate_score(Position.from_sfen(sfen).record, state.record))


def test_its_bytes_are_the_same_everywhere() -> None:
    assert hashlib.sha256(serialise_network(generation0.build())).hexdigest() == DIGEST


def test_values_are_whole_levels() -> None:
    assert not (generation0.feature_values() % 2).any()


def test_the_start_is_even(state: NnueState) -> None:
    assert score(state, f"{START} b - 1") == 0


@pytest.mark.parametrize(
    ("without", "low", "high"),
    [
        (START.replace("1r5b1", "7b1"), 900, 1100),
        (START.replace("1r5b1", "1r7"), 720, 900),
        (START.replace("lnsgk", "lns1k"), 450, 650),
        (START.replace("/ppppppppp/", "/ppp1ppppp/"), 70, 130),
    ],
    ids=["rook", "bishop", "gold", "pawn"],
)
def test_a_missing_piece_costs_its_worth(state: NnueState, without: str, low: int, high: int) -> None:
    assert low <= score(state, f"{without} b - 1") <= high
    assert score(state, f"{without} w - 1") == -score(state, f"{without} b - 1")


def test_opposite_values_for_the_two_sides(state: NnueState) -> None:
    """The side to move changes nothing but the sign."""
    for seed in range(5):
        for position in walk(random.Random(seed), 60):
            before = evaluate_score(position.record, state.record)
            make_null(position.record)
            assert evaluate_score(position.record, state.record) == -before
            unmake_null(position.record)


def test_more_is_better_far_beyond_the_even(state: NnueState) -> None:
    values = [
        score(state, f"4k4/9/9/9/9/9/9/9/4K4 b {hand} 1")
        for hand in ("R", "2R", "2R2B", "2R2B4G", "2R2B4G4S", "2R2B4G4S4N4L18P")
    ]
    assert values == sorted(set(values))
    assert values[0] > 900
    assert values[-1] <= 7080


def test_castling_and_opening_moves_are_welcome(state: NnueState) -> None:
    """Each of these moves of a static rook with a castle on the left gains something."""
    position = Position.startpos()
    before = 0
    for move in ("7g7f", "2g2f", "2f2e", "5i6h", "6h7h", "3i4h"):
        position.push(parse_usi(move, position.turn, position.piece_on))
        make_null(position.record)
        after = int(evaluate_score(position.record, state.record))
        assert after > before, move
        before = after
