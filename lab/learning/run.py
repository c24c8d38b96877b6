"""A run of ``gougi learn``: step after step, until all generations are whole or the budget is spent."""

from __future__ import annotations

import hashlib
import json
import math
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from master.commands.common import DISK_FULL, FAILED, INTERRUPTED, CommandError, Stoppable, exit_code, tell
from master.ui.progress import span

if TYPE_CHECKING:
    from lab.learning.folder import LearnFolder
    from lab.learning.ledger import Ledger
    from lab.learning.plan import Step
    from lab.learning.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that a run may take, all its pieces together.

    Attributes:
        seconds: of wall time; inf: no limit.
        words: for users.
    """

    seconds: float
    words: str

    @classmethod
    def of(cls, hours: float | None, dollars: float | None, price: float | None) -> Budget:
        """The tighter one of two limits. Raises CommandError: dollars without a price, or a number that is none."""
        for option, value in (("--hours", hours), ("--dollars", dollars), ("--price", price)):
            if value is not None and not 0 < value < math.inf:
                raise CommandError(f"{option} {value:g}: expected a number above 0")
        if dollars is not None and price is None:
            raise CommandError("--dollars needs --price: dollars an hour of all machines")
        found = []
        if hours is not None:
            found.append(cls(hours * 3600, f"--hours {hours:g}"))
        if dollars is not None and price is not None:
            found.append(cls(dollars / price * 3600, f"--dollars {dollars:g} at {price:g} an hour"))
        return min(found, key=lambda one: one.seconds, default=cls(math.inf, ""))


def run(
    folder: LearnFolder,
    recipe: Recipe,
    generations: int,
    budget: Budget,
    first: bytes | None,
    history: Path | None,
    as_json: bool,
) -> int:
    """Take the run on, in a folder that this process holds.

    Args:
        first: the file of the first teacher; None: one made by hand.
        history: the ledger of another machine's run to go on with; ``first`` is that run's best net then.

    Returns:
        The exit code: 0 also where the budget is spent.

    Raises:
        CommandError: a step failed; the text names it.
        RecipeError, LearnFolderError, OSError: as the parts raise them.
    """
    from lab.learning.page import page
    from lab.learning.plan import next_step
    from lab.training import generation0
    from worker.nnue.format import serialise_network

    default = serialise_network(generation0.build())
    if history is None:
        ledger = folder.open(first, default)
    else:
        ledger = folder.take_over(history, default if first is None else first, default)
    recipe = replace(recipe, first_by_hand=ledger.first == hashlib.sha256(default).hexdigest())
    spent = False
    with Stoppable() as block:
        while (step := next_step(ledger, recipe, generations, folder.with_games(), folder.with_nets())) is not None:
            if spent := ledger.spent_s >= budget.seconds:
                break
            ledger = _take(folder, recipe, ledger, step, budget)
    ledger = folder.read()
    whole = next_step(ledger, recipe, generations, folder.with_games(), folder.with_nets()) is None
    if as_json:
        print(json.dumps({"folder": str(folder.path), "finished": whole, "best": ledger.best, **ledger.as_json()}))
    else:
        print(page(ledger, str(folder.path)).split("\n## Recipe", 1)[0].rstrip())
        print(f"\nbest net: {folder.best_path} (generation {ledger.best})")
    if spent:
        tell(f"the budget is spent ({budget.words}): the same command goes on with a larger one")
        return 0
    return exit_code(block.finished, folder.path)


def _take(folder: LearnFolder, recipe: Recipe, ledger: Ledger, step: Step, budget: Budget) -> Ledger:
    """Run one step; the ledger with it, also on the disk.

    Raises:
        KeyboardInterrupt: Ctrl-C or SIGTERM broke it off; the ledger on the disk has the time.
        CommandError: it failed.
    """
    from lab.learning.ledger import Done, Kind
    from lab.learning.recipe import command
    from lab.learning.runner import run_command

    if ledger.generation(step.number) is None:
        ledger = ledger.begun(step.number)
        folder.keep(ledger)  # a kill does not undo it: its games name their teacher
    one = ledger.generation(step.number)
    assert one is not None
    words = command(recipe, str(folder.path), ledger, one, step.kind, step.name, folder.with_games())
    left = budget.seconds - ledger.spent_s
    tell(f"{step} (spent {span(ledger.spent_s)}{f' of {span(budget.seconds)}' if left < math.inf else ''})")
    tell(f"  gougi {shlex.join(words)}")
    ended = run_command(words, left)
    result = ended.result
    if ended.code or result is None or not result.get("finished", True):
        ledger = ledger.with_piece(step.number, ended.spent_s)
        folder.keep(ledger)
        if ended.interrupted or ended.code == INTERRUPTED:
            if ledger.spent_s >= budget.seconds:
                return ledger
            raise KeyboardInterrupt
        raise CommandError(
            f"{step}: gougi {words[0]} ended with {_end(ended.code)}; the same command goes on",
            DISK_FULL if ended.code == DISK_FULL else FAILED,
        )
    ledger = ledger.with_step(step.number, Done(step.kind, step.name, words, ended.spent_s, result))
    if step.kind is Kind.GATE:
        tell(f"generation {step.number}: {_gate_words(ledger, step.number, result)}")
        if (one := ledger.generations[step.number - 1]).promoted:
            folder.promote(one)
    folder.keep(ledger)
    if ended.interrupted:
        raise KeyboardInterrupt
    return ledger


def _gate_words(ledger: Ledger, number: int, facts: Any) -> str:
    from lab.match.statistics import Strength

    one = ledger.generations[number - 1]
    word = "promoted" if one.promoted else f"refused; generation {one.teacher} stays the best"
    return f"Elo {Strength.of_facts(facts)} against generation {one.teacher} in {facts['games']} games: {word}"


def _end(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
