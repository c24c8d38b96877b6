"""``gougi fleet``: a fleet of machines on AWS, from nothing to a game and back to nothing."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from master.commands import fleet_services
from master.commands.common import FAILED, CommandError
from master.commands.fleet_errors import told
from master.commands.settings import ConfigFile, load

if TYPE_CHECKING:
    from master.fleet.facts import Facts
    from master.fleet.operator import Operator
    from master.fleet.plan import FleetPlan, Place

app = typer.Typer(
    name="fleet",
    help="""A fleet of machines on AWS, from nothing to a game and back to nothing. More: docs/fleet-operation.md.

    Examples:

      gougi fleet up --nodes 16

      gougi fleet status

      gougi fleet down
    """,
    rich_markup_mode=None,
    no_args_is_help=True,
)

Dir = Annotated[
    str | None,
    typer.Option("--dir", metavar="FOLDER", help="The fleet's folder. Default: ~/.local/state/gougi/fleet."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object, for programs.")]
Wait = Annotated[
    float, typer.Option("--wait", min=0, metavar="S", help="How long to wait for the nodes; 0: not at all.")
]
Rebuild = Annotated[bool, typer.Option("--rebuild", help="Make the release that the machines install anew.")]


@app.command()
def plan(
    nodes: Annotated[int | None, typer.Option(min=0, max=1000, metavar="N", help="How many nodes.")] = None,
    rebuild: Rebuild = False,
    folder: Dir = None,
    config: ConfigFile = None,
) -> int:
    """Show what `gougi fleet up` would do, and what an hour will cost. Nothing is changed.

    Examples:

      gougi fleet plan --nodes 16
    """
    with told():
        operator = _operator(config, folder)
        try:
            _show_plan(operator.plan(nodes, rebuild=rebuild, tell=_note), operator.price_cap_usd)
        finally:
            operator.forget_plan()
    return 0


@app.command()
def up(
    nodes: Annotated[int | None, typer.Option(min=0, max=1000, metavar="N", help="How many nodes.")] = None,
    yes: Yes = False,
    wait: Wait = 900,
    rebuild: Rebuild = False,
    folder: Dir = None,
    config: ConfigFile = None,
) -> int:
    """Make the fleet, or bring it to what the configuration says; wait until its nodes are ready.

    Examples:

      gougi fleet up --nodes 1

      gougi fleet up --yes --wait 0
    """
    with told():
        operator = _operator(config, folder)
        return _change(operator, lambda: operator.plan(nodes, rebuild=rebuild, tell=_note), yes, wait)


@app.command()
def scale(
    nodes: Annotated[int, typer.Argument(min=0, max=1000, metavar="N", help="How many nodes from now on.")],
    yes: Yes = False,
    wait: Wait = 900,
    folder: Dir = None,
    config: ConfigFile = None,
) -> int:
    """Change the number of nodes of a running fleet. A game that is being played goes on.

    Examples:

      gougi fleet scale 16

      gougi fleet scale 0 --yes
    """
    with told():
        operator = _operator(config, folder)
        operator.facts()
        return _change(operator, lambda: operator.plan(nodes, tell=_note), yes, wait)


@app.command()
def status(as_json: Json = False, folder: Dir = None, config: ConfigFile = None) -> int:
    """Show the machines: state, speed, age, spot, and what they have cost so far.

    Examples:

      gougi fleet status
    """
    from master.ui.fleet import status_table

    with told():
        operator = _operator(config, folder)
        now = operator.status(operator.facts())
        if as_json:
            print(json.dumps({**asdict(now), "ready": now.ready, "nps": now.nps}))
        else:
            _console().print(status_table(now))
    return 0


@app.command()
def cost(as_json: Json = False, folder: Dir = None, config: ConfigFile = None) -> int:
    """Show what the fleet costs an hour now, and what it has cost so far, by type of machine.

    Examples:

      gougi fleet cost
    """
    from master.ui.fleet import cost_table

    with told():
        operator = _operator(config, folder)
        facts = operator.facts()
        now = operator.status(facts)
        beside = facts.usd_per_hour.get("beside")
        if as_json:
            wanted = ("usd_per_hour", "usd", "costs", "unpriced", "source", "counted")
            print(json.dumps({**{name: asdict(now)[name] for name in wanted}, "beside_usd_per_hour": beside}))
        else:
            _console().print(cost_table(now, beside))
    return 0


@app.command()
def down(
    yes: Yes = False,
    records: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where games, logs and books of the fleet's own bucket are copied."),
    ] = None,
    wait: Annotated[
        float, typer.Option("--wait", min=0, metavar="S", help="How long AWS may take to forget what was destroyed.")
    ] = 120,
    folder: Dir = None,
    config: ConfigFile = None,
) -> int:
    """Destroy the fleet, and prove that nothing of it is left. Exit code 1, with a list, if something is.

    Before the bucket that was made with the fleet goes, games, logs and books are copied from it to a folder (bucket/,
    in the fleet's own). A bucket that you gave it stays. After a failure run it again: it goes on.

    Examples:

      gougi fleet down

      gougi fleet down --yes --records ~/shogi/games
    """
    with told():
        operator = _operator(config, folder)
        place = operator.place()
        if place is None:
            _note(f"there is no fleet in {operator.folder.path}")
        if operator.folder.exists and operator.terraform.managed():
            end = operator.plan_end(_note)
            _show_plan(end)
            if not _agreed(yes, "destroy all of this?"):
                operator.forget_plan()
                return FAILED
            _destroy(operator, end, place, records or operator.folder.path / "bucket")
        keep = [place.bucket] if place is not None and not place.bucket_is_own else []
        name = place.name if place is not None else _settings(config, folder).name
        _note("asking AWS what is left")
        left = operator.left_over(name, keep, wait, place.region if place is not None else None)
        for thing in left.found:
            print(f"left: {thing}")
        for thing in left.unseen:
            print(f"not looked at: {thing}")
        if left.found:
            raise CommandError(f"{len(left.found)} things of the fleet {name} are left; they may cost money", FAILED)
        operator.folder.set_place(None)
        seen = ", as far as could be seen" if left.unseen else ""
        print(f"nothing is left of the fleet {name}{seen}" + (f"; the bucket {keep[0]} stays" if keep else ""))
    return 0


app.command(name="watch")(fleet_services.watch)
app.command(name="keep")(fleet_services.keep)


def _change(operator: Operator, make: Callable[[], FleetPlan], yes: bool, wait_s: float) -> int:
    """Plan, show, ask, apply, wait."""
    _can_agree(yes)  # a plan takes its time
    before = operator.folder.nodes if operator.folder.exists else None
    applied = False
    try:
        wanted = make()
        _show_plan(wanted, operator.price_cap_usd)
        if not wanted.empty:
            if not _agreed(yes, "do this?"):
                return FAILED
            applied = True
            _apply(operator, wanted)
    finally:
        operator.forget_plan()
        if not applied and before is not None:
            operator.folder.set_nodes(before)
    facts = operator.facts()
    if wait_s:
        _wait(operator, facts, wait_s)
    print(f"a shell on the head: {facts.session_command}")
    return 0


def _apply(operator: Operator, wanted: FleetPlan) -> None:
    from master.ui.fleet import Progress

    with Progress(_console(), len(wanted.changes)) as progress:
        operator.apply(progress.step)


def _destroy(operator: Operator, end: FleetPlan, place: Place | None, records: Path) -> None:
    """Destroy it, the bucket last: once the machines are gone nothing writes to it any more, and it can be emptied."""
    from master.fleet.terraform import TerraformError

    own = place if place is not None and place.bucket_is_own else None
    try:
        if own is not None and end.full_bucket_goes:
            _copy_records(operator, own, records)  # it goes with all that is in it: there is no later moment
        try:
            _apply(operator, end)
        except TerraformError:
            if own is None or not operator.bucket_is_in_the_way():
                raise
            _copy_records(operator, own, records)
            operator.empty(own)
            _apply(operator, operator.plan_end(_note))
        if place is not None and own is None:
            operator.empty(place)
    finally:
        operator.forget_plan()


def _copy_records(operator: Operator, place: Place, records: Path) -> None:
    _note(f"{operator.copy_records(place, records, _note)} files of the bucket {place.bucket} are in {records}")


def _wait(operator: Operator, facts: Facts, wait_s: float) -> None:
    from master.ui.fleet import Waiting

    with Waiting(_console(), facts.nodes) as waiting:
        now = operator.wait(facts, wait_s, waiting.news)
    came = f"{now.ready} nodes are ready: {now.nps:,} nodes/s" if facts.plays else f"{now.joined} nodes have joined"
    _note(f"{came}, {now.usd_per_hour:.2f} US dollars an hour")
    if not facts.plays:
        _note("no master plays on the head: [fleet] csa_password_parameter names no password")


def _show_plan(wanted: FleetPlan, cap_usd: float = 0.0) -> None:
    for line in wanted.lines():
        print(line)
    print(f"plan: {wanted.summary()}")
    usd = wanted.usd_per_hour
    whole = usd.get("all")
    if whole is not None:
        print(f"an hour costs {whole:.2f} US dollars at on-demand prices")
        machines = whole - (usd.get("beside") or 0.0)
        if cap_usd and machines:
            print(
                f"price cap: {cap_usd:.2f} US dollars of machines a run, {cap_usd / machines:.1f} hours at these "
                "prices; addresses, endpoints, disks and traffic come on top"
            )
    elif usd:
        types = ", ".join(wanted.unpriced_types) or "one of the types"
        print(f"what an hour costs is not known: no price of {types}; give it in [fleet] variables, usd_per_hour")


def _can_agree(yes: bool) -> None:
    if not yes and not sys.stdin.isatty():
        raise CommandError("nobody is there to be asked: --yes does it without")


def _agreed(yes: bool, question: str) -> bool:
    _can_agree(yes)
    return yes or typer.confirm(question, default=False)


def _settings(config: Path | None, folder: str | None) -> Any:
    return load(config, {"fleet": {"folder": folder}}).fleet


def _operator(config: Path | None, folder: str | None) -> Operator:
    from master.config import find_file
    from master.fleet.operator import Operator

    return Operator(_settings(config, folder), config or find_file())


def _note(text: str) -> None:
    print(text, flush=True)


def _console() -> Any:
    from master.ui.console import Console

    return Console(width=None if sys.stdout.isatty() else int(os.environ.get("COLUMNS", "160")))
