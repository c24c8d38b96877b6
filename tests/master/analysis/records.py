"""Records for the tests of the analysis, and searchers with prepared answers."""

from __future__ import annotations

from collections.abc import Mapping

from master.analysis.game import RecordedGame, parse_games
from master.analysis.plan import Evaluation, Point, plan, searches
from master.analysis.report import GameReport, report

CSA = """V2.2
N+anna
N-bert & <son>
$EVENT:cup
PI
+
+7776FU
T3
'** 30 -3334FU
-3334FU
T12
'** -40 +2726FU
+8822UM
T1
-3122GI
T2
%TORYO
"""
MATE = """V2.2
N+anna
N-bert
P-11OU
P+13FU59OU
P+00KI00KI
+
+0012KI
%TSUMI
"""


def game(text: str = CSA, name: str = "game.csa") -> RecordedGame:
    (only,) = parse_games(text.encode(), name)
    return only


def evaluated(
    of: RecordedGame, scores: Mapping[int, Evaluation]
) -> tuple[tuple[Point, ...], dict[tuple[str, ...], Evaluation]]:
    """The plan of a game, and an evaluation of each search by the number of moves before it; otherwise 0 and 7g7f."""
    points = plan(of)
    other = Evaluation(0, "1g1f", ("1g1f",), 8, 1000)
    return points, {moves: scores.get(len(moves), other) for moves in searches(points)}


def blunder_report(*, again: bool = False) -> GameReport:
    """`CSA`, in which the second move (3c3d) throws the game away, and all others are the best.

    Args:
        again: it was searched again, with the same result.
    """
    of = game()
    points, found = evaluated(
        of,
        {
            0: Evaluation(40, "7g7f", ("7g7f", "8c8d"), 9, 1000),
            1: Evaluation(-30, "8c8d", ("8c8d", "2g2f"), 9, 1000),
            2: Evaluation(1500, "8h2b+", ("8h2b+", "3a2b"), 9, 1000),
            3: Evaluation(-1500, "3a2b", ("3a2b",), 9, 1000),
            4: Evaluation(1480, "B*4e", ("B*4e",), 9, 1000),
        },
    )
    second = {moves: one for moves, one in found.items() if len(moves) in (1, 2)} if again else None
    return report(of, points, found, None, second)
