"""The mate search: it finds mates, never claims a false one, and says "no mate" only if there is none."""

from __future__ import annotations

import random
import threading
import time

import pytest

from benchmarks.puzzles import CLASSICAL, KEMURI, KOTOBUKI, random_positions
from tests.worker.mate import oracle
from worker.mate import MateResult, MateSolver, MateStatus
from worker.mate.solver import _forbidden
from worker.mate.state import hand_of
from worker.shogi import Position


@pytest.fixture(scope="module")
def solver() -> MateSolver:
    return MateSolver(32)


def check_line(sfen: str, result: MateResult) -> None:
    """The line is legal, checks with every move of the attacker, and ends in mate."""
    position = Position.from_sfen(sfen)
    attacker = position.turn
    for move in result.line:
        assert position.is_legal(move)
        position.push(move)
        assert position.turn == attacker or position.in_check()
    assert position.turn != attacker
    assert position.is_mated()


def flipped(sfen: str) -> str:
    """The same problem for white."""
    board, turn, hands, number = sfen.split()
    turned = "/".join(rank[::-1] for rank in reversed(board.split("/"))).swapcase()
    # A promotion mark now follows its letter.
    text = ""
    for mark in turned:
        text = f"{text[:-1]}+{text[-1]}" if mark == "+" else text + mark
    return f"{text} {'w' if turn == 'b' else 'b'} {hands.swapcase()} {number}"


@pytest.mark.parametrize("name", CLASSICAL)
def test_classical_problems(solver: MateSolver, name: str) -> None:
    plies, sfen = CLASSICAL[name]
    for text in (sfen, flipped(sfen)):
        result = solver.solve(Position.from_sfen(text), max_nodes=4_000_000)
        assert result.status is MateStatus.MATE
        assert len(result.line) >= plies
        check_line(text, result)


@pytest.mark.slow
def test_kotobuki() -> None:
    position = Position.from_sfen(KOTOBUKI)
    result = MateSolver(256).solve(position, max_nodes=20_000_000)
    assert result.status is MateStatus.MATE
    assert len(result.line) >= 611
    check_line(KOTOBUKI, result)


@pytest.mark.parametrize(
    "sfen",
    [
        "4k4/9/9/9/9/9/9/9/4K4 b - 1",
        "4k4/9/9/9/9/9/9/9/4K4 b G 1",
        "7lk/7p1/8S/9/9/9/9/9/9 b P 1",
        "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1",
        "9/9/9/9/9/9/9/9/4K4 b 2R 1",
        "8k/9/9/9/9/9/9/9/R8 b - 1",
    ],
)
def test_no_mate(solver: MateSolver, sfen: str) -> None:
    assert solver.solve(Position.from_sfen(sfen), max_nodes=1_000_000) == MateResult(
        MateStatus.NO_MATE, (), pytest.approx(0, abs=1e6), pytest.approx(0, abs=1e6)
    )


def test_no_mate_by_other_rules() -> None:
    """Refutations against the whole graph of rsshogi's moves."""
    solver = MateSolver(1, keep=True)
    compared = 0
    for position in random_positions(77):
        result = solver.solve(position, max_nodes=2000)
        if result.status is not MateStatus.NO_MATE or result.nodes < 3:
            continue
        truth = oracle.mates(position.sfen(), 400)
        assert not truth, position
        compared += truth is not None
        if compared == 8:
            break


@pytest.mark.parametrize(("number", "plies"), [(60, 3), pytest.param(120, 5, marks=pytest.mark.slow)])
def test_mates_by_other_rules(number: int, plies: int) -> None:
    """Short mates, found and not found, against brute force over rsshogi's moves."""
    solver = MateSolver(1, keep=True)
    compared = found = 0
    for position in random_positions(78):
        if compared == number:
            break
        result = solver.solve(position, max_nodes=3000)
        if result.nodes < 3 or len(position.legal_moves()) > (60 if plies > 3 else 120):
            continue
        brute = oracle.mates_within(position.sfen(), plies)
        if brute:
            assert result.status is MateStatus.MATE, position
        else:
            assert result.status is not MateStatus.MATE or result.longest > plies, position
        compared += 1
        found += brute
    assert found >= number // 20


def _play_out(solver: MateSolver, position: Position, proven: set[int], path: set[int]) -> None:
    """Every defence, with the solver's move against each: mate at the end of each line, and no position twice in
    one."""
    if position.key in proven:
        return
    assert position.key not in path
    path.add(position.key)
    result = solver.solve(position)
    assert result.status is MateStatus.MATE
    position.push(result.line[0])
    assert position.in_check()
    for reply in position.legal_moves():
        position.push(reply)
        _play_out(solver, position, proven, path)
        position.pop()
    position.pop()
    path.remove(position.key)
    proven.add(position.key)


def test_proofs_hold_against_every_defence() -> None:
    solver = MateSolver(1)
    played = 0
    for position in random_positions(21):
        result = solver.solve(position, max_nodes=150)
        if result.status is MateStatus.MATE and len(result.line) >= 3:
            _play_out(solver, position, set(), set())
            played += 1
            if played == 10:
                break


def test_a_small_table_changes_no_answer() -> None:
    small = MateSolver(1)
    for name in ("Shogi Komoku 4-6, 19", "Shogi Geppo 1943, 19", "Zuko 98, 31"):
        sfen = CLASSICAL[name][1]
        result = small.solve(Position.from_sfen(sfen), max_nodes=1_000_000)
        assert result.status is not MateStatus.NO_MATE
        if result.status is MateStatus.MATE:
            check_line(sfen, result)


