"""The staged picker gives every move of the short list exactly once, and the table's move first."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from benchmarks.playouts import positions
from worker.jit import jit
from worker.jit.bits import high, low
from worker.search.correction import note_keys
from worker.search.node import note_checks
from worker.search.parameters import THREAT
from worker.search.picker import (
    EVASIONS,
    MAIN,
    PROBCUT,
    QUIESCENCE,
    bring_next,
    gather_promising,
    next_move,
    start_picker,
    threat_score,
    threats,
)
from worker.search.state import OFFSET, ThreadState, begin_search
from worker.shogi import Position
from worker.shogi.attacks import attackers, occupied, update_checks
from worker.shogi.makemove import legal_moves
from worker.shogi.movegen import generate_quiets
from worker.shogi.pieces import DROP_BIT, GOLD, KNIGHT, LANCE, PAWN, PRO_PAWN, PRO_SILVER, SILVER, SQUARES


def picked(position: Position, state: ThreadState, kind: int, table_move: int) -> list[int]:
    th = state.record
    begin_search(state.record)
    th.list_end[OFFSET - 1] = 0
    update_checks(position.record)
    note_keys(position.record, th, 0)
    note_checks(position.record, th, 0)
    start_picker(position.record, th, 0, kind, table_move)
    moves = []
    while move := int(next_move(position.record, th, 0, 8, 0)):
        moves.append(move)
        assert len(moves) < 700
    return moves


def test_every_move_once_and_the_table_move_first() -> None:
    rng = random.Random(2)
    state = ThreadState()
    for position in positions(3, 400):
        end = legal_moves(position.record, 0, 0)
        short = {int(move) for move in position.record.moves[:end]}
        # The table may also hold a declined promotion, which the lists leave out.
        table_move = rng.choice([0, *position.legal_moves()])
        moves = picked(position, state, EVASIONS if position.in_check() else MAIN, table_move)
        assert len(moves) == len(set(moves))
        legal = {move for move in moves if position.is_legal(move)}
        assert legal == short | ({table_move} - {0})
        if table_move:
            assert moves[0] == table_move


def test_every_legal_move_on_request() -> None:
    state = ThreadState()
    state.record.every_move = 1
    for position in positions(8, 150):
        moves = picked(position, state, EVASIONS if position.in_check() else MAIN, 0)
        assert len(moves) == len(set(moves))
        assert {move for move in moves if position.is_legal(move)} == set(position.legal_moves())


def test_untried_moves_come_in_the_generators_order() -> None:
    position = Position.startpos()
    moves = picked(position, ThreadState(), MAIN, 0)
    end = generate_quiets(position.record, 0, 0)
    assert moves == [int(move) for move in position.record.moves[:end]]


def captures(position: Position, move: int) -> bool:
    return not move & DROP_BIT and bool(position.piece_on(move & 127))


@pytest.mark.parametrize("kind", [QUIESCENCE, PROBCUT])
def test_lists_of_captures(kind: int) -> None:
    state = ThreadState()
    for position in positions(4, 150):
        if position.in_check():
            continue
        end = legal_moves(position.record, 0, 0)
        expected = {move for move in map(int, position.record.moves[:end]) if captures(position, move)}
        moves = picked(position, state, kind, 0)
        assert len(moves) == len(set(moves))
        assert {move for move in moves if position.is_legal(move)} == expected


def test_skipping_quiets_leaves_captures() -> None:
    state = ThreadState()
    for position in positions(6, 100):
        if position.in_check():
            continue
        th = state.record
        th.list_end[OFFSET - 1] = 0
        update_checks(position.record)
        start_picker(position.record, th, 0, MAIN, 0)
        moves = []
        while move := int(next_move(position.record, th, 0, 8, 1)):
            moves.append(move)
        legal = {move for move in position.legal_moves(every=False) if captures(position, move)}
        assert {move for move in moves if position.is_legal(move)} == legal
        assert all(captures(position, move) for move in moves)


def entries(record: Any, at: int, end: int) -> list[tuple[int, int]]:
    """Score and move of list entries."""
    return [(int(entry) >> 32, int(entry) & (1 << 21) - 1) for entry in record.moves[at:end]]


def test_quiet_moves_come_by_score_and_equal_ones_in_list_order() -> None:
    rng = random.Random(9)
    record = Position.startpos().record
    for _ in range(300):
        # Five captures stand before them in the list.
        scores = [rng.randint(-4, 4) for _ in range(rng.randint(1, 90))]
        at, end = 45 + 5, 45 + 5 + len(scores)
        record.moves[at:end] = [score << 32 | (2047 - 5 - i) << 21 | i for i, score in enumerate(scores)]
        promising = int(gather_promising(record, 45, at, end, -2))
        wanted = [(score, i) for i, score in enumerate(scores) if score >= -2]
        assert entries(record, at, promising) == wanted
        assert sorted(entries(record, at, end)) == sorted((score, i) for i, score in enumerate(scores))
        for i in range(len(wanted)):
            best = max(range(i, len(wanted)), key=lambda place: wanted[place][0])
            wanted[i], wanted[best] = wanted[best], wanted[i]
            assert bring_next(record, 45, at + i, promising) == wanted[i][1]
            assert entries(record, at, promising) == wanted


GOLD_MOVERS = {GOLD, *range(PRO_PAWN, PRO_SILVER + 1)}


@jit()
def squares_of(pos: Any) -> Any:
    a, b, c = threats(pos)
    return low(a), high(a), low(b), high(b), low(c), high(c)


@jit()
def attackers_of(pos: Any, square: int, colour: int) -> Any:
    board = attackers(pos, square, colour, occupied(pos))
    return low(board), high(board)


@jit()
def score_of(pos: Any, move: int) -> Any:
    a, b, c = threats(pos)
    return threat_score(move, a, b, c)


def board(words: tuple[int, int]) -> set[int]:
    whole = int(np.uint64(words[0])) | int(np.uint64(words[1])) << 64
    return {square for square in range(SQUARES) if whole >> square & 1}


CORNERS = "+Ps2k2s+P/9/9/9/9/9/9/9/+pS2K2S+p"
"""Pieces that see beyond the edges."""


def test_squares_are_those_of_the_attackers() -> None:
    """The other way round: the attackers of each square."""
    for position in [*positions(5, 120), *(Position.from_sfen(f"{CORNERS} {side} - 1") for side in "bw")]:
        record, enemy = position.record, 1 - position.turn
        words = squares_of(record)
        found = [board(words[i : i + 2]) for i in (0, 2, 4)]
        expected: list[set[int]] = [set(), set(), set()]
        for square in range(SQUARES):
            kinds = {position.piece_on(origin) & 15 for origin in board(attackers_of(record, square, enemy))}
            for place, lesser in enumerate(
                ({PAWN}, {PAWN, LANCE, KNIGHT}, {PAWN, LANCE, KNIGHT, SILVER} | GOLD_MOVERS)
            ):
                if kinds & lesser:
                    expected[place].add(square)
        assert found == expected


# White has a pawn on 3d, a knight on 7a and a silver on 6f; they attack 3e, 6c and 8c, and 5g, 6g, 7g, 5e, 7e.
POSITION = "2n1k4/9/9/6p2/9/3s5/9/1B2G4/4K2R1 b GSLNP 1"


@pytest.mark.parametrize(
    ("move", "score"),
    [
        ("G*3e", -THREAT[1]),  # a pawn takes it
        ("S*6c", -THREAT[1]),  # a knight takes it
        ("L*3e", -THREAT[0]),
        ("N*8c", 0),  # a knight for a knight
        ("G*6g", 0),  # so is a gold for a silver
        ("P*3e", 0),
        ("8h7g", -THREAT[2]),  # a silver takes a bishop
        ("2i2h", 0),
        ("5i6i", 0),
    ],
)
def test_a_move_onto_a_square_of_a_lesser_piece_comes_later(move: str, score: int) -> None:
    position = Position.from_sfen(POSITION)
    assert score_of(position.record, position.parse_usi(move)) == score


def test_a_move_away_from_such_a_square_comes_earlier() -> None:
    position = Position.from_sfen("k8/9/9/6p2/6S2/9/3s5/4R4/4K4 b - 1")
    assert score_of(position.record, position.parse_usi("3e4f")) == THREAT[1]
    assert score_of(position.record, position.parse_usi("5h4h")) == THREAT[2]
    assert score_of(position.record, position.parse_usi("5h6h")) == -THREAT[2]  # from one to another
    white = Position.from_sfen("4k4/4r4/3S5/9/6s2/6P2/9/9/K8 w - 1")
    assert score_of(white.record, white.parse_usi("3e4d")) == THREAT[1]
    assert score_of(white.record, white.parse_usi("5b4b")) == THREAT[2]


def test_the_picker_heeds_it() -> None:
    """With empty histories, all other quiet moves of a silver in hand come before those that a pawn refutes."""
    position = Position.from_sfen("4k4/9/9/ppppppppp/9/9/9/9/4K4 b S 1")
    order = [position.parse_usi(f"S*{file}{rank}") for file in range(1, 10) for rank in "efgh"]
    moves = picked(position, ThreadState(), MAIN, 0)
    late = [place for place, move in enumerate(moves) if move in order[::4]]
    early = [place for place, move in enumerate(moves) if move in order and move not in order[::4]]
    assert len(late) == 9
    assert max(early) < min(late)
