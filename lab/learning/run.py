"""A run of ``gougi learn``: step after step, until all generations are complete or the hours are over."""

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
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from lab.learning.folder import LearnFolder, page
from lab.learning.ledger import Done, Kind, Ledger
from lab.learning.recipe import Recipe, Step, command, net_path, next_step
from lab.match.match_engine import MatchEngine
from lab.match.openings import OpeningError, openings_of
from lab.match.run import check_contestant
from lab.match.settings import Pace, SettingsError, contestant
from lab.match.statistics import Sprt, Strength
from lab.training import generation0
from master.commands.checks import check_net
from master.commands.common import DISK_FULL, FAILED, INTERRUPTED, CommandError, EndsOn, Stoppable, exit_code, tell
from master.ui.progress import span
from worker.nnue.beside import write_beside
from worker.nnue.format import serialise_network

_PR_SET_PDEATHSIG: Final = 1
_OURS: Final = (sys.executable, "-P", "-m", "gougi")
"""Without -P the sources in the current folder would run, not the installed ones."""
_LONGEST_WAIT_S: Final = 86_400.0
"""`subprocess` cannot wait for more than 24 days at a time."""


def check(recipe: Recipe) -> None:
    """Check things that a step would refuse only hours later. Raises CommandError."""
    try:
        Sprt.parse(recipe.gate_sprt)
    except ValueError as error:
        raise CommandError(str(error).replace("--sprt", "--gate-sprt", 1)) from error
    try:
        openings_of(recipe.openings, recipe.seed, 1)
    except OpeningError as error:
        raise CommandError(f"--openings: {error}") from error
    if recipe.sparring:
        try:
            contestant(recipe.sparring, None, (), timed=True)
        except SettingsError as error:
            raise CommandError(f"--sparring {recipe.sparring}: {error}") from error
    names = [one.name for one in recipe.opponents]
    for one in recipe.opponents:
        if names.count(one.name) > 1:
            raise CommandError(f"--against {one.name}=…: two opponents have this name")
        where = f"--against {one.name}={one.player}"
        if one.player.endswith(".bin"):
            check_net(one.player, where)
            continue
        with EndsOn(SettingsError, where=where):
            engine = MatchEngine(contestant(one.player, one.name, (), timed=False))
            with closing(engine):
                check_contestant(engine, Pace(nodes=recipe.match_nodes[0]))
    if recipe.fresh and len(recipe.train_words) > 1:
        raise CommandError("--train-options: several need --from-best: nets with other first weights have no mean")


def run(
    folder: LearnFolder,
    recipe: Recipe,
    generations: int,
    hours: float | None,
    first: bytes | None,
    fv_scale: int | None,
    history: Path | None,
    as_json: bool,
) -> int:
    """Continue the run, in a folder that this process holds.

    Args:
        hours: maximum time of the run, earlier parts included; None: no limit.
        first: the file of the first teacher; None: the hand-made one.
        fv_scale: its scale by the files beside it, if there is one.
        history: the ledger of another machine's run to continue; ``first`` is then that run's best net.

    Returns:
        The exit code: 0 also if the hours are over.

    Raises:
        CommandError: a step failed; the text names it.
        RecipeError, LearnFolderError, OSError: as the parts raise them.
    """
    default = serialise_network(generation0.build())
    if history is None:
        ledger = folder.open(first, default)
    else:
        ledger = folder.take_over(history, default if first is None else first, default)
    if fv_scale is not None and history is None and not ledger.generations:
        write_beside(Path(net_path(str(folder.path), 0)), {"fv_scale": fv_scale})
    recipe = replace(recipe, first_by_hand=ledger.first == hashlib.sha256(default).hexdigest())
    limit_s = math.inf if hours is None else hours * 3600
    spent = False
    with Stoppable() as block:
        while (step := next_step(ledger, recipe, generations, folder.with_games(), folder.with_nets())) is not None:
            if spent := ledger.spent_s >= limit_s:
                break
            ledger = _take(folder, recipe, ledger, step, limit_s)
    ledger = folder.read()
    whole = next_step(ledger, recipe, generations, folder.with_games(), folder.with_nets()) is None
    if as_json:
        print(json.dumps({"folder": str(folder.path), "finished": whole, "best": ledger.best, **ledger.as_json()}))
    else:
        print(page(ledger, str(folder.path)).split("\n## Recipe", 1)[0].rstrip())
        print(f"\nbest net: {folder.best_path} (generation {ledger.best})")
    if spent:
        tell(f"--hours {hours:g} are over: the same command goes on with more")
        return 0
    return exit_code(block.finished, folder.path)


