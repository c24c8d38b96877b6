"""The nemesis: its schedule, what its checker finds, and a short run on real processes."""

from __future__ import annotations

import random

import pytest

from benchmarks.nemesis.history import History, Question
from benchmarks.nemesis.schedule import ENDING, LASTING, Kind, burst

MATED = ("7g7f", "4a3b", "8h3c+", "2b3c")


def test_bursts_come_from_the_seed() -> None:
    first, again = ([burst(random.Random(seed), list(Kind)) for seed in range(200)] for _ in range(2))
    assert first == again
    strikes = [strike for each in first for strike in each]
    assert {strike.kind for strike in strikes} == set(Kind)
    assert all((strike.lasts_s > 0) == (strike.kind in LASTING) for strike in strikes)
    for each in first:
        assert [strike.after_s for strike in each] == sorted(strike.after_s for strike in each)
        assert all(strike.kind not in ENDING for strike in each[:-1])
    assert any(len(each) > 2 for each in first)


def history(*answers: tuple[float, str], moves: tuple[str, ...] = (), given_up: bool = False) -> History:
    return History([Question(moves, 500, 1000.0, list(answers), given_up)])


@pytest.mark.parametrize(
    ("seen", "fault"),
    [
        (history((1400.0, "7g7f")), ""),
        (history(), "question 1: 0 answers"),
        (history(given_up=True), ""),
        (history((1400.0, "7g7f"), (1450.0, "2g2f")), "question 1: 2 answers"),
        (history((1400.0, "7g7e")), "question 1: 7g7e after "),
        (history((1400.0, "resign")), "question 1: resign after "),
        (history((1400.0, "win")), "question 1: win after "),
        (history((1400.0, "3d3e"), moves=MATED), f"question 1: 3d3e after {' '.join(MATED)}"),
        (history((1700.0, "7g7f")), "question 1: 200 ms late, 60 allowed; nothing before"),
    ],
)
def test_what_is_wrong_with_an_answer(seen: History, fault: str) -> None:
    assert seen.faults() == ([fault] if fault else [])


def test_a_starved_machine_explains_a_late_answer() -> None:
    seen = history((1700.0, "7g7f"))
    seen.overslept = [(100.0, 900.0)]
    assert seen.faults(), "that was long before"
    seen.overslept += [(1600.0, 40.0)]
    assert seen.faults() == []


def test_a_late_answer_is_told_with_what_befell_before_it() -> None:
    seen = history((7700.0, "7g7f"))
    seen.befell = [(2600.0, "fill the disk"), (3000.0, "cut the line"), (7800.0, "kill a node")]
    assert seen.faults() == ["question 1: 6200 ms late, 60 allowed; cut the line 4700 ms before"]


def test_an_answer_to_nothing() -> None:
    assert History(stray=["bestmove 7g7f"]).faults() == ["an answer that nobody asked for: bestmove 7g7f"]
