"""When histories are exchanged, and how many values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.sharing.histories import LATEST_S, HistoryRounds
from cluster.sharing.table import CHANGE_BYTES
from tests.cluster.sharers import DictTable
from worker.engine import HistoryChanges

ROUND_S = 0.03


def changes(value: int) -> HistoryChanges:
    return HistoryChanges(np.array([1], np.uint32), np.array([value], np.int16))


def exchanging() -> tuple[DictTable, HistoryRounds]:
    table = DictTable()
    table.share_histories(True)
    return table, HistoryRounds(table)


def times_of(began: float, rounds: int) -> list[float]:
    """Seconds after ``began`` at which changes go out."""
    table, histories = exchanging()
    found = []
    for number in range(1, rounds + 1):
        table.change(np.arange(5), number)
        now = began + ROUND_S * number
        if len(histories.exchange(now, began, 1e6).places):
            found.append(now - began)
    return found


def test_often_at_first_and_four_times_a_second_later() -> None:
    times = times_of(1000.0, 400)
    assert times[:4] == pytest.approx([0.03, 0.06, 0.12, 0.24])
    gaps = np.diff(times)
    assert gaps.max() <= LATEST_S + ROUND_S + 1e-9
    assert gaps[4:].min() >= LATEST_S - 1e-9


def test_a_new_search_begins_at_once() -> None:
    table, histories = exchanging()
    histories.exchange(1010.0, 1000.0, 1e6)
    table.change(np.arange(5), 1)
    assert len(histories.exchange(1010.1, 1000.0, 1e6).places) == 0
    assert len(histories.exchange(1010.1, 1010.07, 1e6).places) == 5


def test_what_was_heard_is_taken_over_at_the_next_exchange() -> None:
    table, histories = exchanging()
    histories.exchange(1010.0, 1000.0, 1e6)
    histories.hear(changes(7))
    histories.hear(changes(8))
    histories.exchange(1010.1, 1000.0, 1e6)
    assert table.values == {}
    histories.exchange(1010.3, 1000.0, 0.0)
    assert table.values == {1: 8}, "even if nobody listens"
    histories.hear(changes(9))
    histories.exchange(1010.6, 1000.0, 1e6)
    assert table.values == {1: 9}


@given(
    limit=st.floats(100, 1e7),
    steps=st.lists(st.tuples(st.floats(0.001, 0.5), st.integers(0, 20_000)), min_size=1, max_size=50),
)
def test_no_more_is_sent_than_the_rate_allows(limit: float, steps: list[tuple[float, int]]) -> None:
    table, histories = exchanging()
    times = itertools.accumulate(seconds for seconds, _ in steps)
    sent, now = 0, 0.0
    for now, (_, count) in zip(times, steps, strict=True):
        table.change(np.arange(count), 3)
        sent += len(histories.exchange(1000 + now, 1000.0, limit).places)
    assert sent * CHANGE_BYTES <= limit * (now + LATEST_S) + 1, "a quarter of a second may be saved up"
