"""NumbaEngine: mates, limits, stop, reproducibility, legal lines."""

from __future__ import annotations

import random
import threading
import time
from typing import Any

import pytest

from benchmarks.playouts import positions
from tests.worker.search.engines import MATE_IN_3, fresh
from worker.clock import Signs
from worker.engine import Bound, EngineError, Limits, SearchInfo
from worker.rules import Rules
from worker.score import MATE, mate_distance, mate_in, mated_in
from worker.search import engine as engine_module
from worker.search.engine import NumbaEngine
from worker.search.node import POLL_NODES
from worker.search.thread import Ballot, Task
from worker.search.tt import TranspositionTable, entry_depth, entry_score
from worker.shogi import STARTPOS, Position, move_to_usi

MATE_IN_1 = "8k/9/6G1P/9/9/9/9/9/4K4 b G2r2b2g4s4n4l17p 1"
# Mates met in random games, with the plies of the shortest one.
MATE_IN_5 = "1p1n2gnl/l6gg/3PPP+S1k/p4R1Pp/bnpp3p1/4B1PSP/P2+s1ppSK/g8/LNP5L b R2p 52"


def test_a_new_game_clears_the_table_once(engine: NumbaEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Games begin with ``gameover``, ``usinewgame`` or both, and a large table takes seconds to clear."""
    clear, cleared = TranspositionTable.clear, list[int]()

    def count(table: TranspositionTable) -> None:
        cleared.append(table.clusters)
        clear(table)

    monkeypatch.setattr(TranspositionTable, "clear", count)
    first = fresh(engine).go(Limits(depth=6))
    for _ in range(2):
        engine.new_game()
    assert len(cleared) <= 2, "one for the results of other tests, one for this search"
    again = engine.go(Limits(depth=6))
    assert again.nodes == first.nodes, "nothing was left of the first search"
    engine.new_game()
    engine.share(0)
    engine.go(Limits(depth=4))
    entries = engine.take_entries()
    engine.share(None)
    engine.new_game()
    before = len(cleared)
    assert engine.absorb_entries(entries)
    engine.new_game()
    assert len(cleared) == before + 1, "other nodes' results are forgotten too"


def test_mate_in_one(engine: NumbaEngine) -> None:
    result = fresh(engine, MATE_IN_1).go(Limits(depth=4))
    assert result.lines[0].score == MATE - 1
    position = Position.from_sfen(MATE_IN_1)
    position.push_usi(result.bestmove)
    assert position.is_mated()


@pytest.mark.parametrize(("sfen", "plies"), [(MATE_IN_1, 1), (MATE_IN_3, 3), (MATE_IN_5, 5)])
def test_a_mate_score_is_played_out_on_the_board(engine: NumbaEngine, sfen: str, plies: int) -> None:
    """The line of a mate score ends in mate after exactly that many plies."""
    line = fresh(engine, sfen).go(Limits(depth=10)).lines[0]
    assert mate_distance(line.score) == plies
    position = Position.from_sfen(sfen)
    position.push_all(line.pv)
    assert position.is_mated()
    assert len(line.pv) == plies


def test_the_mated_side_counts_its_plies(engine: NumbaEngine) -> None:
    position = Position.from_sfen(MATE_IN_3)
    first = fresh(engine, MATE_IN_3).go(Limits(depth=10))
    position.push_usi(first.bestmove)
    result = fresh(engine, position.sfen()).go(Limits(depth=10))
    assert result.lines[0].score == mated_in(mate_distance(first.lines[0].score) - 1)


def test_mates_in_one_are_stored_no_deeper_than_they_were_looked_for() -> None:
    """An entry of a depth that no search reaches would outlive all others: a small table would fill with them."""
    engine = NumbaEngine(hash_mb=1)
    fresh(engine, MATE_IN_3).go(Limits(depth=8))
    words = engine._table._words[1::2]
    depths = [int(entry_depth(word)) for word in words[words != 0]]
    scores = [int(entry_score(word, 0)) for word in words[words != 0]]
    assert MATE - 1 in scores
    assert max(depths) < 20


def test_a_mate_that_is_proven_well_beyond_its_length_ends_the_search() -> None:
    engine = NumbaEngine(hash_mb=16)
    engine.root_mate_nodes = 0
    line = fresh(engine, MATE_IN_3).go(Limits(movetime_ms=600_000)).lines[0]
    assert mate_distance(line.score) == 3
    assert line.depth < 30


def test_without_a_legal_move_it_resigns(engine: NumbaEngine) -> None:
    position = Position.from_sfen(MATE_IN_1)
    position.push_usi(fresh(engine, MATE_IN_1).go(Limits(depth=3)).bestmove)
    assert fresh(engine, position.sfen()).go(Limits(depth=3)).bestmove == "resign"


def test_it_declares_a_win(engine: NumbaEngine) -> None:
    assert fresh(engine, "2SGKGS2/1R5B1/PPPP5/9/9/9/9/9/4k4 b RB 1").go(Limits(depth=3)).bestmove == "win"


def test_a_node_limit_is_exact_and_the_search_reproducible(engine: NumbaEngine) -> None:
    limits = Limits(nodes=30_011)
    first = fresh(engine).go(limits)
    assert first.nodes == 30_011
    other = NumbaEngine(hash_mb=16)
    again = fresh(other).go(limits)
    repeated = fresh(engine).go(limits)
    for result in (again, repeated):
        assert (result.bestmove, result.nodes) == (first.bestmove, first.nodes)
        assert [(line.score, line.pv) for line in result.lines] == [(line.score, line.pv) for line in first.lines]


@pytest.mark.parametrize("nodes", [1, 2, 30, 31, 500])
def test_a_tiny_node_limit_still_gives_a_legal_move(engine: NumbaEngine, nodes: int) -> None:
    result = fresh(engine).go(Limits(nodes=nodes))
    assert result.nodes <= nodes
    Position.startpos().parse_usi(result.bestmove)


def test_lines_are_legal_and_depths_rise(engine: NumbaEngine) -> None:
    for position in positions(21, 12):
        seen: list[SearchInfo] = []
        fresh(engine, position.sfen()).go(Limits(nodes=20_000), seen.append)
        assert [info.depth for info in seen] == sorted(info.depth for info in seen)
        for info in seen:
            Position.from_sfen(position.sfen()).push_all(info.pv)
            assert info.bound is not Bound.UPPER


def test_the_last_report_is_the_move_to_play() -> None:
    """At any end of the search: the master of a fleet decides by the reports, not by the result of an iteration that
    was cut short."""
    engine = NumbaEngine(hash_mb=4)
    changed = 0
    for position in positions(31, 8):
        for nodes in range(3000, 16_000, 600):
            seen: list[SearchInfo] = []
            result = fresh(engine, position.sfen()).go(Limits(nodes=nodes), seen.append)
            assert seen[-1].pv[0] == result.bestmove
            changed += len(seen) > 1 and seen[-2].depth == seen[-1].depth
    assert changed > 5, "there were iterations that were cut after another move had taken over"


def test_every_line_is_legal_wherever_the_search_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds included, by node limit and by `stop`, with one thread and with two."""
    monkeypatch.setattr(engine_module, "_BOUNDS_FROM_MS", 0)
    rng = random.Random(5)
    bounds = set()
    for threads, searches in ((1, 60), (2, 20)):
        engine = NumbaEngine(hash_mb=1, threads=threads)
        for position in positions(31, searches):
            seen: list[SearchInfo] = []
            engine.set_position(position.sfen())
            if rng.random() < 0.8:
                limits = Limits(nodes=rng.randrange(1, 30_000), multipv=rng.choice((1, 1, 1, 3)))
                result = engine.go(limits, seen.append)
            else:
                timer = threading.Timer(rng.uniform(0.001, 0.03), engine.stop)
                timer.start()
                result = engine.go(Limits(), seen.append)
                timer.join()
            for info in (*seen, *result.lines):
                Position.from_sfen(position.sfen()).push_all(info.pv)
            bounds |= {info.bound for info in seen}
    assert bounds == set(Bound)


def test_bounds_are_reported_late_and_of_a_single_line_only(
    engine: NumbaEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bounds(multipv: int) -> set[Bound]:
        seen: list[SearchInfo] = []
        for position in positions(21, 6):
            fresh(engine, position.sfen()).go(Limits(nodes=20_000, multipv=multipv), seen.append)
        return {info.bound for info in seen}

    assert Bound.UPPER not in bounds(1), "a lower bound may prefer another move"
    monkeypatch.setattr(engine_module, "_BOUNDS_FROM_MS", 0)
    assert bounds(1) == set(Bound)
    assert bounds(2) == {Bound.EXACT}


def test_multipv_gives_distinct_moves_best_first(engine: NumbaEngine) -> None:
    result = fresh(engine).go(Limits(depth=6, multipv=5))
    assert [line.multipv for line in result.lines] == [1, 2, 3, 4, 5]
    assert len({line.pv[0] for line in result.lines}) == 5
    scores = [line.score for line in result.lines]
    assert scores == sorted(scores, reverse=True)
    alone = fresh(engine, "8k/9/8P/9/9/9/9/9/K8 w - 1").go(Limits(depth=4, multipv=5))
    assert len(alone.lines) == len(Position.from_sfen("8k/9/8P/9/9/9/9/9/K8 w - 1").legal_moves())


def test_the_best_line_comes_first_wherever_several_are_cut(engine: NumbaEngine) -> None:
    """Of the iteration that was cut; older lines follow."""
    for number, position in enumerate(positions(31, 40)):
        lines = fresh(engine, position.sfen()).go(Limits(nodes=1000 + 50 * number, multipv=4)).lines
        scores = [line.score for line in lines if line.depth == lines[0].depth]
        assert scores == sorted(scores, reverse=True)


def test_root_moves_can_be_chosen_and_left_out(engine: NumbaEngine) -> None:
    chosen = fresh(engine).go(Limits(depth=5, searchmoves=("9g9f", "1g1f")))
    assert chosen.bestmove in ("9g9f", "1g1f")
    best = fresh(engine).go(Limits(depth=5)).bestmove
    assert fresh(engine).go(Limits(depth=5, ignoremoves=(best,))).bestmove != best
    with pytest.raises(EngineError, match="7g7e"):
        engine.go(Limits(depth=3, searchmoves=("7g7e",)))
    with pytest.raises(EngineError, match="no root move"):
        engine.go(Limits(depth=3, searchmoves=("7g7f",), ignoremoves=("7g7f",)))


@pytest.mark.parametrize(
    ("sfen", "moves", "words"),
    [("nonsense", (), "fields"), (STARTPOS, ("7g7f", "7g7f"), "move 2"), (STARTPOS, ("7g7e",), "not legal")],
)
def test_a_bad_position_leaves_the_old_one(engine: NumbaEngine, sfen: str, moves: tuple[str, ...], words: str) -> None:
    fresh(engine, MATE_IN_1)
    with pytest.raises(EngineError, match=words):
        engine.set_position(sfen, moves)
    assert engine.go(Limits(depth=3)).lines[0].score == MATE - 1


def test_stop_ends_an_infinite_search(engine: NumbaEngine) -> None:
    fresh(engine)
    results = []
    thread = threading.Thread(target=lambda: results.append(engine.go(Limits())))
    thread.start()
    while engine.nodes < 50_000:
        time.sleep(0.001)
    engine.stop()
    thread.join(10)
    assert not thread.is_alive()
    Position.startpos().parse_usi(results[0].bestmove)


def test_a_stop_before_the_search_is_not_lost(engine: NumbaEngine) -> None:
    fresh(engine)
    engine.stop()
    result = engine.go(Limits())
    assert result.nodes <= POLL_NODES
    Position.startpos().parse_usi(result.bestmove)
    engine.set_position(STARTPOS)  # a new position forgets the stop
    assert engine.go(Limits(nodes=5_000)).nodes == 5_000


@pytest.mark.parametrize("multipv", [1, 2])
def test_a_search_without_limits_ends_when_nothing_is_left(engine: NumbaEngine, multipv: int) -> None:
    """A GUI's front holds the answer until its stop; a node reports that it is finished."""
    result = fresh(engine, MATE_IN_1).go(Limits(multipv=multipv))
    assert result.lines[0].score == MATE - 1


def test_two_threads_search_together() -> None:
    pair = NumbaEngine(hash_mb=16, threads=2)
    result = fresh(pair, MATE_IN_3).go(Limits(depth=9))
    assert mate_distance(result.lines[0].score) > 0
    assert fresh(pair).go(Limits(movetime_ms=200)).nodes > 0
    pair.stop()
    # The helper's line may win the vote at less depth.
    assert 0 < fresh(pair).go(Limits(depth=5)).lines[0].depth <= 5
    assert pair._threads[0].completed == 5


def test_the_only_thread_with_a_line_is_the_one_that_is_heard() -> None:
    """A search of a few milliseconds may end before the main thread has one."""
    pair = NumbaEngine(hash_mb=1, threads=2)
    fresh(pair).go(Limits(depth=3))
    main, helper = pair._threads
    helper.lines = helper.lines or main.lines
    main.lines = []
    position = Position.startpos()
    task = Task(position.legal_moves(), 1, 3, None, 0, Rules())
    assert pair._best_thread(task) is helper


def test_a_limit_of_nodes_is_that_of_all_threads_together() -> None:
    pair = NumbaEngine(hash_mb=1, threads=2)
    result = fresh(pair).go(Limits(nodes=100_001))
    assert [thread.nodes for thread in pair._threads] == [50_001, 50_001]
    assert result.nodes == 100_002


def test_helper_threads_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting fifteen of them for each search takes milliseconds of it."""
    pair = NumbaEngine(hash_mb=1, threads=3)
    ran: list[set[threading.Thread]] = []
    for thread in pair._threads[1:]:
        run = thread.run

        def noted(*how: Any, run: Any = run) -> None:
            ran[-1].add(threading.current_thread())
            run(*how)

        monkeypatch.setattr(thread, "run", noted)
    for _ in range(3):
        ran.append(set())
        fresh(pair).go(Limits(nodes=30_000))
    assert len(set().union(*ran)) <= 2 and all(ran)
    pair.close()
    for thread in set().union(*ran):
        thread.join(60)
        assert not thread.is_alive()


def test_a_fault_in_a_helper_thread_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = NumbaEngine(hash_mb=1, threads=2)

    def fail(*_how: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(pair._threads[1], "run", fail)
    with pytest.raises(ZeroDivisionError):
        fresh(pair).go(Limits(depth=3))


def test_the_threads_vote_for_the_move(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[list[Ballot]] = []

    def last(ballots: list[Ballot]) -> int:
        held.append(ballots)
        return len(ballots) - 1

    monkeypatch.setattr(engine_module, "elect", last)
    pair = NumbaEngine(hash_mb=1, threads=2)
    result = fresh(pair).go(Limits(nodes=100_000))
    assert len(held[-1]) == 2
    chosen = pair._threads[1].lines[0]
    assert result.lines[0].pv[0] == move_to_usi(chosen.pv[0])
    if chosen.bound is Bound.EXACT:
        assert (result.lines[0].score, result.lines[0].depth) == (chosen.score, chosen.depth)
    assert result.bestmove == result.lines[0].pv[0] == move_to_usi(held[-1][1].move)
    held.clear()
    fresh(pair).go(Limits(nodes=30_000, searchmoves=("7g7f",)))
    fresh(pair).go(Limits(nodes=30_000, multipv=2))
    assert not held


@pytest.mark.parametrize(
    ("options", "words"),
    [({"threads": 0}, "0 threads"), ({"hash_mb": 0}, "hash of 0"), ({"eval_file": "/no/such/net"}, "/no/such/net")],
)
def test_bad_options_are_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(EngineError, match=words):
        NumbaEngine(**options)  # type: ignore[arg-type]


def test_the_callback_after_each_iteration_ends_the_search() -> None:
    engine = NumbaEngine(hash_mb=4)
    engine.set_position(STARTPOS)
    seen: list[Signs] = []

    def goes_on(signs: Signs) -> bool:
        seen.append(signs)
        return len(seen) < 11

    result = engine.go(Limits(), goes_on=goes_on)
    assert result.lines[0].depth == len(seen) == 11
    assert (seen[-1].move, seen[-1].score) == (result.bestmove, result.lines[0].score)
    assert [signs.effort is not None for signs in seen] == [False] * 9 + [True] * 2
    assert 0 < (seen[-1].effort or 0) <= 1
    assert sum(signs.changes or 0 for signs in seen) > 0
    assert [signs.elapsed_ms for signs in seen] == sorted(signs.elapsed_ms for signs in seen)


def test_a_mate_is_reported_at_once() -> None:
    """As while pondering: there is no limit, and nothing more to find."""
    engine = NumbaEngine(hash_mb=4)
    engine.root_mate_nodes = 10_000
    engine.set_position("4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
    result = engine.go(Limits(), goes_on=lambda _signs: True)
    assert (result.bestmove, result.lines[0].score) == ("G*5b", mate_in(1))


def test_without_anybody_to_ask_time_is_used_to_its_end() -> None:
    """No upper bound here: the deadline limits it."""
    engine = NumbaEngine(hash_mb=4)
    engine.set_position(STARTPOS)
    assert engine.go(Limits(movetime_ms=300)).time_ms >= 299


def test_the_only_move_takes_no_time() -> None:
    engine = NumbaEngine(hash_mb=4)
    engine.set_position("k8/9/9/9/9/9/9/7r1/8K b - 1")
    result = engine.go(Limits(movetime_ms=3_600_000), goes_on=lambda _signs: True)
    assert result.bestmove == "1i2h"
    assert result.lines[0].depth >= 6
