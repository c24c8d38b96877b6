"""The legal length of a variation, against making its moves one by one."""

from __future__ import annotations

import random

import pytest

from worker.shogi import MoveError, Position, move_to_usi

STARTS = (
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


@pytest.mark.parametrize("start", STARTS)
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
