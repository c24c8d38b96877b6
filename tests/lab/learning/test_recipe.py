"""Commands of the loop's steps: each is one that its own command line understands."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

import pytest

from lab.learning.ledger import Done, Kind, Ledger
from lab.learning.recipe import Opponent, Recipe, RecipeError, command
from tests.lab.learning.ledgers import RESULTS, with_generation

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
    assert words(Kind.TRAIN, present=[3]).count("--data") == 1, "games that another machine made are not here"
    first = words(Kind.TRAIN, recipe=replace(RECIPE, fresh=False), ledger=Ledger("").begun(1), number=1)
    assert "--from" not in first
    trained = replace(RECIPE, fresh=False, first_by_hand=False)
    first = words(Kind.TRAIN, recipe=trained, ledger=Ledger("").begun(1), number=1)
    assert "--from run/nets/generation-0.bin" in first


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
