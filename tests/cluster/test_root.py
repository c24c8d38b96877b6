"""The root: legal moves, and the check of variations from elsewhere."""

from __future__ import annotations

import pytest

from cluster.api import SearchRequest
from cluster.root import Root
from worker.engine import STARTPOS


def root(sfen: str = STARTPOS, *moves: str) -> Root:
    return Root(SearchRequest(1, sfen, moves))


def test_legal_moves() -> None:
    assert len(root().legal) == 30
    assert "3c3d" in root(STARTPOS, "7g7f").legal
    assert not root().may_declare


@pytest.mark.parametrize(
    ("pv", "length"),
    [
        (("7g7f", "3c3d", "8h2b+"), 3),
        (("7g7f", "7g7f"), 1),
        (("7g7f", "hello", "3c3d"), 1),
        (("7g7e",), 0),
        (("",), 0),
        ((), 0),
    ],
)
def test_variations_end_at_the_first_illegal_move(pv: tuple[str, ...], length: int) -> None:
    start = root()
    for _ in range(2):  # the second time from the memory
        assert start.legal_part(pv) == pv[:length]
    assert start.legal_part(("2g2f",)) == ("2g2f",)


def test_a_position_that_is_not_legal_is_refused() -> None:
    with pytest.raises(ValueError, match="9"):
        root("9/9/9 b - 1")
    with pytest.raises(ValueError, match="move 2"):
        root(STARTPOS, "7g7f", "7g7f")
