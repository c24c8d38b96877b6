"""The last line of a search that is stopped inside an iteration: exact, complete, and for the move that is played."""

from __future__ import annotations

import random

import pytest

from benchmarks.playouts import positions
from worker.engine import Bound, Limits, SearchInfo
from worker.score import is_mate, mate_distance
from worker.search.bench import POSITIONS
from worker.search.engine import NumbaEngine
from worker.search.thread import SearchThread
from worker.shogi import STARTPOS, Position

MATE_IN_5 = "1p1n2gnl/l6gg/3PPP+S1k/p4R1Pp/bnpp3p1/4B1PSP/P2+s1ppSK/g8/LNP5L b R2p 52"
HANGING = "4k4/9/9/2r6/9/4B4/9/9/4K4 b - 1"
"""Black's bishop takes the rook with 5f7d; the first of its moves by their order is 5f1b+."""


def middle_games(number: int) -> list[str]:
    """Positions that a search plays with itself: it changes its mind there, and its scores leave their windows."""
    rng, engine, found = random.Random(5), NumbaEngine(hash_mb=4), list[str]()
    position = Position.startpos()
    while len(found) < number:
        engine.set_position(position.sfen())
        move = engine.go(Limits(nodes=1500)).bestmove
        if move in ("resign", "win") or len(position.history) > 60:
            position = Position.startpos()
            continue
        position.push(rng.choice(position.legal_moves()) if rng.random() < 0.15 else position.parse_usi(move))
        if len(position.history) > 6 and position.legal_moves() and rng.random() < 0.5:
            found.append(position.sfen())
    return found


@pytest.fixture(scope="module")
def games() -> list[str]:
    return [*POSITIONS, *middle_games(15)]


def cut(engine: NumbaEngine, sfen: str, limits: Limits) -> tuple[SearchInfo, ...]:
    engine.new_game()
    engine.set_position(sfen)
    result = engine.go(limits)
    assert result.lines[0].pv[0] == result.bestmove
    for line in result.lines:
        Position.from_sfen(sfen).push_all(line.pv)
    return result.lines


def test_wherever_it_is_cut_the_last_line_is_exact_and_whole(engine: NumbaEngine, games: list[str]) -> None:
    bounds = 0
    for sfen in games:
        for nodes in (20_000, 50_000):
            (line,) = cut(engine, sfen, Limits(nodes=nodes))
            assert line.bound is Bound.EXACT, (sfen, nodes, line)
            within = engine._threads[0].lines[0]
            if len(line.pv) <= 2 and not is_mate(line.score):
                (uncut,) = cut(engine, sfen, Limits(depth=line.depth))
                assert line.pv == uncut.pv, (sfen, nodes, line)
            bounds += within.bound is not Bound.EXACT
            assert line.depth >= min(3, within.depth), "an old line of a shallow iteration is no answer of a deep one"
    assert bounds > 5, "the limit fell at a point with only a bound"


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_with_more_lines_and_more_threads(threads: int, games: list[str]) -> None:
    engine = NumbaEngine(hash_mb=16, threads=threads)
    for sfen in games[:10]:
        lines = cut(engine, sfen, Limits(nodes=30_000, multipv=4 if threads == 1 else 1))
        assert {line.bound for line in lines} == {Bound.EXACT}, (sfen, lines)
        assert len({line.pv[0] for line in lines}) == len(lines)


def test_a_mate_is_never_given_back_for_an_older_score(engine: NumbaEngine) -> None:
    """The score of a found mate stays one, wherever the search is cut after it."""
    mates = 0
    for position in (Position.from_sfen(MATE_IN_5), *positions(31, 15)):
        for nodes in range(2000, 14_000, 2000):
            (line,) = cut(engine, position.sfen(), Limits(nodes=nodes))
            within = engine._threads[0].lines[0]
            proves = within.bound is not (Bound.UPPER if within.score > 0 else Bound.LOWER)
            if is_mate(within.score) and proves:
                mates += 1
                assert is_mate(line.score), (position.sfen(), nodes)
                if line.bound is Bound.EXACT:
                    assert abs(mate_distance(line.score)) == len(line.pv)
    assert mates > 3


def test_a_bound_of_its_own_window_stays_one(engine: NumbaEngine, games: list[str]) -> None:
    """A leaf of a split tree only has to show whether it beats its rivals, and reports that."""
    for sfen in games[:6]:
        (line,) = cut(engine, sfen, Limits(nodes=20_000, alpha=3000))
        assert line.bound is Bound.UPPER
        assert line.score <= 3000


def test_a_move_that_took_over_by_a_bound_alone_gets_a_line(engine: NumbaEngine, games: list[str]) -> None:
    """No iteration has ever had it as its best; a last look of about a millisecond gives its line."""
    thread = engine._threads[0]
    cut(engine, games[5], Limits(nodes=60_000))
    nodes = thread.nodes
    for move in thread.position.legal_moves()[:12]:
        line = thread.conclude([move], 15)
        assert line is not None
        assert line.bound is Bound.EXACT
        assert line.pv[0] == move
        assert line.depth >= 1
    assert thread.nodes == nodes, "the limit holds for the search"


def stopped_at_once(engine: NumbaEngine, sfen: str, moves: tuple[str, ...] = (), limits: Limits | None = None) -> str:
    engine.set_position(sfen, moves)
    engine.stop()
    return engine.go(limits or Limits(nodes=100_000)).bestmove


def test_stopped_before_the_first_move_it_plays_the_best_at_a_glance(engine: NumbaEngine) -> None:
    engine.new_game()
    takes = ("5f7d",)
    assert stopped_at_once(engine, HANGING) in takes
    assert stopped_at_once(engine, HANGING, (), Limits(ignoremoves=takes)) not in takes
    only = Limits(searchmoves=("5i4h", "5i6h"))
    assert stopped_at_once(engine, HANGING, (), only) in only.searchmoves


def test_stopped_before_the_first_move_it_plays_an_earlier_result(
    engine: NumbaEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[int]] = []
    conclude = SearchThread.conclude

    def spy(thread: SearchThread, moves: list[int], depth: int) -> object:
        asked.append(list(moves))
        return conclude(thread, moves, depth)

    for sfen in (STARTPOS, POSITIONS[2], POSITIONS[3]):
        engine.new_game()
        engine.set_position(sfen)
        best = engine.go(Limits(depth=8)).bestmove
        with monkeypatch.context() as patch:
            patch.setattr(SearchThread, "conclude", spy)
            assert stopped_at_once(engine, sfen) == best
    assert [len(moves) for moves in asked] == [1, 1, 1], "the table's move alone: a quick look does not overrule it"


def test_a_glance_at_hundreds_of_moves_is_as_short(engine: NumbaEngine) -> None:
    most = "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1"
    engine.new_game()
    Position.from_sfen(most).parse_usi(stopped_at_once(engine, most))
