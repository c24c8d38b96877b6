"""Bad moves as next-move problems, in ShogiHome's format."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from master.analysis.plan import Alternative
from master.analysis.problems import problems
from master.analysis.report import GameReport
from tests.master.analysis.records import blunder_report
from worker.engine import Bound
from worker.score import mate_in, mated_in


def made(*reports: GameReport) -> list[dict[str, Any]]:
    content = problems(reports, {"name": "Gougi"}, "Gougi 0", "2026-11-27T12:00:00+00:00")
    assert content["format"] == "shogihome-next-move"
    assert content["version"] == 1
    assert json.loads(json.dumps(content)) == content
    return list(content["problems"])


def with_before(**changes: Any) -> GameReport:
    """`blunder_report` with another evaluation of the position before the blunder."""
    report = blunder_report()
    moves = list(report.moves)
    before = moves[1].before
    assert before is not None
    moves[1] = replace(moves[1], before=replace(before, **changes))
    return replace(report, moves=tuple(moves))


def test_a_blunder_is_a_problem() -> None:
    (problem,) = made(blunder_report())
    assert problem["sfen"].split()[1:] == ["w", "-", "1"]
    # White was to move: the scores are black's.
    assert problem["candidates"] == [{"usi": "8c8d", "score": 30, "depth": 9, "accepted": True, "pv": ["8c8d", "2g2f"]}]
    assert problem["actualMove"] == {"usi": "3c3d", "score": 1500, "scoreSource": "research"}
    assert problem["source"]["ply"] == 2
    assert problem["source"]["blackPlayer"] == "anna"


def test_near_moves_are_right_too_and_bounds_are_left_out() -> None:
    lines = (
        Alternative(-30, 9, ("8c8d", "2g2f")),
        Alternative(-60, 8, ("4a3b", "2g2f")),
        Alternative(-70, 8, ("1c1d",), Bound.UPPER),
        Alternative(-400, 8, ("5a4b",)),
    )
    (problem,) = made(with_before(alternatives=lines))
    assert [(one["usi"], one["accepted"]) for one in problem["candidates"]] == [
        ("8c8d", True),
        ("4a3b", True),
        ("5a4b", False),
    ]


@pytest.mark.parametrize("score", [mate_in(3), 20_000])
def test_a_mate_is_told_by_its_length(score: int) -> None:
    (problem,) = made(with_before(score=score))
    first = problem["candidates"][0]
    assert first.get("mate", first.get("score")) == (-3 if score == mate_in(3) else -20_000)


@pytest.mark.parametrize(
    "changes",
    [
        {"score": -2000},  # lost before
        {"score": mated_in(4)},
        {"best": "win", "pv": ("win",)},
        {"best": ""},
        {"bound": Bound.LOWER},
        {"alternatives": (Alternative(-30, 9, ("8c8d",)), Alternative(-31, 9, ("3c3d",)))},  # the move itself is near
    ],
)
def test_what_is_no_problem(changes: dict[str, Any]) -> None:
    assert made(with_before(**changes)) == []


def test_a_position_comes_once() -> None:
    assert len(made(blunder_report(), blunder_report())) == 1


def test_what_was_not_searched_is_none() -> None:
    report = blunder_report()
    moves = tuple(replace(move, before=None) for move in report.moves)
    assert made(replace(report, moves=moves)) == []
