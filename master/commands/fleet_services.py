"""``gougi fleet watch`` and ``gougi fleet keep``: the services on a fleet's machines."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from master.cloud.agreed import RELEASED
from master.commands.common import FAILED, CommandError, EndsOn
from master.commands.fleet_shared import told
from master.commands.settings import ConfigFile, load


def watch(
    run_dir: Annotated[
        Path, typer.Option(envvar="GOUGI_RUN_DIR", metavar="FOLDER", help="Folder in which node processes register.")
    ],
    archive: Annotated[
        str, typer.Option(metavar="PLACE", help="Place for this machine's reports. Default: the fleet's bucket.")
    ] = "",
    bucket: Annotated[str, typer.Option(envvar="FLEET_BUCKET", hidden=True)] = "",
    name: Annotated[str, typer.Option(envvar="FLEET_NAME", metavar="NAME", help="Name of the fleet.")] = "",
    region: Annotated[str, typer.Option(envvar="FLEET_REGION", metavar="NAME", help="The AWS region.")] = "",
    endpoint: Annotated[
        str, typer.Option(metavar="URL", help="Address of the metadata service. Default: that of EC2.")
    ] = "",
    health: Annotated[
        str, typer.Option(metavar="COMMAND", help="Command whose exit code 0 says that Ray runs here. Default: none.")
    ] = "",
    poll: Annotated[float, typer.Option(min=0.05, metavar="S", help="Seconds between two looks.")] = 5.0,
) -> int:
    """Run on a worker machine: report its state, dismiss its nodes.

    A service of the fleet's machines. It sends the nodes away when AWS takes the machine. It ends with exit code 10
    when the machine is to go and its nodes are dismissed, and with 0 after SIGTERM.

    Examples:

      gougi fleet watch --run-dir /run/gougi --archive reports
    """
    from cluster.machine.presence import present
    from cluster.node.departure import InstanceMetadata
    from master.cloud.archive import open_archive
    from master.cloud.node_watch import NodeWatch

    with told():
        with EndsOn(OSError):
            present(run_dir)
        where = archive or _store(bucket, name)
        watcher = NodeWatch(
            InstanceMetadata(endpoint or None),
            run_dir,
            _event,
            open_archive(where, region or None) if where else None,
            poll,
            joined=lambda: bool(health) and _succeeds(shlex.split(health)),
        )
        return RELEASED if watcher.run(_until_signal()) else 0


def keep(
    archive: Annotated[str, typer.Option(metavar="PLACE", help="Archive, instead of [fleet] archive.")] = "",
    bucket: Annotated[str, typer.Option(envvar="FLEET_BUCKET", hidden=True)] = "",
    name: Annotated[
        str, typer.Option(envvar="FLEET_NAME", metavar="NAME", help="Name of the fleet; empty: no machines to count.")
    ] = "",
    region: Annotated[str, typer.Option(envvar="FLEET_REGION", metavar="NAME", help="The AWS region.")] = "",
    group: Annotated[
        str,
        typer.Option(
            envvar="FLEET_ASG", metavar="NAME", help="The workers' auto-scaling group; empty: complete no hook."
        ),
    ] = "",
    config: ConfigFile = None,
) -> int:
    """Run on the head: copy records, count the cost, end the fleet.

    A service of the fleet's machines. It copies records and logs to the archive, and lets workers go that have drained,
    before their group's hook runs out. It ends with exit code 10 if [fleet] idle_hours or price_cap_usd says that the
    fleet must end, and with 0 after SIGTERM; before that it makes the last copies.

    Examples:

      gougi fleet keep --archive copies
    """
    from cluster.node.departure import InstanceMetadata, MetadataError
    from master.cloud.archive import open_archive
    from master.cloud.cloud import Cloud
    from master.cloud.drained import Drained
    from master.cloud.ending import EndRule
    from master.cloud.keep import Copies, LedgerKeeper
    from master.cloud.keep import keep as run
    from master.cloud.prices import planned, types_of

    settings = load(config)
    fleet = settings.fleet
    with told():
        where = archive or fleet.archive or _store(bucket, name)
        if not where:
            raise CommandError("no archive: set [fleet] archive to s3://BUCKET/PREFIX or a folder")
        head, ledger, drained = "", None, None
        if name:
            with EndsOn(MetadataError, code=FAILED):
                head = InstanceMetadata().get("instance-id") or ""
            fleet_bucket = open_archive(_store(bucket, name) or where, region or None)
            given = fleet.variables.get("usd_per_hour", {})
            cloud = Cloud(region or None)
            ledger = LedgerKeeper(cloud, fleet_bucket, name, region, given)
            drained = Drained(cloud, fleet_bucket, group, _event) if group else None
        copies = Copies(Path(settings.records.folder), open_archive(where, region or None), _event)
        rule = EndRule(fleet.idle_hours, fleet.price_cap_usd)
        usd, unpriced = planned(fleet, region, ledger.book.listed(types_of(fleet).all) if ledger is not None else None)
        if ledger is not None and fleet.price_cap_usd and unpriced:
            # `gougi fleet plan` has refused it. Here it is no reason to stop: games would not be copied any more.
            _event("price_unknown", {"types": unpriced})
        stop = _until_signal()
        why = run(copies, ledger, head, rule, _event, stop, planned_usd_per_hour=usd, drained=drained)
        return RELEASED if why else 0


def _store(bucket: str, name: str) -> str:
    """The fleet's folder in its bucket (`master.cloud.plan.FleetLocation.store`); empty: there is no bucket."""
    return f"s3://{bucket}/{name}".rstrip("/") if bucket else ""


def _succeeds(command: list[str]) -> bool:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=3, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _until_signal() -> threading.Event:
    """Set by SIGTERM or Ctrl-C."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stop.set())
    return stop


def _event(name: str, fields: dict[str, object]) -> None:
    """A line of JSON, as in the master's log; systemd keeps it."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    print(json.dumps({"event": name, **fields, "timestamp": now}, ensure_ascii=False), flush=True)
