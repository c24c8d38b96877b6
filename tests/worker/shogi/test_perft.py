"""Move generation is exact: known node counts, and rsshogi's move sets on random play-outs."""

from __future__ import annotations

import random

import pytest
from rsshogi.core import Board

from worker.shogi import HANDICAPS, STARTPOS, MoveError, Position, makemove, move_to_usi

MATSURI = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"
MOST_MOVES = "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1"
ENDGAME = "8l/1l+R2P3/p2pBG1pp/kps1p4/Nn1P2G2/P1P1P2PP/1PS6/1KSG3+r1/LN2+p3L w Sbgn3p 124"
FULL_HANDS = "4k4/9/9/9/9/9/9/9/4K4 b RBGSNLPrb3g3s3n3l17p 1"

# (sfen, node counts by depth): matsuri and the positions after it are the usual benchmarks.
COUNTS = [
    pytest.param(STARTPOS, (30, 900, 25470, 719731, 19861490), id="startpos"),
    pytest.param(MATSURI, (207, 28684, 4809015), id="matsuri"),
    pytest.param(MOST_MOVES, (593, 105677), id="most-moves"),
    pytest.param(ENDGAME, (178, 18041, 2552846), id="endgame"),
]


@pytest.mark.parametrize(("sfen", "counts"), COUNTS)
def test_perft_counts(sfen: str, counts: tuple[int, ...]) -> None:
    position = Position.from_sfen(sfen)
    for depth, count in enumerate(counts, start=1):
        assert position.perft(depth) == count
    assert position.sfen() == Position.from_sfen(sfen).sfen()


@pytest.mark.parametrize("sfen", [STARTPOS, MATSURI, MOST_MOVES])
def test_making_the_last_ply_counts_the_same(sfen: str) -> None:
    position = Position.from_sfen(sfen)
    assert makemove.perft(position.record, 2, 0, 0) == position.perft(2)


@pytest.mark.slow
def test_perft_deep() -> None:
    assert Position.from_sfen(MOST_MOVES).perft(3) == 53_393_368


def random_game(rng: random.Random, sfen: str, plies: int) -> int:
    """Play random moves, compare each position's move set with rsshogi's; returns the number of positions."""
    ours, theirs = Position.from_sfen(sfen), Board(sfen)
    for ply in range(plies):
        moves = ours.legal_moves()
        texts = [move_to_usi(move) for move in moves]
        expected = {move.to_usi() for move in theirs.legal_moves()}
        assert len(texts) == len(set(texts))
        assert set(texts) == expected, ours.sfen()
        assert ours.in_check() == theirs.is_in_check()
        assert ours.is_mated() == (not expected)
        if not moves:
            return ply + 1
        # Captures and drops are rare among all moves: prefer them, or the hands stay small.
        lively = [move for move in moves if ours.piece_on(move & 127) or move & 1 << 15]
        move = rng.choice(lively if lively and rng.random() < 0.4 else moves)
        ours.push(move)
        theirs.apply_usi(move_to_usi(move))
        assert ours.sfen() == theirs.to_sfen()
    return plies


STARTS = [*HANDICAPS.values(), MATSURI, ENDGAME, FULL_HANDS, MOST_MOVES]


def test_move_sets_equal_rsshogi_on_random_games() -> None:
    rng = random.Random(20261121)
    seen = 0
    while seen < 4_000:
        seen += random_game(rng, rng.choice(STARTS), 200)


def test_any_number_is_judged_as_the_move_list_does() -> None:
    """`is_legal` on moves of other positions and on random bits: true exactly for the list's moves."""
    rng = random.Random(3)
    pool: set[int] = set()
    position = Position.from_sfen(MATSURI)
    for _ in range(400):
        moves = position.legal_moves()
        legal = set(moves)
        candidates = rng.sample(sorted(pool), min(300, len(pool))) + [rng.getrandbits(22) for _ in range(50)] + moves
        for move in candidates:
            assert position.is_legal(move) == (move in legal), (position.sfen(), move)
        pool |= legal
        if not moves:
            position = Position.startpos()
            continue
        position.push(rng.choice(moves))


def test_short_list_leaves_out_only_declined_promotions() -> None:
    rng = random.Random(5)
    position = Position.from_sfen(MATSURI)
    for _ in range(300):
        every = set(position.legal_moves())
        end = makemove.legal_moves(position.record, 0, 0)
        short = {int(move) for move in position.record.moves[:end]}
        assert short <= every
        assert all(move | 1 << 14 in short for move in every - short)
        if not every:
            break
        position.push(rng.choice(sorted(every)))


LINE_STARTS = (
    "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1",
    "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1",
    "8k/9/8P/9/9/9/9/9/9 b G 1",
)


def one_by_one(position: Position, moves: tuple[str, ...]) -> int:
    made = 0
    try:
        for text in moves:
            position.push_usi(text)
            made += 1
    except MoveError:
        pass
    for _ in range(made):
        position.pop()
    return made


@pytest.mark.parametrize("start", LINE_STARTS)
def test_as_far_as_moves_can_be_made(start: str) -> None:
    rng = random.Random(3)
    position = Position.from_sfen(start)
    seen = set()
    for _ in range(300):
        line: list[str] = []
        for _ in range(rng.randrange(1, 30)):
            legal = position.legal_moves()
            if not legal:
                break
            move = rng.choice(legal)
            line.append(move_to_usi(move))
            position.push(move)
        for _ in line:
            position.pop()
        if rng.random() < 0.6:
            line[rng.randrange(len(line))] = rng.choice(["7g7f", "P*5e", "5a5b", "1a1a", "8h2b+", "5i5h", "resign", ""])
        sfen, key = position.sfen(), position.key
        length = position.legal_length(tuple(line))
        assert length == one_by_one(position, tuple(line))
        assert (position.sfen(), position.key) == (sfen, key)
        seen.add(length == len(line))
    assert seen == {True, False}


def test_nothing_and_no_moves() -> None:
    position = Position.startpos()
    assert position.legal_length(()) == 0
    assert position.legal_length(("nonsense", "7g7f")) == 0
    assert position.legal_length(("7g7f", "7g7f")) == 1


def test_late_in_a_very_long_game() -> None:
    to_and_fro = ("2h3h", "8b7b", "3h2h", "7b8b")
    position = Position.startpos()
    position.push_all(to_and_fro * 256)
    number = position.move_number
    assert position.legal_length(to_and_fro * 30) == 120
    assert position.legal_length((*to_and_fro, "7g7f", "7g7f")) == 5
    assert position.move_number == number
    position.push_usi("7g7f")
