"""Next step of a run of ``gougi learn``: from its ledger alone. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from lab.learning.ledger import Generation, Kind, Ledger
from lab.learning.recipe import Recipe, training_name


@dataclass(frozen=True, slots=True)
class Step:
    """The next step of a run.

    Attributes:
        number: of the generation.
        kind: which step.
        name: as in `lab.learning.ledger.Done`.
    """

    number: int
    kind: Kind
    name: str = ""

    def __str__(self) -> str:
        words = f"generation {self.number}: {self.kind.value}"
        if not self.name:
            return words
        return f"{words} against {self.name}" if self.kind is Kind.MATCH else f"{words} {self.name}"


def next_step(
    ledger: Ledger,
    recipe: Recipe,
    generations: int,
    here: frozenset[int] = frozenset(),
    nets: frozenset[int] | None = None,
) -> Step | None:
    """The step that is to be done next; None: all generations are whole.

    Generations come in order, the steps of each in theirs. An opponent that was added later meets the nets that were
    promoted before, too. The gate of the last generation goes on where it stood open and may have more games now.

    Args:
        generations: of the whole run; more may be asked later.
        here: numbers of the generations that this folder made; no other one's gate can go on.
        nets: numbers of the generations whose promoted nets are here; no other one plays matches. None: all.
    """
    for number in range(1, max(generations, len(ledger.generations)) + 1):
        one = ledger.generation(number)
        if one is None:
            return Step(number, Kind.GAMES)
        step = _missing(one, recipe)
        plays = nets is None or number in nets
        if step is not None and (plays or step.kind is not Kind.MATCH):
            return step
        is_last = number == len(ledger.generations)
        if is_last and number in here and one.open_after is not None and one.open_after < recipe.gate_games:
            return Step(number, Kind.GATE)
    return None


def _missing(one: Generation, recipe: Recipe) -> Step | None:
    if one.result(Kind.GAMES) is None:
        return Step(one.number, Kind.GAMES)
    if one.result(Kind.COMPARE) is None:
        return _missing_net(one, recipe) or Step(one.number, Kind.COMPARE)
    if one.result(Kind.GATE) is None:
        return Step(one.number, Kind.GATE)
    if one.promoted:
        for name in recipe.matches:
            if one.result(Kind.MATCH, name) is None:
                return Step(one.number, Kind.MATCH, name)
    return None


def _missing_net(one: Generation, recipe: Recipe) -> Step | None:
    """The next training, or the mean of all. What is made stays as it is, also where the recipe has changed since."""
    if one.result(Kind.BLEND) is not None:
        return None
    # Nets that begin with random weights have no mean: the order of their units differs.
    for place in range(len(recipe.train_words) if recipe.begins_with(one.teacher) else 1):
        if training_name(place) not in one.trainings:
            return Step(one.number, Kind.TRAIN, training_name(place))
    return Step(one.number, Kind.BLEND) if len(one.trainings) > 1 else None
