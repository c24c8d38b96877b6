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
from master.commands.common import EndsOn
from master.commands.fleet_shared import clear_errors
from master.commands.settings import ConfigFile, load


def watch(
    run_dir: Annotated[
        Path, typer.Option(envvar="GOUGI_RUN_DIR", metavar="FOLDER", help="Folder in which node processes register.")
    ],
    bucket: Annotated[
        str,
        typer.Option(envvar="FLEET_BUCKET", metavar="NAME", help="Bucket for this machine's reports. Default: none."),
    ] = "",
    name: Annotated[str, typer.Option(envvar="FLEET_NAME", metavar="NAME", help="Name of the fleet.")] = "",
    region: Annotated[str, typer.Option(envvar="FLEET_REGION", metavar="NAME", help="The AWS region.")] = "",
    health: Annotated[
        str, typer.Option(metavar="COMMAND", help="Command whose exit code 0 says that Ray runs here. Default: none.")
    ] = "",
    poll: Annotated[float, typer.Option(min=0.05, metavar="S", help="Seconds between two checks.")] = 5.0,
) -> int:
    """Run on a worker machine: report its state, send its nodes away.

    A service of the fleet's machines. It sends the nodes away when AWS takes the machine. It ends with exit code 10
    when the machine must go and its nodes have been sent away, and with 0 after SIGTERM.

    Examples:

      gougi fleet watch --run-dir /run/gougi
    """
    from cluster.machine.presence import present
    from cluster.node.departure import InstanceMetadata
    from master.cloud.bucket import Bucket
    from master.cloud.node_watch import NodeWatch

    with clear_errors():
        with EndsOn(OSError):
            present(run_dir)
        watcher = NodeWatch(
            InstanceMetadata(),
            run_dir,
            _event,
            Bucket(bucket, name, region or None) if bucket else None,
            poll,
            joined=lambda: bool(health) and _succeeds(shlex.split(health)),
        )
        return RELEASED if watcher.run(_until_signal()) else 0


def keep(
    bucket: Annotated[str, typer.Option(envvar="FLEET_BUCKET", metavar="NAME", help="The fleet's bucket.")],
    name: Annotated[str, typer.Option(envvar="FLEET_NAME", metavar="NAME", help="Name of the fleet.")],
    group: Annotated[
        str, typer.Option(envvar="FLEET_ASG", metavar="NAME", help="The auto-scaling group of the workers.")
    ],
    region: Annotated[str, typer.Option(envvar="FLEET_REGION", metavar="NAME", help="The AWS region.")] = "",
    config: ConfigFile = None,
) -> int:
    """Run on the head: keep the workers' group, end an idle fleet.

    A service of the fleet's machines. It releases drained workers and counts new ones after they have joined. It
    replaces silent machines. After three failed boots in a row it starts no more machines. It ends with exit code
    10 if [fleet] idle_hours says that the fleet must end, and with 0 after SIGTERM.

    Examples:

      gougi fleet keep --bucket games --name gougi --group gougi-workers
    """
    from master.cloud import keep as service
    from master.cloud.bucket import Bucket
    from master.cloud.cloud import Cloud

    settings = load(config)
    with clear_errors():
        reports = Bucket(bucket, name, region or None)
        workers = service.Workers(Cloud(region or None), reports, group, _event)
        records = Path(settings.records.folder)
        why = service.keep(records, settings.fleet.idle_hours, workers, _event, _until_signal())
        return RELEASED if why else 0


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
