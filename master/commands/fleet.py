"""``gougi fleet``: a fleet of machines on AWS, from nothing to a game and back to nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from master.commands import fleet_down, fleet_services
from master.commands.common import FAILED, CommandError
from master.commands.fleet_shared import (
    Dir,
    Yes,
    agreed,
    apply,
    can_agree,
    clear_errors,
    console,
    note,
    operator_of,
    show_cost,
    show_plan,
)
from master.commands.options import Json
from master.commands.plain import PlainCommand, PlainGroup
from master.commands.settings import ConfigFile

if TYPE_CHECKING:
    from master.cloud.operator import Operator
    from master.cloud.plan import Facts, FleetPlan

app = typer.Typer(
    cls=PlainGroup,
    name="fleet",
    help="""Make, use and remove a fleet of machines on AWS.

    docs/how-to/aws.md explains it. gougi fleet plan --offline shows the cost of an hour, without an account.

    Examples:

      gougi fleet up --nodes 16

      gougi fleet status

      gougi fleet down
    """,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)

Wait = Annotated[
    float, typer.Option("--wait", min=0, metavar="S", help="Seconds to wait for the nodes; 0: not at all.")
]
Rebuild = Annotated[bool, typer.Option("--rebuild", help="Make a new release for the machines to install.")]


Nodes = Annotated[int | None, typer.Option(min=0, max=1000, metavar="N", help="Number of nodes.")]


@app.command(cls=PlainCommand)
def plan(
    nodes: Nodes = None,
    offline: Annotated[
        bool,
        typer.Option("--offline", help="Only the cost, from the prices that came with Gougi, without a network."),
    ] = False,
    rebuild: Rebuild = False,
    folder: Dir = None,
    config: ConfigFile = None,
) -> int:
    """Show the changes that gougi fleet up would make, and the cost of an hour.

    It changes nothing. With --offline it shows only the cost, and needs no credentials, no terraform and no network.

    Examples:

      gougi fleet plan --nodes 16

      gougi fleet plan --nodes 16 --offline
    """
    with clear_errors():
        operator = operator_of(config, folder)
        if offline:
            if rebuild:
                raise CommandError("--offline makes no release: leave out --rebuild")
            _estimate(operator, nodes)
            return 0
        with operator.alone("gougi fleet plan", note):
            show_plan(operator.plan(nodes, rebuild=rebuild, tell=note))
    return 0


@app.command(cls=PlainCommand)
def up(
    nodes: Nodes = None,
    yes: Yes = False,
    wait: Wait = 900,
    rebuild: Rebuild = False,
    folder: Dir = None,
    config: ConfigFile = None,
) -> int:
    """Make the fleet, or change it as the configuration says.

    It shows the plan, asks, and waits until the nodes are ready. If the head is gone, it makes a new one; if the head
    is stopped, it starts it.

    Examples:

      gougi fleet up --nodes 1

      gougi fleet up --yes --wait 0
    """
    with clear_errors():
        operator = operator_of(config, folder)
        command = "gougi fleet up" if nodes is None else f"gougi fleet up --nodes {nodes}"

        def make() -> FleetPlan:
            return operator.plan(nodes, rebuild=rebuild, make=True, tell=note)

        return _change(operator, command, make, yes, wait)


@app.command(cls=PlainCommand)
def scale(
    nodes: Annotated[int, typer.Argument(min=0, max=1000, metavar="N", help="Number of nodes from now on.")],
    yes: Yes = False,
    wait: Wait = 900,
    folder: Dir = None,
    config: ConfigFile = None,
) -> int:
    """Change the number of nodes of a running fleet, and nothing else.

    A running game continues. If the configuration has changed since gougi fleet up, it refuses.

    Examples:

      gougi fleet scale 16

      gougi fleet scale 0 --yes
    """
    with clear_errors():
        operator = operator_of(config, folder)
        operator.facts()  # report a missing fleet before its folder is created

        def make() -> FleetPlan:
            return operator.plan_size(nodes, note)

        return _change(operator, f"gougi fleet scale {nodes}", make, yes, wait)


@app.command(cls=PlainCommand)
def status(as_json: Json = False, folder: Dir = None, config: ConfigFile = None) -> int:
    """Show the machines: state, speed, age, spot, and the cost of an hour.

    The exit code is 1 if the head does not run: then nobody plays, however many nodes are ready.

    Examples:

      gougi fleet status
    """
    from master.cloud.display import status_table

    with clear_errors():
        operator = operator_of(config, folder)
        now = operator.status(operator.facts())
        if as_json:
            print(json.dumps({**asdict(now), "head_runs": now.head_runs, "ready": now.ready, "nps": now.nps}))
        else:
            console().print(status_table(now))
    return 0 if now.head_runs else FAILED


app.command(name="down", cls=PlainCommand)(fleet_down.down)
app.command(name="watch", cls=PlainCommand)(fleet_services.watch)
app.command(name="keep", cls=PlainCommand)(fleet_services.keep)


def _change(operator: Operator, command: str, make: Callable[[], FleetPlan], yes: bool, wait_s: float) -> int:
    """Plan, show, ask and apply, alone; then wait."""
    can_agree(yes)  # a plan takes its time
    with operator.alone(command, note):
        go_on = False
        try:
            wanted = make()
            show_plan(wanted)
            go_on = wanted.empty or agreed(yes, "do this?")
        finally:
            if not go_on:
                operator.forget()
        if not go_on:
            return FAILED
        if wanted.strays:
            operator.remove(wanted.strays, note)
        apply(operator, wanted)
        facts = operator.facts()
    if wait_s:
        _wait(operator, facts, wait_s)
    print(f"a shell on the head: {facts.session_command}")
    return 0


def _estimate(operator: Operator, nodes: int | None) -> None:
    """Print the cost of an hour of the fleet that the settings describe, from local facts alone."""
    found = operator.estimate(nodes)
    for line in found.lines():
        print(line)
    show_cost(found.usd_per_hour, found.unpriced_types)
    print("AWS was not asked: without --offline this shows the resources too, at the prices of today")


def _wait(operator: Operator, facts: Facts, wait_s: float) -> None:
    from master.cloud.display import Waiting

    screen = console()
    with screen.status("waiting for the nodes"):
        now = operator.wait(facts, wait_s, Waiting(screen.say).news)
    came = f"{now.ready} nodes are ready: {now.nps:,} nodes/s" if facts.plays else f"{now.joined} nodes have joined"
    note(f"{came}, {now.usd_per_hour:.2f} US dollars an hour")
    if not facts.plays:
        note("no master plays on the head: [fleet] csa_password_parameter names no password")
