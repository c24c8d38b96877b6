"""Next step of a run of ``gougi learn``: from its ledger alone. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from master.learning.ledger import Generation, Kind, Ledger
from master.learning.recipe import FIRST, Recipe

_BEFORE_THE_GATE = (Kind.GAMES, Kind.TRAIN, Kind.COMPARE, Kind.GATE)


@dataclass(frozen=True, slots=True)
class Step:
    """The next step of a run.

    Attributes:
        number: of the generation.
        kind: which step.
        opponent: name of a match's other side; empty for other steps.
    """

    number: int
    kind: Kind
    opponent: str = ""

    def __str__(self) -> str:
        return f"generation {self.number}: {self.kind.value}" + (f" against {self.opponent}" if self.opponent else "")


def next_step(ledger: Ledger, recipe: Recipe, generations: int) -> Step | None:
    """The step that is to be done next; None: all generations are whole.

    Generations come in order, the steps of each in theirs. An opponent that was added later meets the nets that were
    promoted before, too.

    Args:
        generations: of the whole run; more may be asked later.
    """
    for number in range(1, max(generations, len(ledger.generations)) + 1):
        one = ledger.generation(number)
        if one is None:
            return Step(number, Kind.GAMES)
        step = _missing(one, recipe)
        if step is not None:
            return step
    return None


def _missing(one: Generation, recipe: Recipe) -> Step | None:
    for kind in _BEFORE_THE_GATE:
        if one.result(kind) is None:
            return Step(one.number, kind)
    if one.promoted and recipe.match_games:
        for opponent in (FIRST, *recipe.opponents):
            if one.result(Kind.MATCH, opponent.name) is None:
                return Step(one.number, Kind.MATCH, opponent.name)
    return None
