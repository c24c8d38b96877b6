"""The loop's order of steps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from master.learning.ledger import Done, Kind, Ledger
from master.learning.plan import Step, next_step
from master.learning.recipe import Opponent, Recipe
from tests.master.learning.ledgers import RESULTS, match, with_generation, with_match

EMPTY = Ledger("0" * 64)
RECIPE = Recipe(opponents=(Opponent("other", "other.bin"),))


def run_all(ledger: Ledger, recipe: Recipe, generations: int, verdict: str) -> tuple[Ledger, list[str]]:
    """Take every step at once; the ledger after them, and the steps."""
    taken = []
    while (step := next_step(ledger, recipe, generations)) is not None:
        taken.append(str(step))
        assert len(taken) < 100
        result = RESULTS.get(step.kind) or match(30, 20, verdict if step.kind is Kind.GATE else None)
        done = Done(step.kind, step.opponent, (), 1.0, result)
        ledger = ledger.begun(step.number).with_step(step.number, done)
    return ledger, taken


def test_each_generation_goes_through_all_steps() -> None:
    ledger, taken = run_all(EMPTY, RECIPE, 2, "H1")
    steps = ["games", "train", "compare", "gate", "match against generation-0", "match against other"]
    assert taken == [f"generation {number}: {step}" for number in (1, 2) for step in steps]
    assert [one.teacher for one in ledger.generations] == [0, 1] and ledger.best == 2


def test_a_net_that_the_gate_refuses_plays_no_match_and_teaches_nobody() -> None:
    ledger, taken = run_all(EMPTY, RECIPE, 3, "H0")
    assert len(taken) == 12 and not any("match" in step for step in taken)
    assert [one.teacher for one in ledger.generations] == [0, 0, 0] and ledger.best == 0


def test_an_opponent_that_comes_later_meets_earlier_nets_too() -> None:
    ledger, _ = run_all(EMPTY, Recipe(), 2, "H1")
    assert next_step(ledger, Recipe(), 2) is None
    assert next_step(ledger, RECIPE, 2) == Step(1, Kind.MATCH, "other")
    assert next_step(with_match(ledger, 1, "other"), RECIPE, 2) == Step(2, Kind.MATCH, "other")


def test_fewer_generations_than_are_there_leave_the_last_one_no_half_thing() -> None:
    ledger = with_generation(with_generation(EMPTY, verdict="H0"), upto=Kind.TRAIN)
    assert next_step(ledger, RECIPE, 1) == Step(2, Kind.COMPARE)


def test_no_matches_where_none_are_wanted() -> None:
    assert next_step(with_generation(EMPTY), replace(RECIPE, match_games=0), 1) is None


@pytest.mark.parametrize(
    ("verdict", "los", "promoted"),
    [("H1", 0.9, True), ("H0", 0.99, False), ("open", 0.96, True), ("open", 0.94, False)],
)
def test_the_gate(verdict: str, los: float, promoted: bool) -> None:
    ledger = with_generation(EMPTY, verdict=verdict, los=los)
    assert ledger.generations[0].promoted is promoted and ledger.best == int(promoted)
    assert with_generation(EMPTY, upto=Kind.COMPARE).generations[0].promoted is None
