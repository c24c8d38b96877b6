"""A root window: scores outside of it are only bounded, and cost less."""

from __future__ import annotations

import pytest

from benchmarks.playouts import positions
from worker.engine import Bound, EngineError, Limits, SearchInfo
from worker.search.engine import NumbaEngine
from worker.shogi import STARTPOS, Position, move_to_usi

DEPTH = 7


def search(engine: NumbaEngine, sfen: str, limits: Limits) -> tuple[list[SearchInfo], SearchInfo, int]:
    engine.new_game()
    engine.set_position(sfen)
    infos: list[SearchInfo] = []
    result = engine.go(limits, infos.append)
    return infos, result.lines[0], result.nodes


@pytest.fixture(scope="module")
def middle_game() -> list[str]:
    return [position.sfen() for position in positions(5, 6)]


def test_below_the_window_every_iteration_says_at_most(engine: NumbaEngine) -> None:
    infos, last, nodes = search(engine, STARTPOS, Limits(depth=DEPTH, alpha=3000))
    assert [info.depth for info in infos] == list(range(1, DEPTH + 1))
    assert all(info.bound is Bound.UPPER and info.score <= 3000 for info in infos)
    assert last.pv
    _, exact, whole = search(engine, STARTPOS, Limits(depth=DEPTH))
    assert exact.score < 3000
    assert nodes < whole


def test_above_the_window_every_iteration_says_at_least(engine: NumbaEngine) -> None:
    infos, _, nodes = search(engine, STARTPOS, Limits(depth=DEPTH, beta=-3000))
    assert [info.depth for info in infos] == list(range(1, DEPTH + 1))
    assert all(info.bound is Bound.LOWER and info.score >= -3000 for info in infos)
    assert nodes < search(engine, STARTPOS, Limits(depth=DEPTH))[2]


def test_between_two_edges_the_one_that_was_passed_is_asked_for(engine: NumbaEngine) -> None:
    """Each iteration is one scout, and reports once."""
    infos, *_ = search(engine, STARTPOS, Limits(depth=DEPTH, alpha=-3100, beta=-3000))
    assert [info.depth for info in infos if info.depth > 1] == list(range(2, DEPTH + 1))


def test_a_score_above_the_window_is_reported_at_once_and_then_exactly(engine: NumbaEngine) -> None:
    infos, last, _ = search(engine, STARTPOS, Limits(depth=DEPTH, alpha=-3000))
    assert last.bound is Bound.EXACT
    assert last.score > -3000
    first = infos[0]
    assert first.bound is Bound.LOWER and first.score > -3000
    assert any(info.depth == first.depth and info.bound is Bound.EXACT for info in infos[1:])


def test_within_the_window_nothing_changes_but_the_aspiration(engine: NumbaEngine) -> None:
    _, last, _ = search(engine, STARTPOS, Limits(depth=DEPTH, alpha=-3000, beta=3000))
    _, free, _ = search(engine, STARTPOS, Limits(depth=DEPTH))
    assert last.bound is Bound.EXACT
    assert abs(last.score - free.score) < 150


def test_many_windows(engine: NumbaEngine, middle_game: list[str]) -> None:
    """For any window, the last line's bound gives the side of it on which the score lies."""
    for sfen in middle_game:
        _, free, _ = search(engine, sfen, Limits(depth=5))
        for low, high in ((-40, 40), (10, 11), (-200, -150), (150, 200)):
            alpha, beta = free.score + low, free.score + high
            if max(abs(alpha), abs(beta)) > 30000:
                continue
            infos, _, _ = search(engine, sfen, Limits(depth=6, alpha=alpha, beta=beta))
            assert infos[-1].depth == 6
            for info in infos:
                assert info.bound is not Bound.UPPER or info.score <= alpha
                assert info.bound is not Bound.EXACT or alpha < info.score < beta
                assert info.bound is not Bound.LOWER or info.score > alpha


def test_a_window_is_reproducible(engine: NumbaEngine) -> None:
    limits = Limits(nodes=20_000, alpha=40)
    assert [info.score for info in search(engine, STARTPOS, limits)[0]] == [
        info.score for info in search(engine, STARTPOS, limits)[0]
    ]


def test_an_empty_window_is_refused(engine: NumbaEngine) -> None:
    engine.set_position(STARTPOS)
    with pytest.raises(EngineError, match="a window from 5 to 5 is empty"):
        engine.go(Limits(depth=1, alpha=5, beta=5))


def test_a_useless_move_is_searched_if_no_other_is_left(engine: NumbaEngine) -> None:
    """A search does not consider a declined promotion, unless there is no other move."""
    position = Position.from_sfen("9/9/4P4/9/9/9/9/9/K7k b - 1")
    others = tuple(text for text in map(move_to_usi, position.legal_moves()) if text != "5c5b")
    engine.set_position(position.sfen())
    assert engine.go(Limits(depth=2, ignoremoves=others)).bestmove == "5c5b"
    with pytest.raises(EngineError, match="no root move"):
        engine.go(Limits(depth=2, ignoremoves=(*others, "5c5b")))
