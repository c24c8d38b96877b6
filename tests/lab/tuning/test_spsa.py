"""The tuner: its gains, ranges and order of results, and that it finds the optimum."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from lab.tuning.spsa import Pair, Parameter, Spsa, SpsaError, SpsaSettings

PARAMETERS = (Parameter("A", 60, 0, 200, 10), Parameter("B", -20, -100, 100, 5), Parameter("C", 3, 0, 8, 0.5))
BEST = (100.0, 30.0, 5.0)


def settings(iterations: int = 400, **changes: float) -> SpsaSettings:
    return SpsaSettings(PARAMETERS, iterations, **changes)  # type: ignore[arg-type]


def noisy(k: int, pair: Pair) -> float:
    """Points of a match of two games: the vector nearer to `BEST` wins more often."""

    def loss(vector: tuple[int, ...]) -> float:
        return sum(((v - b) / (8 * p.step)) ** 2 for v, b, p in zip(vector, BEST, PARAMETERS, strict=True))

    chance = 0.5 + max(-0.45, min(0.45, (loss(pair.minus) - loss(pair.plus)) / 4))
    rng = random.Random(k)
    return sum(1 if rng.random() < chance else -1 for _ in range(2))


def finish(spsa: Spsa, result: Callable[[int, Pair], float] = noisy, order: random.Random | None = None) -> Spsa:
    """Play to the end; the results of the open iterations come in random order."""
    while not spsa.finished:
        waiting = [(k, spsa.suggest(k)) for k in spsa.open()]
        if order is not None:
            order.shuffle(waiting)
        for k, pair in waiting[: max(1, len(waiting) // 2)]:
            spsa.take(k, result(k, pair))
    return spsa


def test_it_finds_the_best_of_a_noisy_bowl() -> None:
    spsa = finish(Spsa(settings(6000, rate=0.02)))
    for value, best, one in zip(spsa.theta, BEST, PARAMETERS, strict=True):
        assert abs(value - best) < 1.5 * one.step
        assert abs(one.start - best) > 3.9 * one.step


def test_signals_tell_effects_from_chance() -> None:
    def by_the_first(k: int, pair: Pair) -> float:
        """Games that the first parameter decides, four times out of five."""
        return random.Random(k).choice((2, 2, 2, 2, -2)) * pair.flips[0]

    assert Spsa(settings()).signals == (0, 0, 0)
    first, second, third = finish(Spsa(settings(rate=0)), by_the_first).signals
    assert first > 10
    assert max(abs(second), abs(third)) < 4
    assert finish(Spsa(settings(3)), lambda _k, _pair: 0.0).signals == (0, 0, 0)


def test_the_gains_are_those_of_their_last_iteration() -> None:
    wanted, one = settings(1000, rate=0.002), PARAMETERS[0]
    assert wanted.perturbation(one, 999) == pytest.approx(10)
    assert wanted.gain(one, 999) == pytest.approx(0.002 * 10)
    assert wanted.perturbation(one, 0) == pytest.approx(10 * 1000**0.101)
    # a_0 = a_end * (1100 / 101) ** 0.602, over c_0
    assert wanted.gain(one, 0) == pytest.approx(0.2 * (1100 / 101) ** 0.602 / (10 * 1000**0.101))


def test_a_win_moves_every_parameter_to_its_side_and_a_draw_none() -> None:
    spsa = Spsa(settings(lag=1))
    flips = spsa.suggest(0).flips
    spsa.take(0, 1.0)
    for value, one, flip in zip(spsa.theta, PARAMETERS, flips, strict=True):
        assert value - one.start == pytest.approx(flip * spsa.settings.gain(one, 0))
    before = spsa.theta
    spsa.take(1, 0.0)
    assert spsa.theta == before


def test_both_vectors_are_whole_on_either_side_and_right_on_the_average() -> None:
    wanted = settings(4000, lag=4000)
    spsa, one = Spsa(wanted), PARAMETERS[2]
    pairs = [spsa.suggest(k) for k in range(4000)]
    for place in range(len(PARAMETERS)):
        assert all(type(value) is int for pair in pairs for value in (pair.plus[place], pair.minus[place]))
        assert {pair.flips[place] for pair in pairs} == {1, -1}
    for start in (0, 2000):
        part = range(start, start + 2000)
        spread = sum((pairs[k].plus[2] - pairs[k].minus[2]) * pairs[k].flips[2] for k in part) / 2000
        assert spread == pytest.approx(sum(2 * wanted.perturbation(one, k) for k in part) / 2000, rel=0.1)


def test_ranges_are_kept_for_any_winner() -> None:
    for sign in (1, -1):
        spsa = Spsa(settings(300, rate=5.0))

        def upwards(_k: int, pair: Pair, sign: int = sign) -> float:
            for vector in (pair.plus, pair.minus):
                assert all(p.low <= v <= p.high for p, v in zip(PARAMETERS, vector, strict=True))
            return sign * 2.0 * pair.flips[0]

        finish(spsa, upwards)
        assert spsa.theta[0] == (200 if sign > 0 else 0)
        assert all(p.low <= v <= p.high for v, p in zip(spsa.theta, PARAMETERS, strict=True))


def test_the_order_in_which_results_come_changes_nothing() -> None:
    one = finish(Spsa(settings()))
    for seed in range(3):
        assert finish(Spsa(settings()), order=random.Random(seed)).path == one.path


def test_a_break_changes_nothing() -> None:
    whole = finish(Spsa(settings()))
    results: dict[int, float] = {}
    first = Spsa(settings())
    while first.taken < 150:
        k = first.open()[-1]  # ahead of missing ones
        if len(first.open()) > 3 and k not in results:
            results[k] = noisy(k, first.suggest(k))
            first.take(k, results[k])
        else:
            k = first.open()[0]
            results[k] = noisy(k, first.suggest(k))
            first.take(k, results[k])
    again = Spsa(settings())
    for k in sorted(results):
        again.take(k, results[k])
    assert again.path == first.path
    assert finish(again).path == whole.path


def test_another_seed_is_another_run() -> None:
    assert Spsa(settings(seed=1)).suggest(0) != Spsa(settings(seed=2)).suggest(0)


def test_only_so_many_are_open_and_each_is_taken_once() -> None:
    spsa = Spsa(settings(lag=3))
    assert spsa.open() == [0, 1, 2]
    spsa.take(1, 1)
    assert spsa.open() == [0, 2] and spsa.taken == 0
    for k in (1, 3, -1):
        with pytest.raises(SpsaError):
            spsa.take(k, 1)
    with pytest.raises(SpsaError, match="cannot be played yet"):
        spsa.suggest(3)
    spsa.take(0, 1)
    assert (spsa.taken, spsa.open()) == (2, [2, 3, 4])
    with pytest.raises(SpsaError, match="a result of nan"):
        spsa.take(2, float("nan"))


def test_settings_that_cannot_be_are_named() -> None:
    with pytest.raises(SpsaError, match="A is 60"):
        Parameter("A", 60, 61, 90, 1)
    with pytest.raises(SpsaError, match="a step of 0"):
        Parameter("A", 60, 0, 90, 0)
    for words, changes in (("iterations is 0", {"iterations": 0}), ("lag is 0", {"lag": 0}), ("rate", {"rate": -1})):
        with pytest.raises(SpsaError, match=words):
            settings(**changes)  # type: ignore[arg-type]
    with pytest.raises(SpsaError, match="nothing"):
        SpsaSettings((), 5)
    with pytest.raises(SpsaError, match="twice"):
        SpsaSettings((PARAMETERS[0], PARAMETERS[0]), 5)
