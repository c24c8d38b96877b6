"""The score and the depth that a search reached, by the lines that its engine showed."""

from __future__ import annotations

import pytest

from lab.match.match_engine import reached

EXACT = "info depth 3 score cp 10 nodes 100 pv 2g2f"


@pytest.mark.parametrize(
    ("exact", "last", "score", "depth"),
    [
        ("", "", None, 0),
        (EXACT, EXACT, 10, 3),
        (EXACT, "info depth 4 score cp 9999 lowerbound nodes 120 pv 1g1f", 10, 3),
        (EXACT, "info depth 14 score cp 46 lowerbound nodes 100000 pv 6g6f", 46, 13),
        ("", "info depth 2 score cp -70 upperbound nodes 90 pv 6g6f", -70, 1),
    ],
)
def test_a_bound_says_what_the_depth_before_it_reached(exact: str, last: str, score: int | None, depth: int) -> None:
    assert reached(exact, last) == (score, depth)
