"""The next step of a run, and its command."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

import pytest

from lab.learning.ledger import Done, Kind, Ledger
from lab.learning.recipe import Opponent, Recipe, RecipeError, Step, command, next_step
from tests.lab.learning.ledgers import RESULTS, match, with_generation, with_match

RECIPE = Recipe(
    games=(100, 200), nodes=(300, 400), epochs=(5, 2.5), processes=2,
    opponents=(Opponent("net", "other/nn.bin"), Opponent("gps", "gpsusi --x")), games_words="--plies 4-6 --hash 2",
)  # fmt: skip
TWO = with_generation(with_generation(Ledger("0" * 64))).begun(3)


def words(
    kind: Kind,
    name: str = "",
    recipe: Recipe = RECIPE,
    ledger: Ledger = TWO,
    number: int = 3,
    present: Container[int] = range(1, 4),
) -> str:
    one = ledger.generation(number)
    assert one is not None
    return " ".join(command(recipe, "run", ledger, one, kind, name, present))


def test_games_are_the_best_nets_at_its_own_scale() -> None:
    assert words(Kind.GAMES) == (
        "selfplay --out run/generation-3/games --net run/nets/generation-2.bin --games 200 --nodes 400 --seed 3 "
        "--processes 2 --plies 4-6 --hash 2 --scale 1869 --json"
    )
    first = words(Kind.GAMES, ledger=Ledger("").begun(1), number=1)
    assert "--net run/nets/generation-0.bin --games 100 --nodes 300 --seed 1" in first and "--scale" not in first
    fleet = words(Kind.GAMES, recipe=replace(RECIPE, address="auto"))
    assert "--address auto" in fleet and "--processes" not in fleet


def test_the_scale_that_a_user_gives_is_for_the_first_net() -> None:
    recipe = replace(RECIPE, games_words="--scale 1000")
    assert "--scale 1000 --json" in words(Kind.GAMES, recipe=recipe, ledger=Ledger("").begun(1), number=1)
    assert words(Kind.GAMES, recipe=recipe).endswith("--scale 1869 --json"), "the last one counts"


def test_a_gate_plays_no_fewer_games_than_the_loop_waits_for() -> None:
    assert words(Kind.GATE, recipe=replace(RECIPE, gate_words="--games 20")).endswith("--games 400 --json")


def test_training_takes_the_window_of_generations() -> None:
    assert words(Kind.TRAIN) == (
        "train --data run/generation-3/games --data run/generation-2/games --out run/generation-3/train --epochs 2.5 "
        "--seed 3 --threads 2 --json"
    )
    assert words(Kind.TRAIN, recipe=replace(RECIPE, window=9)).count("--data") == 3
    assert "--from run/nets/generation-2.bin" in words(Kind.TRAIN, recipe=replace(RECIPE, fresh=False))
    assert words(Kind.TRAIN, present=[3]).count("--data") == 1, "games of another machine are not here"
    first = words(Kind.TRAIN, recipe=replace(RECIPE, fresh=False), ledger=Ledger("").begun(1), number=1)
    assert "--from" not in first
    trained = replace(RECIPE, fresh=False, first_by_hand=False)
    first = words(Kind.TRAIN, recipe=trained, ledger=Ledger("").begun(1), number=1)
    assert "--from run/nets/generation-0.bin" in first


def test_a_sparring_match_gives_positions_for_more_games() -> None:
    recipe = replace(RECIPE, sparring="gpsusi -v", sparring_games=30, sparring_words="--byoyomi 1 -B LimitDepth=4")
    assert words(Kind.SPARRING, recipe=recipe) == (
        "match gougi gpsusi -v --out run/generation-3/sparring -A EvalFile=run/nets/generation-2.bin "
        "-A NodesLimit=10000 --opening-best 6 --seed 3 --concurrency 2 --byoyomi 1 -B LimitDepth=4 --games 30 --json"
    )
    assert words(Kind.FROM_SPARRING, recipe=recipe) == (
        "selfplay --out run/generation-3/from-sparring --net run/nets/generation-2.bin --games 200 --nodes 400 "
        "--seed 3 --processes 2 --plies 4-6 --hash 2 --scale 1869 --openings run/generation-3/sparring --plies 0-4 "
        "--natural 1 --unusual 0 --entering 0 --json"
    )
    assert "from-sparring" not in words(Kind.TRAIN, recipe=recipe)
    made = TWO.with_step(3, Done(Kind.FROM_SPARRING, "", (), 1.0, RESULTS[Kind.FROM_SPARRING]))
    assert words(Kind.TRAIN, recipe=recipe, ledger=made).startswith(
        "train --data run/generation-3/games --data run/generation-3/from-sparring --data run/generation-2/games --out"
    )


def test_several_trainings_differ_by_seed_and_their_mean_goes_on() -> None:
    recipe = replace(RECIPE, train_words=("--lambda 1-0.5", "--horizon 8"))
    assert words(Kind.TRAIN, recipe=recipe).endswith("--seed 3 --threads 2 --lambda 1-0.5 --json")
    second = words(Kind.TRAIN, "2", recipe)
    assert "--out run/generation-3/train-2 " in second
    assert second.endswith("--seed 1003 --threads 2 --horizon 8 --json")
    ledger = TWO
    for name in ("", "2"):
        ledger = ledger.with_step(3, Done(Kind.TRAIN, name, (), 1.0, RESULTS[Kind.TRAIN]))
    mean = "run/generation-3/blend/nn.bin"
    assert words(Kind.BLEND, recipe=recipe, ledger=ledger) == (
        f"net blend run/generation-3/train/nn.bin run/generation-3/train-2/nn.bin --out {mean} --json"
    )
    ledger = ledger.with_step(3, Done(Kind.BLEND, "", (), 1.0, RESULTS[Kind.BLEND]))
    assert mean in words(Kind.COMPARE, ledger=ledger)
    assert f"-A EvalFile={mean} " in words(Kind.GATE, ledger=ledger)


@pytest.mark.parametrize("made", [Kind.TRAIN, Kind.BLEND])
def test_an_attack_network_is_trained_last(made: Kind) -> None:
    trainings = ("", "") if made is Kind.BLEND else ("",)
    recipe = replace(RECIPE, fresh=False, attacks=True, attack_words="--lambda 0.8", train_words=trainings)
    ledger = with_generation(Ledger("0" * 64), upto=made, trainings=len(trainings))
    for wanted, before in ((recipe, Kind.ATTACKS), (replace(recipe, attacks=False), Kind.COMPARE)):
        assert next_step(ledger, replace(wanted, first_by_hand=False), 1) == Step(1, before)
    net = f"run/generation-1/{made.value}/nn.bin"
    assert words(Kind.ATTACKS, recipe=recipe, ledger=ledger, number=1) == (
        f"net attacks {net} --data run/generation-1/games --out run/generation-1/attacks/nn.bin --scale 1869 "
        "--lambda 0.8 --json"
    )
    ledger = ledger.with_step(1, Done(Kind.ATTACKS, "", (), 1.0, RESULTS[Kind.ATTACKS]))
    assert next_step(ledger, replace(recipe, first_by_hand=False), 1) == Step(1, Kind.COMPARE)
    assert "-A EvalFile=run/generation-1/attacks/nn.bin " in words(Kind.GATE, ledger=ledger, number=1)
    assert ledger.generations[0].sha256 == "a" * 64


def test_gate_and_matches_name_their_players() -> None:
    gate = words(Kind.GATE)
    assert "--name-a generation-3 --name-b generation-2" in gate and "--sprt 0,20" in gate
    assert "-A EvalFile=run/generation-3/train/nn.bin -B EvalFile=run/nets/generation-2.bin" in gate
    assert "match gougi gougi --name-a generation-3 --name-b net" in words(Kind.MATCH, "net@5000")
    assert "-B EvalFile=other/nn.bin" in words(Kind.MATCH, "net@5000")
    assert "match gougi gpsusi --x --name-a generation-3 --name-b gps -A" in words(Kind.MATCH, "gps@5000")
    assert "-B EvalFile=run/nets/generation-0.bin" in words(Kind.MATCH, "generation-0@5000")


def test_gate_and_matches_are_played_from_natural_openings_at_their_nodes() -> None:
    recipe = replace(RECIPE, match_nodes=(5000, 20_000))
    assert "--nodes 20000 --sprt 0,20 --openings natural" in words(Kind.GATE, recipe=recipe)
    assert recipe.matches == ("generation-0@5000", "net@5000", "net@20000", "gps@5000", "gps@20000")
    assert "--nodes 20000 --games 200 --openings natural" in words(Kind.MATCH, "net@20000", recipe)
    assert "--out run/generation-3/against-net@20000" in words(Kind.MATCH, "net@20000", recipe)
    assert "--openings other.txt" in words(Kind.MATCH, "net@5000", replace(RECIPE, openings="other.txt"))
    assert replace(RECIPE, match_games=0).matches == ()


def test_options_in_quotes_that_do_not_close_are_named() -> None:
    with pytest.raises(RecipeError, match="--games-options"):
        words(Kind.GAMES, recipe=replace(RECIPE, games_words="--plies '4"))


@pytest.mark.parametrize("text", ["x", "=y", "x=", "a b=y", "../x=y", "generation-0=y"])
def test_opponents_that_are_none(text: str) -> None:
    with pytest.raises(RecipeError, match="--against"):
        Opponent.parse(text)
    assert Opponent.parse("gps=gpsusi -v x=y") == Opponent("gps", "gpsusi -v x=y")


EMPTY = Ledger("0" * 64)
NO_MATCHES = Recipe(match_games=0)
PLAN = Recipe(opponents=(Opponent("other", "other.bin"),), match_nodes=(5000, 20_000))


def run_all(ledger: Ledger, recipe: Recipe, generations: int, verdict: str) -> tuple[Ledger, list[str]]:
    """Take all steps; returns the ledger after them, and the steps."""
    taken = []
    while (step := next_step(ledger, recipe, generations)) is not None:
        taken.append(str(step))
        assert len(taken) < 100
        result = RESULTS.get(step.kind) or match(30, 20, verdict if step.kind is Kind.GATE else None)
        done = Done(step.kind, step.name, (), 1.0, result)
        ledger = ledger.begun(step.number).with_step(step.number, done)
    return ledger, taken


def test_each_generation_goes_through_all_steps() -> None:
    ledger, taken = run_all(EMPTY, PLAN, 2, "H1")
    steps = ["games", "train", "compare", "gate", "match against generation-0@5000"]
    steps += ["match against other@5000", "match against other@20000"]
    assert taken == [f"generation {number}: {step}" for number in (1, 2) for step in steps]
    assert [one.teacher for one in ledger.generations] == [0, 1] and ledger.best == 2


def test_a_net_that_the_gate_refuses_plays_no_match_and_teaches_nobody() -> None:
    ledger, taken = run_all(EMPTY, PLAN, 3, "H0")
    assert len(taken) == 12 and not any("match" in step for step in taken)
    assert [one.teacher for one in ledger.generations] == [0, 0, 0] and ledger.best == 0


def test_an_undecided_gate_continues_if_it_may_have_more_games() -> None:
    ledger = with_generation(EMPTY, verdict="open", los=0.9)  # 50 games
    as_it_was, more = (Recipe(match_games=0, gate_games=games) for games in (50, 400))
    here = frozenset({1})
    assert next_step(ledger, as_it_was, 1, here) is None
    assert next_step(ledger, more, 1, here) == Step(1, Kind.GATE)
    assert next_step(ledger, more, 1) is None  # another machine made it, and the net is there
    after = ledger.with_step(1, Done(Kind.GATE, "", (), 5.0, match(80, 40, "H1")))
    assert next_step(after, more, 1, here) is None
    one = after.generations[0]
    assert one.promoted and [step.kind for step in one.steps].count(Kind.GATE) == 1
    assert one.steps[-1].spent_s == 65.0
    # Its net taught no other: the later generations stay.
    assert next_step(with_generation(ledger), more, 2, here) is None


def test_a_gate_with_a_verdict_is_over() -> None:
    for verdict, los in (("H0", 0.2), ("open", 0.99)):
        ledger = with_generation(EMPTY, verdict=verdict, los=los)
        assert next_step(ledger, Recipe(match_games=0, gate_games=4000), 1, frozenset({1})) is None


def test_an_opponent_that_comes_later_meets_earlier_nets_too() -> None:
    ledger, _ = run_all(EMPTY, Recipe(), 2, "H1")
    assert next_step(ledger, Recipe(), 2) is None
    assert next_step(ledger, PLAN, 2) == Step(1, Kind.MATCH, "other@5000")
    ledger = with_match(ledger, 1, "other@5000")
    assert next_step(ledger, PLAN, 2) == Step(1, Kind.MATCH, "other@20000"), "one match for each pace"
    assert next_step(with_match(ledger, 1, "other@20000"), PLAN, 2) == Step(2, Kind.MATCH, "other@5000")
    # Of a run of another machine only the best net is here.
    assert next_step(ledger, PLAN, 2, nets=frozenset({0, 2})) == Step(2, Kind.MATCH, "other@5000")
    assert next_step(ledger, PLAN, 3, nets=frozenset({0})) == Step(3, Kind.GAMES)


def test_fewer_generations_than_are_there_leave_the_last_one_no_half_thing() -> None:
    ledger = with_generation(with_generation(EMPTY, verdict="H0"), upto=Kind.TRAIN)
    assert next_step(ledger, PLAN, 1) == Step(2, Kind.COMPARE)


def test_several_trainings_and_their_mean() -> None:
    three = Recipe(train_words=("--rate 1", "--rate 2", "--rate 3"), match_games=0, fresh=False)
    _, taken = run_all(EMPTY, three, 2, "H1")
    first = ["games", "train", "compare", "gate"]  # from random weights: they have no mean
    second = ["games", "train", "train 2", "train 3", "blend", "compare", "gate"]
    assert taken == [f"generation {number}: {step}" for number, steps in ((1, first), (2, second)) for step in steps]
    _, taken = run_all(EMPTY, replace(three, first_by_hand=False), 1, "H1")
    assert taken == [f"generation 1: {step}" for step in second]


def test_sparring_comes_before_training_and_not_in_generations_that_have_trained() -> None:
    sparring = replace(NO_MATCHES, sparring="gpsusi")
    _, taken = run_all(with_generation(EMPTY, upto=Kind.TRAIN), sparring, 2, "H1")
    steps = ["sparring", "games", "from-sparring", "train", "compare", "gate"]
    assert taken == ["generation 1: compare", "generation 1: gate", *(f"generation 2: {step}" for step in steps)]


def test_a_net_that_is_made_stays_as_it_is_if_the_recipe_changes() -> None:
    three = replace(NO_MATCHES, train_words=("", "", ""), fresh=False)
    one = with_generation(EMPTY)
    made = with_generation(one, upto=Kind.COMPARE)
    assert next_step(made, three, 2) == Step(2, Kind.GATE)
    assert next_step(with_generation(one, upto=Kind.TRAIN), three, 2) == Step(2, Kind.TRAIN, "2")
    blended = with_generation(one, upto=Kind.BLEND, trainings=2)
    assert next_step(blended, three, 2) == next_step(blended, NO_MATCHES, 2) == Step(2, Kind.COMPARE)
    two = one.begun(2)
    for kind, name in ((Kind.GAMES, ""), (Kind.TRAIN, ""), (Kind.TRAIN, "2")):
        two = two.with_step(2, Done(kind, name, (), 1.0, RESULTS[kind]))
    assert next_step(two, NO_MATCHES, 2) == Step(2, Kind.BLEND), "the mean of all that are there"


def test_no_matches_if_none_are_wanted() -> None:
    assert next_step(with_generation(EMPTY), replace(PLAN, match_games=0), 1) is None


@pytest.mark.parametrize(
    ("verdict", "los", "promoted"),
    [("H1", 0.9, True), ("H0", 0.99, False), ("open", 0.96, True), ("open", 0.94, False)],
)
def test_the_gate(verdict: str, los: float, promoted: bool) -> None:
    ledger = with_generation(EMPTY, verdict=verdict, los=los)
    assert ledger.generations[0].promoted is promoted and ledger.best == int(promoted)
    assert with_generation(EMPTY, upto=Kind.COMPARE).generations[0].promoted is None
