"""A nemesis: real processes are killed, stopped, cut off and left without disk space at random, from a seed, while a
GUI asks for move after move; then the answers are checked, and that no process or file is left.

    python -m benchmarks.nemesis --minutes 30 --seed 7

Faults come in bursts that overlap; after each burst it prints how long the fleet took to be complete again. As root the
player gets its own network and disk, so that lines can be cut and the disk filled; otherwise these faults are left out.
Source of the idea: Jepsen's nemesis (https://jepsen.io).
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from benchmarks.figures import busy
from benchmarks.nemesis.history import History
from benchmarks.nemesis.player_process import Games, PlayerError, PlayerProcess, watch_sleep
from benchmarks.nemesis.processes import listening_ports, send
from benchmarks.nemesis.schedule import ENDING, Kind, Strike, burst

_APART = "NEMESIS_APART"
_DISK_MB = 64
_GONE_S = 75.0
"""A node whose master and fork server were both killed ends after a minute (docs/explanation/failures.md)."""


class Nemesis:
    """One run. ``faults``: the faults found in the player."""

    def __init__(self, nodes: int, byoyomi_ms: int, folder: Path, rng: random.Random, kinds: list[Kind]) -> None:
        self.history = History()
        self.faults: list[str] = []
        self.whole_s: dict[str, list[float]] = defaultdict(list)
        """Seconds until the fleet was complete again, by the kind of fault."""
        self.gone_s: list[float] = []
        self._nodes = nodes
        self._folder = folder
        self._rng = rng
        self._kinds = kinds
        self._over = False
        self._player = self._begin()
        self._games = Games(self._player, byoyomi_ms)
        watch_sleep(self.history, lambda: self._over)

    def run(self, seconds: float, patience_s: float) -> None:
        """Inject bursts of faults until the time is over."""
        end = time.monotonic() + seconds
        self._games.start()
        try:
            self._wait_until_whole("the start", patience_s)
            while time.monotonic() < end:
                self._burst(patience_s)
            self._games.rest()
            self._end(orderly=True)
        finally:
            self._over = True
            self._player.destroy()
            self._games.stop()
        self.faults += self.history.faults()

    def _begin(self) -> PlayerProcess:
        player = PlayerProcess(self._nodes, self._folder, self.history)
        try:
            typer.echo(f"ready after {player.open():.1f} s")
        except PlayerError:
            player.destroy()
            raise
        self._note("a new player")
        return player

    def _note(self, what: str) -> None:
        self.history.befell.append((time.monotonic() * 1000, what))

    def _burst(self, patience_s: float) -> None:
        began = time.monotonic()
        pending: list[threading.Thread] = []
        strikes = burst(self._rng, self._kinds)
        for strike in strikes:
            time.sleep(max(0.0, began + strike.after_s - time.monotonic()))
            if strike.kind in ENDING:
                for thread in pending:
                    thread.join()
                self._end(orderly=strike.kind is Kind.RESTART)
                self._player = self._begin()
                self._games.hand_over(self._player)
            else:
                thread = threading.Thread(target=self._strike, args=(strike,))
                thread.start()
                pending.append(thread)
        for thread in pending:
            thread.join()
        self._wait_until_whole(" + ".join(strike.kind for strike in strikes), patience_s)

    def _strike(self, strike: Strike) -> None:
        player, kind = self._player, strike.kind
        self._note(kind)
        match kind:
            case Kind.CUT:
                _cut(player.pid, strike.lasts_s)
            case Kind.DISK_FULL:
                _fill(player.temporary / "filler", strike.lasts_s)
            case _:
                pids = self._victims(kind)
                if pids and kind not in (Kind.KILL_NODES, Kind.STOP_NODES):
                    pids = [pids[min(len(pids) - 1, int(strike.pick * len(pids)))]]
                send(pids, signal.SIGSTOP if strike.lasts_s else signal.SIGKILL)
                if strike.lasts_s:
                    time.sleep(strike.lasts_s)
                    send(pids, signal.SIGCONT)

    def _victims(self, kind: Kind) -> list[int]:
        player = self._player
        match kind:
            case Kind.KILL_NODE | Kind.KILL_NODES | Kind.STOP_NODE | Kind.STOP_NODES:
                return player.node_pids()
            case Kind.KILL_FALLBACK:
                return player.fallback_pids()
            case Kind.KILL_FORK_SERVER:
                return [pid for pid in player.pids("cluster.node.fork_server") if pid not in player.node_pids()]
        return []

    def _end(self, orderly: bool) -> None:
        """End the player, and look for anything that it leaves."""
        player = self._player
        self._games.rest(wait=orderly)
        player.give_up()
        if orderly:
            if zombies := player.zombies():
                self._found(f"{zombies} dead children that were not collected")
            player.close()
        else:
            send([player.pid], signal.SIGKILL)
        left, spent = player.left_behind(_GONE_S)
        self.gone_s.append(spent)
        for line in left:
            self._found(f"left over: {line}")
        player.destroy()

    def _wait_until_whole(self, what: str, patience_s: float) -> None:
        began = time.monotonic()
        while (live := self._player.live()) < self._nodes:
            if time.monotonic() - began > patience_s:
                self._found(f"{live} of {self._nodes} nodes {patience_s:.0f} s after: {what}")
                return
            time.sleep(0.05)
        spent = time.monotonic() - began
        self.whole_s[what].append(spent)
        typer.echo(f"{what}: whole after {spent:.1f} s")

    def _found(self, fault: str) -> None:
        self.faults.append(fault)
        typer.echo(f"FAULT: {fault}")


def _cut(pid: int, lasts_s: float) -> None:
    """Block the ports of the master for some time."""
    ports = ", ".join(str(port) for port in listening_ports(pid))
    if not ports:
        return
    rules = (
        "add table ip nemesis; add chain ip nemesis in { type filter hook input priority 0; }; "
        f"add rule ip nemesis in tcp dport {{ {ports} }} drop; add rule ip nemesis in tcp sport {{ {ports} }} drop"
    )
    subprocess.run(["nft", rules], check=True)
    time.sleep(lasts_s)
    subprocess.run(["nft", "delete table ip nemesis"], check=True)


def _fill(filler: Path, lasts_s: float) -> None:
    """Keep the player's disk full for some time."""
    try:
        with filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"\0" * (1 << 20))
    except OSError:
        time.sleep(lasts_s)
    finally:
        filler.unlink(missing_ok=True)