def _take(folder: LearnFolder, recipe: Recipe, ledger: Ledger, step: Step, limit_s: float) -> Ledger:
    """Run one step; returns the ledger with it, which is also on disk.

    Raises:
        KeyboardInterrupt: Ctrl-C or SIGTERM interrupted it; the ledger on disk has the time.
        CommandError: it failed.
    """
    if ledger.generation(step.number) is None:
        ledger = ledger.begun(step.number)
        folder.keep(ledger)  # it survives a kill: the games name their teacher
    one = ledger.generation(step.number)
    assert one is not None
    order = command(recipe, str(folder.path), ledger, one, step.kind, step.name, folder.with_games())
    left = limit_s - ledger.spent_s
    tell(f"{step} (spent {span(ledger.spent_s)}{f' of {span(limit_s)}' if left < math.inf else ''})")
    tell(f"  gougi {shlex.join(order)}")
    ended = run_command(order, left)
    result = ended.result
    if ended.code or result is None or not result.get("finished", True):
        ledger = ledger.with_piece(step.number, ended.spent_s)
        folder.keep(ledger)
        if ended.interrupted or ended.code == INTERRUPTED:
            if ledger.spent_s >= limit_s:
                return ledger
            raise KeyboardInterrupt
        raise CommandError(
            f"{step}: gougi {order[0]} ended with {_end(ended.code)}; the same command goes on",
            DISK_FULL if ended.code == DISK_FULL else FAILED,
        )
    ledger = ledger.with_step(step.number, Done(step.kind, step.name, order, ended.spent_s, result))
    if step.kind is Kind.GATE:
        tell(f"generation {step.number}: {_gate_words(ledger, step.number, result)}")
        if (one := ledger.generations[step.number - 1]).promoted:
            folder.promote(one)
    folder.keep(ledger)
    if ended.interrupted:
        raise KeyboardInterrupt
    return ledger


def _gate_words(ledger: Ledger, number: int, facts: Any) -> str:

    one = ledger.generations[number - 1]
    word = "promoted" if one.promoted else f"refused; generation {one.teacher} stays the best"
    return f"Elo {Strength.of_facts(facts)} against generation {one.teacher} in {facts['games']} games: {word}"


def _end(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


@dataclass(frozen=True, slots=True)
class Ended:
    """A command's end.

    Attributes:
        code: exit code; negative: the signal that killed it.
        result: the JSON of its last line; None: there is none.
        spent_s: wall time.
        interrupted: whether a KeyboardInterrupt came; the command may have finished all the same.
    """

    code: int
    result: Mapping[str, Any] | None
    spent_s: float
    interrupted: bool = False


def run_command(order: Sequence[str], limit_s: float) -> Ended:
    """Run ``gougi ORDER``, and stop it by SIGINT after ``limit_s`` or at a KeyboardInterrupt; it shares our stderr.

    The child has a process group of its own, so that Ctrl-C reaches it once, from here. It is stopped in the same way
    if this process is killed.
    """
    began = time.monotonic()
    interrupted = False
    with _noted_signals() as noted:
        child = subprocess.Popen(
            [*_OURS, *order],
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
    """Record SIGINT and SIGTERM instead of raising KeyboardInterrupt, which Python drops in the hooks of a fork."""
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
    end = time.monotonic() + limit_s
    while (left_s := end - time.monotonic()) > 0:
        with suppress(subprocess.TimeoutExpired):
            return child.communicate(timeout=min(left_s, _LONGEST_WAIT_S))[0]
    child.send_signal(signal.SIGINT)
    return child.communicate()[0]


def _follow(parent: int) -> Any:
    """Prepare the child before it begins: it receives SIGINT when its parent ends, and handles Ctrl-C as usual.

    But not while its interpreter starts, when that would be a traceback: `gougi.__main__` lets the signal through.
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
