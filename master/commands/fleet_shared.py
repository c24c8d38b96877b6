"""Shared by the commands of ``gougi fleet``: options, questions, errors, and how a plan is shown and applied."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from master.commands.common import BAD_INPUT, FAILED, CommandError
from master.commands.settings import load

if TYPE_CHECKING:
    from master.cloud.operator import Operator
    from master.cloud.plan import FleetPlan
    from master.cloud.terraform import Step

Dir = Annotated[
    str | None,
    typer.Option("--dir", metavar="FOLDER", help="The fleet's folder. Default: ~/.local/state/gougi/fleet."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


@contextlib.contextmanager
def clear_errors() -> Iterator[None]:
    """Turn errors of a fleet into one clear message of the command."""
    from master.cloud.aws import AwsError
    from master.cloud.folder import FolderBusy, FolderError
    from master.cloud.kept import KeptError
    from master.cloud.operator import FleetDown, NotReady, TooMuchChanges, Unknown
    from master.cloud.prices import PriceUnknown
    from master.cloud.terraform import TerraformError
    from master.csa.login import LoginError

    try:
        yield
    except (FolderError, FleetDown, LoginError, PriceUnknown) as error:
        raise CommandError(str(error), BAD_INPUT) from error
    except (AwsError, FolderBusy, KeptError, NotReady, TerraformError, TooMuchChanges, Unknown) as error:
        raise CommandError(str(error), FAILED) from error


def settings(config: Path | None, folder: str | None) -> Any:
    """The section [fleet], with the given folder, if there is one."""
    return load(config, {"fleet": {"folder": folder}}).fleet


def operator_of(config: Path | None, folder: str | None) -> Operator:
    """The operator that carries the command out."""
    from master.cloud.operator import Operator
    from master.config_file import find_file

    return Operator(settings(config, folder), config or find_file())


def show_plan(wanted: FleetPlan) -> None:
    """Show the change of each resource, and the cost of an hour after it."""
    if wanted.strays:
        print(f"{wanted.killed} was killed, and left resources that terraform does not know; they are removed first:")
    for thing in wanted.strays:
        print(f"- remove   {thing}")
    for line in wanted.lines():
        print(line)
    print(f"plan: {wanted.summary()}")
    show_cost(wanted.usd_per_hour, wanted.unpriced_types)
    if wanted.stop_after_hours is not None and not wanted.empty:
        print(
            f"it ends by itself {wanted.stop_after_hours:.1f} hours after its clock starts, in the middle of a game if "
            "need be (auto_stop_hours in [fleet] variables, [fleet] price_cap_usd)"
        )


def show_cost(usd: Mapping[str, float | None], unpriced: Sequence[str]) -> None:
    """Show the cost of an hour. ``usd``: the output ``usd_per_hour`` of the terraform module; empty: unknown."""
    whole = usd.get("all")
    if whole is not None:
        print(f"an hour costs {whole:.2f} US dollars at on-demand prices")
    elif usd:
        types = ", ".join(unpriced) or "one of the types"
        print(f"the cost of an hour is not known: no price of {types}; give it in [fleet] variables, usd_per_hour")


def apply(operator: Operator, wanted: FleetPlan) -> None:
    """Carry out the plan, with progress. Ctrl-C is passed on to terraform; SIGTERM and SIGHUP, which terraform may have
    received too, wait until it is done."""
    from master.cloud.display import step_line

    ends = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    came: list[int] = []
    before = {number: signal.signal(number, lambda number, _frame: came.append(number)) for number in ends}
    try:
        screen = console()

        def tell(step: Step) -> None:
            if line := step_line(step):
                screen.say(line)

        with screen.status("terraform applies"):
            operator.apply(wanted, tell)
    except Exception as error:
        if not came:
            raise
        print(f"gougi: {error}", file=sys.stderr)
        raise KeyboardInterrupt from error  # stop here, though a failed removal has a second part
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt


def can_agree(yes: bool) -> None:
    """Refuse a command that would have to ask without a terminal."""
    if not yes and not sys.stdin.isatty():
        raise CommandError("it asks before it changes anything, and there is no terminal to ask on: --yes does not ask")


def agreed(yes: bool, question: str) -> bool:
    """Whether the user agrees, or has agreed by --yes."""
    can_agree(yes)
    return yes or typer.confirm(question, default=False)


def note(text: str) -> None:
    """Print it at once, even if the output is a file."""
    print(text, flush=True)


def console() -> Any:
    """The console for tables and progress; without a terminal nothing is cut off at 80 columns."""
    from master.ui.console import Console

    return Console(width=None if sys.stdout.isatty() else int(os.environ.get("COLUMNS", "160")))
