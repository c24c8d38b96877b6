"""Exchange of shared histories: the changes that are found, and the means that are taken over."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.training import generation0
from worker.engine import HistoryChanges, Limits
from worker.nnue import Network
from worker.search.engine import NumbaEngine
from worker.search.history_exchange import HistoryExchange
from worker.search.state import MARK_SHIFT, SHARED_LIMITS, SHARED_SIZES, Histories, shared_histories, starts
from worker.shogi import STARTPOS

COUNT = sum(SHARED_SIZES.values())
EDGES = [edge for start in starts(SHARED_SIZES).values() for edge in (start - 1, start) if edge >= 0] + [COUNT - 1]
PLACES = st.sampled_from(EDGES) | st.integers(0, COUNT - 1) | st.integers(1000, 1100)
ALL = 1 << 18
Nodes = list[tuple[Histories, HistoryExchange]]


@pytest.fixture(scope="module")
def nodes() -> Nodes:
    """Three for all tests, because each has 148 MB. No test relies on what is in them."""
    return [(tables, HistoryExchange(tables)) for tables in (shared_histories() for _ in range(3))]


def limit_at(place: int) -> int:
    return next(
        SHARED_LIMITS[name] for name, start in starts(SHARED_SIZES).items() if place < start + SHARED_SIZES[name]
    )


def learn(tables: Histories, place: int, value: int) -> None:
    """Do what a search does."""
    tables.values[place] = value
    tables.marks[2 * place >> MARK_SHIFT] = 1


def engine() -> NumbaEngine:
    return NumbaEngine(hash_mb=16, network=Network(generation0.build()))


def values_of(engine: NumbaEngine) -> npt.NDArray[np.int16]:
    return engine._histories.values


def search(engine: NumbaEngine, nodes: int) -> None:
    engine.set_position(STARTPOS)
    engine.go(Limits(nodes=nodes))


@given(changed=st.lists(st.dictionaries(PLACES, st.integers(-1000, 1000), max_size=40), min_size=2, max_size=3))
def test_all_have_the_mean_of_those_that_changed_a_value(nodes: Nodes, changed: list[dict[int, int]]) -> None:
    nodes = nodes[: len(changed)]
    places = sorted(set().union(*changed))
    for tables, exchange in nodes:
        tables.values[places] = 7
        exchange.forget()
    for (tables, _), own in zip(nodes, changed, strict=True):
        for place, value in own.items():
            learn(tables, place, value)
    told = [exchange.take(ALL) for _, exchange in nodes]
    for one, own in zip(told, changed, strict=True):
        expected = {place: value for place, value in own.items() if value != 7}
        assert dict(zip(one.places.tolist(), one.values.tolist(), strict=True)) == expected
        assert one.places.tolist() == sorted(expected)
    for number, (_, exchange) in enumerate(nodes):
        exchange.absorb([one for other, one in enumerate(told) if other != number])
    for place in places:
        found = [own[place] for own in changed if own.get(place, 7) != 7] or [7]
        mean = sum(found) / len(found)
        assert {int(tables.values[place]) for tables, _ in nodes} == {round(mean)}
    assert all(len(exchange.take(ALL).places) == 0 for _, exchange in nodes), "a mean is no change"


def test_messages_that_cross_lead_to_one_mean(nodes: Nodes) -> None:
    """Nodes exchange at different times: the second told before it heard the first."""
    place = 1234
    (first_tables, first), (second_tables, second) = nodes[:2]
    for tables, exchange in nodes[:2]:
        tables.values[place] = 0
        exchange.forget()
    learn(first_tables, place, 100)
    from_first = first.take(ALL)
    learn(second_tables, place, 200)
    from_second = second.take(ALL)
    second.absorb([from_first])
    assert len(first.take(ALL).places) == 0
    first.absorb([from_second])
    assert first_tables.values[place] == second_tables.values[place] == 150
    learn(second_tables, place, 400)
    told = second.take(ALL)
    first.take(ALL)
    first.absorb([told])
    assert first_tables.values[place] == 400, "it has not changed it again"


@given(
    # Another node may send values beyond the limits.
    changed=st.dictionaries(PLACES, st.integers(-1000, 1000) | st.integers(-32767, 32767), min_size=1, max_size=60),
    most=st.integers(0, 20),
)
def test_the_largest_changes_for_their_table_come_first(nodes: Nodes, changed: dict[int, int], most: int) -> None:
    tables, exchange = nodes[0]
    tables.values[list(changed)] = 0
    exchange.forget()
    for place, value in changed.items():
        learn(tables, place, value)
    changed = {place: value for place, value in changed.items() if value}
    sizes = {place: min(abs(value) * 4096 // limit_at(place), 8192) for place, value in changed.items()}
    taken = exchange.take(most)
    assert len(taken.places) == min(most, len(changed))
    left = sizes.keys() - set(taken.places.tolist())
    assert not left or not len(taken.places) or max(sizes[p] for p in left) <= min(sizes[p] for p in taken.places)
    for place in left:  # learning again in a block brings out what waits in it
        learn(tables, place, changed[place])
    rest = exchange.take(ALL).places.tolist()
    assert rest == sorted(left)


def test_every_change_of_a_search_is_found() -> None:
    ours, theirs = engine(), engine()
    for one in (ours, theirs):
        one.share_histories(True)
    for nodes in (300, 3000, 20_000):
        before = values_of(ours).copy()
        search(ours, nodes)
        changes = ours.take_changes(ALL)
        assert np.array_equal(changes.places, np.flatnonzero(values_of(ours) != before))
        assert len(changes.places) > nodes // 20
        theirs.absorb_changes([changes])
        assert np.array_equal(values_of(ours), values_of(theirs))


def test_places_outside_the_tables_are_left_out(nodes: Nodes) -> None:
    tables, exchange = nodes[0]
    exchange.forget()
    places = np.array([5, COUNT - 1, COUNT, 2**31, 2**32 - 1], np.uint32)
    exchange.absorb([HistoryChanges(places, np.full(5, 77, np.int16))])
    assert tables.values[5] == tables.values[COUNT - 1] == 77


def test_nothing_is_exchanged_unless_it_is_wanted() -> None:
    ours = engine()
    told = HistoryChanges(np.array([9], np.uint32), np.array([123], np.int16))

    def noted() -> Sequence[int]:
        search(ours, 2000)
        return ours.take_changes(ALL).places

    assert len(noted()) == 0
    ours.absorb_changes([told])
    assert values_of(ours)[9] != 123
    ours.share_histories(True)
    assert len(noted()) > 100
    ours.absorb_changes([told])
    assert values_of(ours)[9] == 123
    ours.share_histories(False)
    assert len(noted()) == 0
    before = values_of(ours).copy()
    ours.share_histories(True)
    search(ours, 2000)
    assert np.array_equal(ours.take_changes(ALL).places, np.flatnonzero(values_of(ours) != before)), "from then on"


def test_a_new_game_is_no_change() -> None:
    ours = engine()
    ours.share_histories(True)
    search(ours, 2000)
    ours.new_game()
    assert len(ours.take_changes(ALL).places) == 0
    search(ours, 2000)
    assert len(ours.take_changes(ALL).places) > 100
