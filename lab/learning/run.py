"""A run of ``gougi learn``: step after step, until all generations are whole or the budget is spent."""

from __future__ import annotations

import ctypes
import hashlib
import json
import math
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from master.commands.common import DISK_FULL, FAILED, INTERRUPTED, CommandError, Stoppable, exit_code, tell
from master.ui.progress import span

if TYPE_CHECKING:
    from lab.learning.folder import LearnFolder
    from lab.learning.ledger import Ledger
    from lab.learning.recipe import Recipe, Step


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
    from lab.learning.folder import page
    from lab.learning.recipe import next_step
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


_PR_SET_PDEATHSIG: Final = 1
_OURS: Final = (sys.executable, "-P", "-m", "master")
"""Without -P the sources in the current folder would run, not those that are installed."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A command's end.

    Attributes:
        code: exit code; negative: the signal that killed it.
        result: the JSON of its last line; None: there is none.
        spent_s: wall time.
        interrupted: whether a KeyboardInterrupt came; the command may have come to its end all the same.
    """

    code: int
    result: Mapping[str, Any] | None
    spent_s: float
    interrupted: bool = False


def run_command(words: Sequence[str], limit_s: float) -> Ended:
    """Run ``gougi WORDS``, and stop it by SIGINT after ``limit_s`` or at a KeyboardInterrupt; its stderr is ours.

    The child has a process group of its own, so that Ctrl-C reaches it once, from here; and it is stopped in the same
    way where this process is killed.
    """
    began = time.monotonic()
    interrupted = False
    with _noted_signals() as noted:
        child = subprocess.Popen(
            [*_OURS, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            process_group=0,
            preexec_fn=_follow(os.getpid()),
        )
    with child:
        try:
            if noted:
                raise KeyboardInterrupt
            output = _read(child, limit_s)
        except KeyboardInterrupt:
            interrupted = True
            child.send_signal(signal.SIGINT)
            output = child.communicate()[0]
    return Ended(child.returncode, _last_json(output), time.monotonic() - began, interrupted)


@contextmanager
def _noted_signals() -> Iterator[list[int]]:
    """Note SIGINT and SIGTERM instead of raising KeyboardInterrupt, which Python drops in the hooks of a fork."""
    noted: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _frame: noted.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _read(child: subprocess.Popen[bytes], limit_s: float) -> bytes:
    try:
        return child.communicate(timeout=None if limit_s == float("inf") else max(limit_s, 0.0))[0]
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGINT)
        return child.communicate()[0]


def _follow(parent: int) -> Any:
    """Prepare the child before it begins: it asks for SIGINT at its parent's end, and takes Ctrl-C as usual.

    But not while its interpreter starts, where that would be a traceback: `master.__main__` lets the signal through.
    """
    libc = ctypes.CDLL(None)

    def follow() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGINT)

    return follow


def _last_json(output: bytes) -> Mapping[str, Any] | None:
    lines = output.decode(errors="replace").strip().splitlines()
    try:
        found = json.loads(lines[-1]) if lines else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
