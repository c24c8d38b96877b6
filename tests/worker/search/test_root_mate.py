"""The search for mate beside the main search, and the engine's use of its result."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from tests.waiting import wait_for
from tests.worker.search.engines import fresh
from worker.engine import ROOT_MATE_NODES, Bound, Limits, SearchInfo
from worker.mate import MateResult, MateSolver, MateStatus
from worker.rules import EnteringKingRule, Rules
from worker.score import MATE_BOUND, mate_distance, mate_in
from worker.search.engine import NumbaEngine
from worker.search.root_mate import RootMate, counts
from worker.shogi import Position, move_to_usi

# From self-play games: the engine's score was -3000 centipawns, and it had a mate.
MATE_IN_17 = "l7l/5rsk1/3G2npp/p1pBp1p2/1P3p1PP/P1P1P1P2/L1Nb1gN2/1pg+p3K1/8L b GSPr2snp 95"
LONG = "l7l/6k2/3GG3p/p1p1p1p2/1P2bp1rP/P1P6/L1N2SPP1/1pg+p3K1/6G1L w BNr3s2n4p 124"
ENDLESS = "6n1l/2+S1k4/2lp4p/1np1B2b1/3PP4/1N1S3rP/1P2+pPP+p1/1p1G5/3KG2r1 b GSN2L4Pgs2p 1"
"""The checks never end."""
PATIENCE = 120_000
"""Milliseconds that no search for a mate takes."""


@pytest.fixture(autouse=True)
def _as_it_was(engine: NumbaEngine) -> Iterator[None]:
    yield
    engine.rules = Rules()
    engine.root_mate_nodes = ROOT_MATE_NODES


def found_beside(engine: NumbaEngine) -> tuple[str, ...]:
    """The mate that the search for mates found. The tree may find the same one by itself, on a fast machine at once."""
    return tuple(move_to_usi(move) for move in engine._root_mate.line)


def check_mate(sfen: str, info: SearchInfo) -> None:
    position = Position.from_sfen(sfen)
    position.push_all(info.pv)
    if info.bound is Bound.LOWER:
        # The tree saw the mate before the search for mates did, by a cut: the line ends with the move, or a reply.
        assert info.score >= MATE_BOUND
        cut = Position.from_sfen(sfen)
        cut.push_all(info.pv[:1])
        for reply in cut.legal_moves():
            answered = cut.copy()
            answered.push(reply)
            assert MateSolver(16).solve(answered, max_nodes=1_000_000).status is MateStatus.MATE
        return
    assert position.is_mated()
    assert mate_distance(info.score) == len(info.pv)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("sfen", [MATE_IN_17, LONG])
def test_a_mate_ends_the_search_and_is_the_result(threads: int, sfen: str) -> None:
    engine = NumbaEngine(hash_mb=1, threads=threads)
    result = fresh(engine, sfen).go(Limits(movetime_ms=PATIENCE))
    assert result.time_ms < PATIENCE // 2
    assert len(result.lines) == 1
    check_mate(sfen, result.lines[0])
    assert (result.bestmove, result.ponder) == result.lines[0].pv[:2]
    # The mate ended this search only.
    assert engine.go(Limits(nodes=5_000)).nodes >= 5_000


def mate_found(rules: Rules, nodes: int) -> tuple[int, ...]:
    """The result of the search for mate, after its end."""
    mate = RootMate(1)
    mate.start(Position.from_sfen(MATE_IN_17), rules, nodes, lambda _move: True, lambda: None)
    for thread in threading.enumerate():
        if thread.name == "root mate":
            thread.join(60)
    return mate.line


@pytest.mark.parametrize("limits", [Limits(nodes=100_000), Limits(depth=10), Limits(movetime_ms=100, multipv=2)])
def test_cases_without_the_mate_search(engine: NumbaEngine, limits: Limits) -> None:
    fresh(engine, MATE_IN_17).go(limits)
    assert not found_beside(engine)


@pytest.mark.parametrize(
    ("rules", "nodes"),
    [
        (Rules(), 0),
        (Rules(), 100),
        (Rules(entering=EnteringKingRule.TRY), ROOT_MATE_NODES),
        (Rules(max_moves=105), ROOT_MATE_NODES),
    ],
)
def test_rules_and_limit(rules: Rules, nodes: int) -> None:
    assert mate_found(Rules(), ROOT_MATE_NODES)
    assert not mate_found(rules, nodes)


def test_only_moves_that_are_allowed(engine: NumbaEngine) -> None:
    first = fresh(engine, MATE_IN_17).go(Limits(movetime_ms=PATIENCE)).bestmove
    others = tuple(
        move_to_usi(move) for move in Position.from_sfen(MATE_IN_17).legal_moves() if move_to_usi(move) != first
    )
    result = fresh(engine, MATE_IN_17).go(Limits(movetime_ms=60, searchmoves=others[:5]))
    assert result.bestmove in others[:5]
    assert fresh(engine, MATE_IN_17).go(Limits(movetime_ms=60, ignoremoves=(first,))).bestmove in others
    assert fresh(engine, MATE_IN_17).go(Limits(movetime_ms=PATIENCE, searchmoves=(first,))).lines[0].score >= MATE_BOUND
    assert fresh(engine, MATE_IN_17).go(Limits(movetime_ms=PATIENCE, ignoremoves=others)).lines[0].score >= MATE_BOUND


def test_an_infinite_search_ends_with_the_mate(engine: NumbaEngine) -> None:
    check_mate(MATE_IN_17, fresh(engine, MATE_IN_17).go(Limits()).lines[0])


def test_the_shorter_mate_of_the_main_search_stands(engine: NumbaEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    sfen = "g2g1k3/2s4+R1/4p4/1p1p4+S/2p1BPP2/P5p2/1PPPP2NP/2S1K2PL/LN1GGS1N1 b 4P 72"
    fresh(engine, sfen)
    monkeypatch.setattr(engine._root_mate, "finish", lambda: None)
    monkeypatch.setattr(RootMate, "line", (1,) * 31)
    assert engine.go(Limits(depth=8)).lines[0].score == mate_in(3)


def test_a_mate_has_to_fit_into_the_move_limit() -> None:
    mate = MateResult(MateStatus.MATE, (1, 2, 3), 10, 0, longest=5)
    assert counts(mate, Rules(), 1)
    assert counts(mate, Rules(max_moves=100), 95)  # the mate is on the board after move 99
    assert not counts(mate, Rules(max_moves=100), 96)
    assert not counts(MateResult(MateStatus.NO_MATE, (), 10, 0), Rules(), 1)


def test_a_search_that_fails_does_not_end_the_next() -> None:
    mates, found = RootMate(4), threading.Event()
    beyond = Position.from_sfen("4k4/9/4P4/9/9/9/9/9/9 b 2G 999999")
    beyond.push_usi("G*8h")  # its number has seven digits, which the solver's copy refuses
    mates.start(beyond, Rules(), 1000, lambda _: True, lambda: None)
    wait_for(lambda: not any(one.name == "root mate" for one in threading.enumerate()))
    mates.start(Position.from_sfen("4k4/9/4P4/9/9/9/9/9/9 b 2G 1"), Rules(), 100_000, lambda _: True, found.set)
    assert found.wait(30)


def test_stopping_is_quick_and_final() -> None:
    mate = RootMate(64)
    told = []
    position = Position.from_sfen(ENDLESS)
    for _ in range(5):
        mate.start(position, Rules(), 1 << 40, lambda _move: True, lambda: told.append(1))
        time.sleep(0.02)
        mate.finish()
    assert told == []
    assert mate.line == ()


def test_it_takes_only_idle_time() -> None:
    """Its thread gives way to every search, including the one beside which it runs."""
    mate, before, own = RootMate(64), set(threading.enumerate()), os.getpriority(os.PRIO_PROCESS, 0)
    mate.start(Position.from_sfen(ENDLESS), Rules(), 1 << 40, lambda _move: True, lambda: None)
    (thread,) = (each for each in set(threading.enumerate()) - before if each.name == "root mate")
    assert thread.native_id is not None
    deadline = time.monotonic() + 10
    while os.getpriority(os.PRIO_PROCESS, thread.native_id) != 19 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert os.getpriority(os.PRIO_PROCESS, thread.native_id) == 19
    assert os.getpriority(os.PRIO_PROCESS, 0) == own
    mate.finish()
    thread.join(10)
    assert not thread.is_alive()


def test_nobody_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that does not notice its end delays nothing: the next search for mate begins after it has noticed."""
    mate = RootMate(1)
    solve, goes_on, began, told = mate._solver.solve, threading.Event(), threading.Event(), list[str]()

    def slow(position: Position, **limits: int) -> MateResult:
        began.set()
        assert goes_on.wait(10)
        return solve(position, **limits)

    monkeypatch.setattr(mate._solver, "solve", slow)
    position = Position.from_sfen(MATE_IN_17)
    mate.start(position, Rules(), ROOT_MATE_NODES, lambda _move: True, lambda: told.append("first"))
    assert began.wait(10)
    mate.finish()
    done = threading.Event()
    mate.start(position, Rules(), ROOT_MATE_NODES, lambda _move: True, lambda: (told.append("second"), done.set()))
    assert not done.is_set()
    goes_on.set()
    assert done.wait(60)
    assert told == ["second"]
    assert mate.line
