"""``gougi fleet down``: the fleet's end, with proof that nothing of it is left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from master.cloud.remains import things
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
    from master.cloud.remains import Thing


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
        typer.Option("--wait", min=0, metavar="S", help="Seconds that AWS may take to forget destroyed resources."),
    ] = 120,
    state_too: Annotated[
        bool, typer.Option("--state", help="Remove the bucket of terraform's state too, with all its versions.")
    ] = False,
    folder: Dir = None,
    config: ConfigFile = None,
) -> int:
    """Remove the fleet, and check that nothing of it is left.

    If something is left, it prints a list, with exit code 1. A bucket that was made with the fleet goes too; before
    that the command copies games, logs and books from it to a folder (bucket/ in the fleet's folder). A bucket of your
    own stays. After a failure run the command again: it continues. The bucket of terraform's state stays unless you
    give --state.

    Examples:

      gougi fleet down

      gougi fleet down --yes --records ~/shogi/games
    """
    with clear_errors():
        operator = operator_of(config, folder)
        with operator.alone("gougi fleet down", note):
            location, state = operator.location(), operator.keeper.state()
            strays = operator.strays(state)
            if not state.addresses and not strays:
                note(f"there is no fleet {settings(config, folder).name}")
            else:
                can_agree(yes)  # a plan takes its time
            place = records or operator.folder.path / "bucket"
            if strays:
                for thing in strays:
                    print(f"- remove   {thing}")
                if not agreed(yes, f"remove {things(strays)} that terraform does not know?"):
                    return FAILED
            if state.addresses:
                end = operator.plan_end(note)
                show_plan(end)
                if not agreed(yes, "destroy all of this?"):
                    return FAILED
                _destroy(operator, end, location, place)
            if strays:
                _remove(operator, strays, place)
            _prove(operator, location, wait)
            if state_too:
                operator.keeper.remove()
    return 0


def _remove(operator: Operator, strays: tuple[Thing, ...], records: Path) -> None:
    """Remove resources that terraform does not know; games in a bucket are copied first."""
    from master.cloud.plan import FleetLocation
    from master.cloud.removal import kind

    cloud = operator.cloud()
    machines = tuple(thing for thing in strays if kind(thing) != "s3")
    operator.remove(machines, note)  # from now on nothing writes to the bucket
    for thing in (thing for thing in strays if thing not in machines):
        bucket = thing.id.rpartition(":")[2]
        _copy_records(FleetLocation(operator.name, cloud.region, bucket, bucket_is_own=True), records)
        operator.remove((thing,), note)


def _destroy(operator: Operator, end: FleetPlan, location: FleetLocation | None, records: Path) -> None:
    """Destroy it, the bucket last: once the machines are gone, nothing writes to the bucket, and it can be emptied."""
    from master.cloud.end import bucket_is_in_the_way, empty
    from master.cloud.terraform import TerraformError

    own = location if location is not None and location.bucket_is_own else None
    if own is not None and end.full_bucket_goes:
        _copy_records(own, records)  # the bucket goes with its content: this is the last chance to copy
    try:
        apply(operator, end)
    except TerraformError:
        if own is None or not bucket_is_in_the_way(operator.keeper.state().addresses):
            raise
        _copy_records(own, records)
        empty(own)
        rest = operator.plan_end(note)
        if more := rest.beyond(end):
            raise CommandError(
                f"{', '.join(more)} came after you agreed to remove the fleet: run the command again", FAILED
            ) from None
        apply(operator, rest)
    if location is not None and own is None:
        empty(location)


def _copy_records(location: FleetLocation, records: Path) -> None:
    from master.cloud.end import copy_records

    with EndsOn(OSError, code=FAILED):
        copied = copy_records(location, records, note)
    note(f"{copied} files of the bucket {location.bucket} are in {records}")


def _prove(operator: Operator, location: FleetLocation | None, wait_s: float) -> None:
    """Ask AWS for leftovers of the fleet; if there are none, forget the fleet."""
    keep = location.bucket if location is not None and not location.bucket_is_own else ""
    name = operator.name
    note("asking AWS for leftover resources")
    in_state = [f"{address} (terraform's state)" for address in operator.keeper.state().addresses]
    left = operator.look(wait_s)
    for thing in (found := [*in_state, *map(str, left.found)]):
        print(f"left: {thing}")
    for thing in left.unseen:
        print(f"not looked at: {thing}")
    if found:
        raise CommandError(
            f"{things(found)} of the fleet {name} left, which may cost money; see the list above", FAILED
        )
    operator.ended()
    seen = ", as far as could be seen" if left.unseen else ""
    print(f"nothing is left of the fleet {name}{seen}" + (f"; the bucket {keep} stays" if keep else ""))