def main(
    minutes: Annotated[float, typer.Option(min=0.1, metavar="N", help="Time in which faults are injected.")] = 30,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed of the faults. Default: another one each time.")
    ] = None,
    nodes: Annotated[int, typer.Option(min=1, metavar="N", help="Nodes of the fleet.")] = 2,
    byoyomi: Annotated[int, typer.Option(min=50, metavar="MS", help="Time for each move.")] = 500,
    load: Annotated[int, typer.Option(min=0, metavar="N", help="Busy processes beside it.")] = 0,
    patience: Annotated[float, typer.Option(metavar="S", help="Time that a fleet may take to be whole again.")] = 120,
    only: Annotated[list[str] | None, typer.Option(metavar="WORD", help="Only faults with this word.")] = None,
) -> None:
    """Inject faults into a whole player. Exit code 1: the player failed."""
    apart = os.geteuid() == 0
    if apart and _APART not in os.environ:
        raise typer.Exit(_run_apart())
    kinds = [kind for kind in Kind if apart or kind not in (Kind.CUT, Kind.DISK_FULL)]
    kinds = [kind for kind in kinds if not only or any(word in kind for word in only)]
    if not kinds:
        raise typer.BadParameter(f"no fault has {' or '.join(only or [])} in its name; there are: {', '.join(Kind)}")
    seed = random.randrange(1 << 32) if seed is None else seed
    typer.echo(f"seed {seed}; {'a network and a disk of its own' if apart else 'not root: no cuts, no full disk'}")
    # A short name: the path of a socket may have at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="nm-") as folder, busy(load):
        try:
            if apart:
                disk = Path(folder, "t")
                disk.mkdir()
                subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_DISK_MB}m", "none", disk], check=True)
            nemesis = Nemesis(nodes, byoyomi, Path(folder), random.Random(seed), kinds)
            nemesis.run(minutes * 60, patience)
        finally:
            if apart:
                subprocess.run(["umount", "-l", Path(folder, "t")], check=False)
    _report(nemesis)
    if nemesis.faults:
        raise typer.Exit(1)


def _run_apart() -> int:
    """The same command in separate namespaces."""
    inner = 'ip link set lo up && exec "$0" "$@"'
    command = [sys.executable, "-m", "benchmarks.nemesis", *sys.argv[1:]]
    return subprocess.run(
        ["unshare", "--net", "--mount", "sh", "-ec", inner, *command], env={**os.environ, _APART: "1"}, check=False
    ).returncode


def _report(nemesis: Nemesis) -> None:
    late = nemesis.history.lateness_ms()
    typer.echo(f"{len(nemesis.history.questions)} questions, {len(late)} answers")
    if late:
        typer.echo(f"answers before their byoyomi: median {-median(late):.0f} ms, the latest {-max(late):.0f} ms")
    single = {what: times for what, times in nemesis.whole_s.items() if "+" not in what}
    for what, times in sorted(single.items()):
        typer.echo(f"whole after {what!r}: median {median(times):.1f} s, worst {max(times):.1f} s of {len(times)}")
    if nemesis.gone_s:
        typer.echo(f"all gone after its end: median {median(nemesis.gone_s):.1f} s, worst {max(nemesis.gone_s):.1f} s")
    typer.echo(f"{len(nemesis.faults)} faults" + "".join(f"\n  {fault}" for fault in nemesis.faults))


if __name__ == "__main__":
    typer.run(main)
