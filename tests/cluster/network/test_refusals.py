"""Refusals in the log: all kinds of them, and no flood."""

from __future__ import annotations

from cluster.network.refusals import MOST, SENDERS, SPAN_MS, Refusals


def test_the_same_words_are_told_once_in_a_span() -> None:
    refusals = Refusals()
    said = [refusals.refused("", "no key", now) for now in range(0, SPAN_MS, 100)]
    assert said[0] == ("no key",) and set(said[1:]) == {()}
    assert refusals.refused("", "no key", SPAN_MS) == (f"{len(said) - 1} more within 10 s", "no key")


def test_words_that_always_differ_do_not_fill_the_log() -> None:
    """As a node's depth that grows beyond what a report may hold. What others are refused for is told all the same."""
    refusals = Refusals()
    said = [words for number in range(5000) for words in refusals.refused("node-1", f"depth {number}", number)]
    assert said == [f"node-1: depth {number}" for number in range(MOST)]
    assert refusals.refused("node-2", "depth -1", 5000) == ("node-2: depth -1",)
    assert refusals.refused("", "no key", 5001) == ("no key",)


def test_senders_that_always_differ_do_not_fill_it_either() -> None:
    refusals = Refusals()
    said = [words for number in range(1000) for words in refusals.refused(f"node-{number}", "no", number)]
    assert len(said) == SENDERS


def test_the_rest_is_told_when_the_span_is_over_though_nothing_more_is_refused() -> None:
    refusals = Refusals()
    for now in range(3):
        refusals.refused("", "no key", now)
    assert refusals.look(SPAN_MS - 1) == ()
    assert refusals.look(5 * SPAN_MS) == ("2 more within 10 s",)
    assert refusals.look(9 * SPAN_MS) == ()
    assert refusals.refused("", "no key", 9 * SPAN_MS) == ("no key",)
