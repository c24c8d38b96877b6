"""Elo, intervals and the SPRT against known values and by simulation."""

from __future__ import annotations

import math
import random

import pytest

from lab.match.statistics import (
    PAIR_SCORES,
    Sprt,
    Tally,
    Verdict,
    elo_of,
    score_of,
    strength,
    tally,
)


def test_elo_and_score_are_inverse() -> None:
    assert elo_of(0.5) == 0
    assert elo_of(0.75) == pytest.approx(190.85, abs=0.01)
    assert score_of(400) == pytest.approx(10 / 11)
    assert (elo_of(0), elo_of(1)) == (-math.inf, math.inf)
    for elo in (-600, -3.5, 0, 12, 470):
        assert elo_of(score_of(elo)) == pytest.approx(elo)


def test_tally_pairs_games_up() -> None:
    counted = tally([(1, 1.0), (1, 1.0), (2, 0.5), (3, 0.0), (2, 1.0), (4, 0.0), (3, 0.0), (5, 1.0), (5, 0.0)])
    assert (counted.wins, counted.draws, counted.losses) == (4, 1, 4)
    assert counted.pairs == (1, 0, 1, 1, 1), "pair 4 is not finished"
    with pytest.raises(ValueError, match="pair 1 has 3 games"):
        tally([(1, 1.0), (1, 0.0), (1, 0.5)])
    with pytest.raises(ValueError, match="not 2"):
        tally([(1, 2.0)])


def test_strength_of_an_even_match() -> None:
    even = strength(Tally(10, 0, 10, (2, 0, 6, 0, 2)))
    assert even.elo == 0
    assert even.superiority == 0.5
    assert even.low == pytest.approx(-even.high)


def test_pairs_that_cancel_out_narrow_the_interval() -> None:
    """Openings that one colour always wins are no information, and the pair statistics show it."""
    apart = strength(Tally(20, 0, 20))
    paired = strength(Tally(20, 0, 20, (1, 0, 18, 0, 1)))
    assert paired.high < apart.high / 2


def test_lopsided_results_keep_a_finite_end() -> None:
    swept = strength(Tally(40, 0, 0, (0, 0, 0, 0, 20)))
    assert swept.elo == math.inf
    assert 350 < swept.low < 450
    assert swept.high == math.inf
    assert swept.superiority > 0.999999
    nearly = strength(Tally(39, 0, 1, (0, 0, 1, 0, 19)))
    assert nearly.low < nearly.elo < nearly.high < math.inf
    lost = strength(Tally(0, 0, 2, (1, 0, 0, 0, 0)))
    assert (lost.elo, lost.low) == (-math.inf, -math.inf)
    drawn = strength(Tally(0, 4, 0, (0, 0, 2, 0, 0)))
    assert (drawn.elo, drawn.superiority) == (0, 0.5)
    assert strength(Tally()).superiority == 0.5


def test_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    rng = random.Random(4)
    hits = 0
    for _ in range(400):
        points = [(pair, float(rng.random() < 0.7)) for pair in range(50) for _ in range(2)]
        measured = strength(tally(points))
        hits += measured.low <= elo_of(0.7) <= measured.high
    assert 0.92 <= hits / 400 <= 0.98


def test_llr_agrees_with_the_normal_approximation_on_a_large_sample() -> None:
    """The approximation is (s1 - s0) (2 mean - s0 - s1) N / (2 variance), good for small differences of Elo."""
    pairs = (300, 2400, 5000, 2700, 400)
    count = sum(pairs)
    mean = sum(n * s for n, s in zip(pairs, PAIR_SCORES, strict=True)) / count
    variance = sum(n * (s - mean) ** 2 for n, s in zip(pairs, PAIR_SCORES, strict=True)) / count
    low, high = score_of(0), score_of(4)
    expected = (high - low) * (2 * mean - low - high) * count / (2 * variance)
    assert Sprt(0, 4).llr(pairs) == pytest.approx(expected, rel=0.02)


def test_a_sweep_is_decided_soon_and_not_at_once() -> None:
    test = Sprt(0, 50)
    assert test.verdict((0, 0, 0, 0, 5)) is Verdict.OPEN
    assert test.verdict((0, 0, 0, 0, 30)) is Verdict.H1
    assert test.verdict((30, 0, 0, 0, 0)) is Verdict.H0
    assert test.verdict((0, 0, 1, 0, 49)) is Verdict.H1
    assert test.llr((0, 0, 0, 0, 0)) == 0


@pytest.mark.parametrize(("elo", "wrong"), [(0.0, Verdict.H1), (60.0, Verdict.H0)])
def test_error_rates_are_those_asked_for(elo: float, wrong: Verdict) -> None:
    rng = random.Random(7)
    test = Sprt(0, 60, 0.1, 0.1)
    errors = 0
    for _ in range(150):
        counts = [0] * 5
        while (verdict := test.verdict(counts)) is Verdict.OPEN:
            counts[sum(2 * (rng.random() < score_of(elo)) for _ in range(2))] += 1
        errors += verdict is wrong
    assert errors / 150 < 0.16


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((5, 5), "elo0"),
        ((0, 5, 0.5), "alpha"),
        ((0, 5, 0.1, 0), "beta"),
        ((0, 10_000), "elo1"),
        ((-math.inf, 5), "elo0"),
    ],
)
def test_senseless_tests_are_refused(values: tuple[float, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Sprt(*values)
