"""``gougi status``: the state of this user's fleets on this machine, or of a Ray cluster."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cluster.machine.processes import command_of
from master.commands.checks import check_address
from master.commands.common import FAILED, CommandError, EndsOn
from master.commands.options import Json

if TYPE_CHECKING:
    from master.ui.console import Console


def status(
    address: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="A Ray cluster to ask, or auto. Default: processes of this machine."),
    ] = None,
    as_json: Json = False,
) -> int:
    """Show the fleets that you run on this machine.

    It shows nodes, speed, work, losses and the last decision. Each gougi play, usi, analyze or book learn with a fleet
    keeps a file for this, which only its user can read. If none of them runs, the exit code is 1. For machines on AWS
    use gougi fleet status.

    With --address it asks the Ray cluster there, with the players of all machines, and shows its machines, its places
    for nodes, and the players. Ray's token comes from RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH. If the cluster does not
    answer within 20 seconds, the command ends with exit code 1.

    Examples:

      gougi status

      gougi status --address 10.0.0.1:6379 --json
    """
    from cluster.machine.status import masters

    with EndsOn(OSError, code=FAILED):
        found = [facts for facts in masters() if address in (None, "auto", facts["address"])]
    cluster = None if address is None else _ask(address)
    if as_json:
        print(json.dumps({"masters": found, **({} if cluster is None else {"cluster": cluster})}, ensure_ascii=False))
        return 0 if found or cluster is not None else FAILED
    if not found and cluster is None:
        raise CommandError("no player or engine of yours with a fleet runs here", FAILED)
    from master.ui.console import Console

    console = Console()
    if cluster is not None:
        _tell_cluster(console, str(address), cluster)
    for number, facts in enumerate(found):
        if number or cluster is not None:
            console.print()
        _tell(console, facts)
    return 0


def _ask(address: str) -> dict[str, Any]:
    """Ask the cluster for its state; ends the command if it does not answer."""
    from cluster.api import FleetError
    from cluster.drivers.ray_survey import survey

    check_address(address)
    with EndsOn(FleetError, where="--address", code=FAILED):
        return survey(address)


def _tell_cluster(console: Console, address: str, cluster: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    from master.ui.progress import span

    alive = [machine for machine in cluster["machines"] if machine["alive"]]
    places, taken = (sum(machine[key] for machine in alive) for key in ("places", "taken"))
    head = f"Ray at {address}: machines: {len(alive)}, places for nodes: {places}, taken: {taken}"
    lost = len(cluster["machines"]) - len(alive)
    console.say(head + (f"; lost machines: {lost}" if lost else ""))
    table = Table(box=None, header_style="dim", pad_edge=False)
    for name in ("machine", "address"):
        table.add_column(name, no_wrap=True)
    for name in ("places", "taken"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("players")
    for machine in alive:
        who = ", ".join(f"{job}: {count}" for job, count in machine["players"].items())
        cells = (machine["host"], machine["address"], str(machine["places"]), str(machine["taken"]), who)
        table.add_row(*map(Text, cells))
    console.print(table)
    for player in cluster["players"]:
        since = span(time.time() - player["began"])
        nodes = f"nodes: {player['nodes']}" + (
            f", waiting for a place: {player['waiting']}" if player["waiting"] else ""
        )
        console.say(f"player {player['job']} on {player['address']}, for {since}: {nodes}")
    if not cluster["players"]:
        console.say("nobody plays there")


def _tell(console: Console, facts: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    from master.records.notation import count_text, score_text
    from master.ui.progress import span

    say, now = console.say, time.time()
    doing = "searching" if facts["searching"] else "idle"
    say(f"{title(facts)}: {doing}, for {span(now - facts['began'])}")
    if facts.get("page"):
        say(f"live page: {facts['page']}")
    if facts["ray"]:
        say(f"Ray: {facts['ray']}" + (f" at {facts['address']}" if facts["address"] else ""))
    table = Table(box=None, header_style="dim", pad_edge=False)
    for name in ("node", "state", "host", "searches"):
        table.add_column(name, no_wrap=True)
    for name in ("depth", "nodes/s", "lost"):
        table.add_column(name, justify="right", no_wrap=True)
    for node in facts["nodes"]:
        cells = (node["node"], node["state"], node["host"], node["job"], str(node["depth"]), count_text(node["nps"]))
        table.add_row(*map(Text, cells), Text(f"{node['lost']} times" if node["lost"] else ""))
    console.print(table)
    ready = sum(node["state"] == "ready" for node in facts["nodes"])
    say(f"{ready} of {len(facts['nodes'])} nodes ready, {count_text(facts['nps'])} nodes/s, {facts['losses']} losses")
    for loss in facts["last_losses"][-3:]:
        say(f"lost {span(now - loss['at'])} ago: {loss['node']}: {loss['why']}")
    if (decision := facts["decision"]) is not None:
        score = score_text(decision["score"])
        say(
            f"last decision {span(now - decision['at'])} ago: {decision['move']}  {score}  depth {decision['depth']}, "
            f"{count_text(decision['nodes'])} nodes, {decision['ms'] / 1000:.1f} s, by {decision['source']}"
        )


def title(facts: dict[str, Any]) -> str:
    """``gougi play (gougi, process 4711)``, from a master's own description."""
    return f"{_command(facts['pid'])} ({facts['name']}, process {facts['pid']})"


def _command(pid: int) -> str:
    """``gougi play``, from the process itself."""
    known = ("play", "usi", "analyze", "book")
    return f"gougi {next((word for word in command_of(pid).split() if word in known), '')}".rstrip()


def stop(
    process: Annotated[
        int | None, typer.Argument(metavar="[PROCESS]", help="The player's process, if several run.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All players.")] = False,
) -> int:
    """Let a player of yours end after its game.

    The running game is played to its end, and no other one is begun; a player that waits for a game ends at once. It
    finds the gougi play that you run on this machine. If there are several, it names them and ends none: choose one by
    its process number, or --all. The exit code is 1 if there is none.

    Examples:

      gougi stop

      gougi stop 4711
    """
    from cluster.machine.status import masters

    with EndsOn(OSError, code=FAILED):
        players = [facts for facts in masters() if _command(facts["pid"]) == "gougi play"]
    chosen = [facts for facts in players if process in (None, facts["pid"])]
    if not chosen:
        asked = "" if process is None else f" as process {process}"
        others = f"; there is {', '.join(map(title, players))}" if players else ""
        raise CommandError(f"no player of yours runs here{asked}{others}", FAILED)
    if len(chosen) > 1 and not every:
        raise CommandError(
            f"several players of yours run here: {', '.join(map(title, chosen))}; name a process, or --all"
        )
    for facts in chosen:
        with EndsOn(ProcessLookupError, where=title(facts), code=FAILED):
            os.kill(facts["pid"], signal.SIGUSR1)
        print(f"{title(facts)} ends after its game")
    return 0