def test_more_in_the_attackers_hand_never_hurts() -> None:
    solver = MateSolver(4)
    rng = random.Random(8)
    grown = 0
    for position in random_positions(31):
        if solver.solve(position, max_nodes=3000).status is not MateStatus.MATE:
            continue
        board, turn, hands, number = position.sfen().split()
        letter = rng.choice("GSNLP")
        if letter in hands:
            continue
        more = Position.from_sfen(f"{board} {turn} {letter}{hands.replace('-', '')} {number}")
        assert solver.solve(more, max_nodes=300_000).status is MateStatus.MATE
        grown += 1
        if grown == 8:
            break


def test_the_same_call_gives_the_same_result() -> None:
    sfen = CLASSICAL["Shogi Geppo 1943, 19"][1]
    first, second = (MateSolver(8).solve(Position.from_sfen(sfen)) for _ in range(2))
    reused = MateSolver(8)
    reused.solve(Position.from_sfen(KEMURI), max_nodes=5000)
    third = reused.solve(Position.from_sfen(sfen))
    assert {(r.status, r.line, r.nodes) for r in (first, second, third)} == {(first.status, first.line, first.nodes)}


def test_limits(solver: MateSolver) -> None:
    position = Position.from_sfen(KEMURI)
    result = solver.solve(position, max_nodes=1000)
    assert result.status is MateStatus.UNKNOWN
    assert result.nodes == 1000
    assert result.line == ()
    began = time.monotonic_ns()
    result = solver.solve(position, deadline_ns=began + 50_000_000)
    assert result.status is MateStatus.UNKNOWN
    assert time.monotonic_ns() - began < 20_000_000_000  # it would take longer than that without a deadline


def test_stop_from_another_thread() -> None:
    solver = MateSolver(16)
    solver.prepare()
    results: list[MateResult] = []
    thread = threading.Thread(target=lambda: results.append(solver.solve(Position.from_sfen(KEMURI))))
    thread.start()
    time.sleep(0.1)
    solver.stop()
    thread.join(2)
    assert not thread.is_alive()
    assert results[0].status is MateStatus.UNKNOWN
    assert solver.solve(Position.from_sfen(KEMURI)).nodes == 1
    solver.prepare()
    assert solver.solve(Position.from_sfen(CLASSICAL["old problem, 3"][1])).status is MateStatus.MATE


def test_positions_that_stood_three_times_are_forbidden() -> None:
    position = Position.from_sfen("8k/9/9/9/9/9/9/9/R3K4 b - 1")
    for _ in range(2):
        position.push_all(["9i9a", "1a1b", "9a9i", "1b1a"])
        assert _forbidden(position) == [] or position.occurrences() >= 3
    assert len(_forbidden(position)) == 1
    before = position.sfen(), position.history
    assert MateSolver(1).solve(position).status is MateStatus.NO_MATE
    assert (position.sfen(), position.history) == before


def test_what_history_forbids_is_no_way_to_the_mate(monkeypatch: pytest.MonkeyPatch) -> None:
    position, forbidden = Position.from_sfen(CLASSICAL["old problem, 3"][1]), list[tuple[int, int]]()
    assert MateSolver(1).solve(position).status is MateStatus.MATE
    for move in position.legal_moves():
        position.push(move)
        if position.in_check():
            forbidden.append((int(position.record.board_key), int(hand_of(position.record, 0))))
        position.pop()
    monkeypatch.setattr("worker.mate.solver._forbidden", lambda _position: forbidden)
    assert MateSolver(1).solve(position).status is MateStatus.NO_MATE


def test_if_no_move_checks_no_memory_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    """One begins beside each main search. If it ends at once, it must not drive the main search out of the caches."""
    solver = MateSolver(1, keep=True)
    solver.solve(Position.from_sfen(KEMURI), max_nodes=100)
    cleared: list[bool] = []
    monkeypatch.setattr(solver, "_clear", lambda: cleared.append(True))
    found = solver.solve(Position.startpos())
    assert (found.status, found.nodes, cleared) == (MateStatus.NO_MATE, 0, [])
    solver.solve(Position.from_sfen(KEMURI), max_nodes=100)
    assert cleared == [True]


def test_kept_memory_changes_no_answer() -> None:
    kept, fresh = MateSolver(1, keep=True), MateSolver(1)
    for name, (_, sfen) in CLASSICAL.items():
        first, second = (solver.solve(Position.from_sfen(sfen), max_nodes=20_000) for solver in (kept, fresh))
        assert (first.status, first.line, first.nodes) == (second.status, second.line, second.nodes), name


def test_the_longest_line_is_no_shorter_than_the_mate(solver: MateSolver) -> None:
    compared = 0
    for position in random_positions(41):
        result = solver.solve(position, max_nodes=2000)
        if result.status is not MateStatus.MATE:
            assert result.longest == 0
            continue
        assert len(result.line) <= result.longest
        if result.longest <= 3:
            assert oracle.mates_within(position.sfen(), result.longest), position
            compared += 1
            if compared == 12:
                break


def test_bad_memory() -> None:
    with pytest.raises(ValueError, match="expected 1 or more"):
        MateSolver(0)
