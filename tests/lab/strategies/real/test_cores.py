"""The cores of each player, and requests that do not fit the machine."""

from __future__ import annotations

import pytest

from lab.strategies.real.cores import Seat, Seating, parse_cores, words
from lab.strategies.schedule import Point
from lab.strategies.settings import LabError, Opponent

SIXTEEN = tuple(range(16))


def seating(
    *nodes: int, cores: tuple[int, ...] = SIXTEEN, slots: int = 1, against: str = "1x", **more: bool
) -> Seating:
    return Seating(cores, slots, tuple(Point("split", many) for many in nodes), Opponent.parse(against), **more)


@pytest.mark.parametrize(
    ("text", "cores"), [("", (0, 1, 2, 5)), ("0-2", (0, 1, 2)), (" 5 , 0-1", (5, 0, 1)), ("2", (2,))]
)
def test_lists_of_cores(text: str, cores: tuple[int, ...]) -> None:
    assert parse_cores(text, {5, 2, 1, 0}) == cores


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0-3", "core 3 is not there for us; there are 0-2,5"),
        ("1-0", "0 is before 1"),
        ("0,0-1", "core 0 twice"),
        ("a", "'a': expected a list such as 0-3,8"),
        ("0,,1", "'': expected a list"),
        ("-1", "'-1': expected a list"),
    ],
)
def test_no_such_cores(text: str, says: str) -> None:
    with pytest.raises(LabError, match=says):
        parse_cores(text, {5, 2, 1, 0})


def test_cores_in_words() -> None:
    assert words((0, 1, 2, 3, 8, 10, 11)) == "0-3,8,10-11"
    assert words(()) == ""


def test_both_sides_are_on_as_many_cores_as_the_larger_one_has_nodes() -> None:
    assert seating(2, 8).seat(0, Point("split", 2)) == Seat((0, 1), (0, 1))
    assert seating(2, 8).seat(0, Point("split", 8)) == Seat(SIXTEEN[:8], SIXTEEN[:8])
    assert seating(2, against="consult@4").seat(0, Point("split", 2)) == Seat((0, 1, 2, 3), (0, 1, 2, 3))
    assert seating(2, against="4x").seat(0, Point("split", 2)).all == (0, 1)
    assert seating(2, against="4t").seat(0, Point("split", 2)) == Seat((0, 1, 2, 3), (0, 1, 2, 3))


def test_games_at_a_time_have_cores_of_their_own() -> None:
    three = seating(2, 4, cores=(3, 2, 1, 0, 7, 6, 5, 4, 9, 8, 11, 10, 12), slots=3)
    seats = [three.seat(slot, Point("split", 4)) for slot in range(3)]
    assert [seat.all for seat in seats] == [(0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11)]
    assert three.seat(1, Point("split", 2)).a == (7, 6)


def test_who_ponders_has_cores_of_its_own() -> None:
    ponders = Point("consult+ponder=1", 2)
    found = Seating(SIXTEEN, 1, (ponders,), Opponent.parse("1x"))
    assert found.seat(0, ponders) == Seat((0, 1), (2,))
    assert seating(2, against="consult+ponder=1@3").seat(0, Point("split", 2)) == Seat((0, 1), (2, 3, 4))
    with pytest.raises(LabError, match=r"need 3 cores, for who ponders has cores of its own, there are 2 \(0-1\)"):
        Seating((0, 1), 1, (ponders,), Opponent.parse("1x"))


@pytest.mark.parametrize(
    ("nodes", "slots", "against", "says"),
    [
        ((2, 17), 1, "1x", r"split, 17 nodes against one node need 17 cores, there are 16 \(0-15\): fewer nodes, or"),
        ((2, 8), 3, "1x", "split, 8 nodes and 3 games at a time against one node need 24 cores"),
        ((2,), 1, "split@20", "need 20 cores"),
        ((1,), 17, "1x", "17 games at a time need 17 cores or more"),
    ],
)
def test_what_does_not_fit(nodes: tuple[int, ...], slots: int, against: str, says: str) -> None:
    with pytest.raises(LabError, match=says):
        seating(*nodes, slots=slots, against=against)


def test_more_nodes_than_cores_where_that_is_wanted() -> None:
    found = seating(2, 17, cores=(4, 5, 6), oversubscribe=True)
    assert found.crowded == (Point("split", 17),)
    assert found.seat(0, Point("split", 17)) == Seat((4, 5, 6), (4, 5, 6))
    assert found.seat(0, Point("split", 2)).all == (4, 5)
