"""``gougi fleet down``: the fleet's end, with proof that nothing of it is left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from master.commands.common import FAILED, CommandError, EndsOn
from master.commands.fleet_shared import (
    Dir,
    Yes,
    agreed,
    apply,
    can_agree,
    clear_errors,
    note,
    operator_of,
    settings,
    show_plan,
)
from master.commands.settings import ConfigFile

if TYPE_CHECKING:
    from master.cloud.operator import Operator
    from master.cloud.plan import FleetLocation, FleetPlan


def down(
    yes: Yes = False,
    records: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder for the copies of games, logs and books. Default: bucket/ in the fleet's folder.",
        ),
    ] = None,
    wait: Annotated[
        float,
        typer.Option("--wait", min=0, metavar="S", help="Seconds that AWS may take to forget what was destroyed."),
    ] = 120,
    folder: Dir = None,
    config: ConfigFile = None,
) -> int:
    """Remove the fleet, and check that nothing of it is left.

    If something is left, it prints a list, with exit code 1. A bucket that was made with the fleet goes too; before
    that the command copies games, logs and books from it to a folder (bucket/ in the fleet's folder). A bucket of your
    own stays. After a failure run the command again: it goes on.

    Examples:

      gougi fleet down

      gougi fleet down --yes --records ~/shogi/games
    """
    with clear_errors():
        operator = operator_of(config, folder)
        with operator.alone("gougi fleet down"):
            location = operator.location()
            if location is None:
                note(f"there is no fleet in {operator.folder.path}")
            if operator.folder.exists and operator.terraform.managed():
                can_agree(yes)  # a plan takes its time
                end = operator.plan_end(note)
                show_plan(end)
                if not agreed(yes, "destroy all of this?"):
                    return FAILED
                _destroy(operator, end, location, records or operator.folder.path / "bucket")
            name = location.name if location is not None else settings(config, folder).name
            _prove(operator, name, location, wait)
    return 0


def _destroy(operator: Operator, end: FleetPlan, location: FleetLocation | None, records: Path) -> None:
    """Destroy it, the bucket last: once the machines are gone nothing writes to it any more, and it can be emptied."""
    from master.cloud.end import bucket_is_in_the_way, empty
    from master.cloud.terraform import TerraformError

    own = location if location is not None and location.bucket_is_own else None
    if own is not None and end.full_bucket_goes:
        _copy_records(own, records)  # it goes with all that is in it: there is no later moment
    try:
        apply(operator, end)
    except TerraformError:
        if own is None or not bucket_is_in_the_way(operator.terraform):
            raise
        _copy_records(own, records)
        empty(own)
        rest = operator.plan_end(note)
        if more := rest.beyond(end):
            raise CommandError(
                f"the fleet has got {', '.join(more)} since you agreed to its end: run it again", FAILED
            ) from None
        apply(operator, rest)
    if location is not None and own is None:
        empty(location)


def _copy_records(location: FleetLocation, records: Path) -> None:
    from master.cloud.end import copy_records

    with EndsOn(OSError, code=FAILED):
        copied = copy_records(location, records, note)
    note(f"{copied} files of the bucket {location.bucket} are in {records}")


def _prove(operator: Operator, name: str, location: FleetLocation | None, wait_s: float) -> None:
    """Ask AWS for what is left of the fleet; if nothing is, the folder forgets it."""
    from master.cloud.end import remains

    keep = [location.bucket] if location is not None and not location.bucket_is_own else []
    note("asking AWS what is left")
    cloud = operator.cloud(location.region if location is not None else None)
    in_state = [f"{address} (terraform's state)" for address in operator.terraform.managed()]
    left = remains(cloud, name, wait_s, keep)
    for thing in (found := [*in_state, *left.found]):
        print(f"left: {thing}")
    for thing in left.unseen:
        print(f"not looked at: {thing}")
    if found:
        things = "1 thing" if len(found) == 1 else f"{len(found)} things"
        raise CommandError(f"{things} of the fleet {name} left, which may cost money; see the list above", FAILED)
    operator.folder.set_location(None)
    seen = ", as far as could be seen" if left.unseen else ""
    print(f"nothing is left of the fleet {name}{seen}" + (f"; the bucket {keep[0]} stays" if keep else ""))
