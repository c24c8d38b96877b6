"""Bad moves of analysed games as next-move problems, in ShogiHome's open format. Pure.

The format: specs/next-move-problem-format.md of sunfish-shogi/shogihome. Its scores are black's, in centipawns. The
limits below are ShogiHome's own default settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from master.analysis.judgement import Judged, win_probability
from master.analysis.plan import Alternative, Evaluation
from master.analysis.report import GameReport
from worker.engine import Bound
from worker.score import is_mate, mate_distance

FORMAT: Final = "shogihome-next-move"
LEAST_LOSS: Final = 0.20
"""Win probability that the move of the game loses."""
NEAR: Final = 0.05
"""Another move that loses at most this much against the best one is right too."""
LEAST_WIN: Final = 0.20
"""A side that stands worse than this even with the best move has no problem to solve."""


def problems(reports: Iterable[GameReport], engine: dict[str, Any], version: str, created: str) -> dict[str, Any]:
    """The file's content, for JSON: each position once.

    Args:
        engine: name and effort, in the format's form.
        version: of Gougi.
        created: the time, as ISO 8601.
    """
    found: dict[str, dict[str, Any]] = {}
    for report in reports:
        for problem in _of_game(report):
            found.setdefault(problem["sfen"], problem)
    return {
        "format": FORMAT,
        "version": 1,
        "metadata": {
            "createdAt": created,
            "appVersion": version,
            "engine": engine,
            "criteria": {
                "winRateDropThreshold": round(LEAST_LOSS * 100),
                "adoptionWinRateDiff": round(LEAST_LOSS * 100),
                "acceptableWinRateDiff": round(NEAR * 100),
                "minWinRate": round(LEAST_WIN * 100),
                "coefficientInSigmoid": 600,
            },
        },
        "problems": list(found.values()),
    }


def _of_game(report: GameReport) -> Iterator[dict[str, Any]]:
    sfens = {point.ply: point.sfen for point in report.points}
    for move in report.moves:
        if move.before is not None and _is_one(move):
            candidates = _candidates(move, move.before)
            if not any(one["usi"] == move.usi and one["accepted"] for one in candidates):
                board, turn, hands = sfens[move.number - 1].split()[:3]
                yield {
                    "sfen": f"{board} {turn} {hands} 1",
                    "candidates": candidates,
                    "actualMove": {"usi": move.usi, **_score(move.after, move.turn), "scoreSource": "research"},
                    "source": _source(report, move.number),
                }


def _is_one(move: Judged) -> bool:
    """Whether there was a move to find: a good one that is certain, and far better than the move played."""
    before = move.before
    if before is None or before.best in ("", "win") or not move.exact:
        return False
    return move.loss >= LEAST_LOSS and win_probability(before.score) >= LEAST_WIN


def _candidates(move: Judged, before: Evaluation) -> list[dict[str, Any]]:
    """The best moves that were compared, the best one first."""
    one = Alternative(before.score, before.depth, before.pv)
    lines: Sequence[Alternative] = [line for line in before.alternatives if line.bound is Bound.EXACT and line.pv]
    if not lines or lines[0].pv[0] != before.best:
        lines = [one, *(line for line in lines if line.pv[0] != before.best)]
    least = win_probability(before.score) - NEAR
    return [
        {
            "usi": line.pv[0],
            **_score(line.score, move.turn),
            "depth": line.depth,
            "accepted": number == 0 or win_probability(line.score) >= least,
            "pv": list(line.pv),
        }
        for number, line in enumerate(lines)
        if line.pv[0] != "win"
    ]


def _score(score: int | None, turn: int) -> dict[str, int]:
    """A score of the side ``turn`` as black sees it."""
    if score is None:
        return {}
    sign = -1 if turn else 1
    if is_mate(score):
        return {"mate": sign * mate_distance(score)}
    return {"score": sign * score}


def _source(report: GameReport, number: int) -> dict[str, Any]:
    game = report.game
    facts = {"path": game.file, "ply": number, "blackPlayer": game.names[0], "whitePlayer": game.names[1]}
    return {**facts, **({"date": game.date} if game.date else {})}
