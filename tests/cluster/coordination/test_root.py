"""The root: legal moves, and the check of variations that others send."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cluster.api import SearchRequest
from cluster.coordination.root import Root, check_request
from tests.cluster.coordination.bench import DECLARABLE
from worker.rules import EnteringKingRule
from worker.shogi import STARTPOS


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
    for _ in range(2):  # the second time from the cache
        assert start.legal_part(pv) == pv[:length]
    assert start.legal_part(("2g2f",)) == ("2g2f",)


def test_a_game_without_the_rule_knows_no_declaration() -> None:
    (move, *_) = Root(SearchRequest(1, DECLARABLE)).legal
    request = SearchRequest(1, DECLARABLE)
    assert Root(request).may_declare
    other = Root(replace(request, entering=EnteringKingRule.NONE))
    assert not other.may_declare
    assert other.replies((move,))


def test_the_rule_of_handicap_games() -> None:
    """White lacks a rook and a bishop, and has 17 points."""
    request = SearchRequest(1, "4K4/9/9/9/9/9/pppppp3/9/2sgkgs2 w RB2G2S4N4L5P7p 1")
    assert not Root(request).may_declare
    assert Root(replace(request, entering=EnteringKingRule.CSA_27H)).may_declare


def test_searchmoves_are_all_there_is_to_choose_from() -> None:
    start = Root(SearchRequest(1, STARTPOS, searchmoves=("2g2f", "7g7f")))
    assert set(start.legal) == {"2g2f", "7g7f"}
    assert start.replies(()) == start.legal
    assert start.legal_part(("2g2f", "3c3d")) == ("2g2f", "3c3d")
    assert start.legal_part(("6g6f",)) == ()
    with pytest.raises(ValueError, match="7g7e"):
        Root(SearchRequest(1, STARTPOS, searchmoves=("7g7e",)))


def test_a_draw_is_worth_the_same_to_both_in_the_whole_tree() -> None:
    black = SearchRequest(1, STARTPOS, draw_black=-90, draw_white=40)
    assert Root(black).draw_values == (-90, 90)
    assert Root(replace(black, moves=("7g7f",))).draw_values == (-40, 40)


def test_nothing_is_to_be_found_beyond_the_move_limit() -> None:
    start = Root(SearchRequest(1, STARTPOS, max_moves=2))
    assert start.replies(("7g7f",))
    assert start.replies(("7g7f", "3c3d")) == ()


@pytest.mark.parametrize("field", ["multipv", "max_moves", "draw_black", "draw_white"])
def test_numbers_out_of_range_are_named(field: str) -> None:
    wrong = replace(SearchRequest(1, STARTPOS), **{field: 10**6 if field != "multipv" else 0})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"{field} is"):
        check_request(wrong, 0)


def test_a_position_that_is_not_legal_is_refused() -> None:
    with pytest.raises(ValueError, match="9"):
        root("9/9/9 b - 1")
    with pytest.raises(ValueError, match="move 2"):
        root(STARTPOS, "7g7f", "7g7f")
