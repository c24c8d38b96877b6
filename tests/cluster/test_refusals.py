"""Refusals in the log: all kinds of them, and no flood."""

from __future__ import annotations

from cluster.refusals import MOST, SPAN_MS, Refusals


def test_the_same_words_are_told_once_in_a_span() -> None:
    refusals = Refusals()
    said = [refusals.refused("no key", now) for now in range(0, SPAN_MS, 100)]
    assert said[0] == ("no key",) and set(said[1:]) == {()}
    assert refusals.refused("no key", SPAN_MS) == (f"{len(said) - 1} more in 10 s", "no key")


def test_words_that_always_differ_do_not_fill_the_log() -> None:
    """As a node's depth that grows beyond what a report may hold."""
    refusals = Refusals()
    said = [words for number in range(5000) for words in refusals.refused(f"depth {number}", number)]
    assert said == [f"depth {number}" for number in range(MOST)]
    assert refusals.refused("other", 2 * SPAN_MS) == (f"{5000 - MOST} more in 20 s", "other")
    assert refusals.refused("third", 4 * SPAN_MS) == ("third",)
