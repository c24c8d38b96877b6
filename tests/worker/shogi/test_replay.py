"""A replayed position is the one that a fresh replay gives, whatever was asked for before."""

from __future__ import annotations

import random

import pytest

from worker.shogi import STARTPOS, MoveError, Position, SfenError, move_to_usi
from worker.shogi.position import Replay

OTHER = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"


def fresh(sfen: str, moves: list[str]) -> Position:
    position = Position.from_sfen(sfen)
    position.push_all(moves)
    return position


def same(a: Position, b: Position) -> bool:
    facts = [(p.sfen(), p.key, p.history, p.occurrences(), p.repetition(), p.in_check()) for p in (a, b)]
    return facts[0] == facts[1]


def more(rng: random.Random, sfen: str, moves: list[str], number: int) -> list[str]:
    """``moves`` and up to ``number`` random ones."""
    position = fresh(sfen, moves)
    moves = list(moves)
    for _ in range(number):
        legal = position.legal_moves()
        if not legal:
            break
        moves.append(move_to_usi(move := rng.choice(legal)))
        position.push(move)
    return moves


def test_games_that_go_on_go_back_and_branch() -> None:
    rng, replay = random.Random(5), Replay()
    sfen, moves = STARTPOS, list[str]()
    for _ in range(150):
        match rng.randrange(5):
            case 0 | 1:
                moves = more(rng, sfen, moves, rng.randint(0, 3))
            case 2:
                moves = more(rng, sfen, moves[: max(0, len(moves) - rng.randint(0, 4))], rng.randint(0, 2))
            case 3:
                moves = moves[: rng.randint(0, len(moves))]
            case _ if rng.random() < 0.2:
                sfen, moves = rng.choice([STARTPOS, OTHER]), []
        position = replay.position(sfen, moves)
        assert same(position, fresh(sfen, moves))
        # It is the caller's: what he does to it does not come back.
        if legal := position.legal_moves():
            position.push(legal[0])


def test_errors_name_the_move_and_leave_no_trace() -> None:
    replay = Replay()
    replay.position(STARTPOS, ["7g7f"])
    with pytest.raises(MoveError, match=r"move 3: 7f7d"):
        replay.position(STARTPOS, ["7g7f", "3c3d", "7f7d"])
    with pytest.raises(SfenError):
        replay.position("9/9", [])
    assert same(replay.position(STARTPOS, ["7g7f", "3c3d"]), fresh(STARTPOS, ["7g7f", "3c3d"]))


def test_games_longer_than_what_a_position_remembers() -> None:
    """The oldest moves are forgotten; what is left is the same."""
    shuttle = ["2h3h", "8b7b", "3h2h", "7b8b"]
    moves = [shuttle[i % 4] for i in range(1100)]
    replay = Replay()
    replay.position(STARTPOS, moves[:1020])
    for end in (1023, 1024, 1030, 1028, 1100, 1060):
        a, b = replay.position(STARTPOS, moves[:end]), fresh(STARTPOS, moves[:end])
        assert (a.sfen(), a.key, a.repetition()) == (b.sfen(), b.key, b.repetition())
    replay.position(STARTPOS, moves[:10])
    with pytest.raises(MoveError, match="move 1101"):
        replay.position(STARTPOS, [*moves, "1a1b"])
    assert same(replay.position(STARTPOS, moves[:10]), fresh(STARTPOS, moves[:10]))
