"""The player's processes: found by a mark in their environment, which all children inherit, and distinguished by
name."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from cluster.machine.processes import all_processes, command_of

MARK = "NEMESIS_MARK"


def marked(mark: str) -> dict[int, str]:
    """The living processes with this mark, by number: their command lines. Zombies are not included."""
    wanted = f"{MARK}={mark}".encode()
    found = {}
    for process in all_processes():
        with contextlib.suppress(OSError):
            environment = Path(f"/proc/{process.pid}/environ").read_bytes()
            if process.lives and wanted in environment.split(b"\0"):
                found[process.pid] = command_of(process.pid)
    return found


def named(processes: dict[int, str], *words: str) -> list[int]:
    """Those whose command line has one of the words, in the order of their numbers."""
    return sorted(pid for pid, command in processes.items() if any(word in command for word in words))


def send(pids: list[int], number: signal.Signals) -> None:
    """Send a signal to all that still exist."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def zombies_of(pid: int) -> int:
    """The number of zombie children of a process."""
    return sum(process.state == "Z" and process.parent == pid for process in all_processes())


def listening_ports(pid: int) -> list[int]:
    """The TCP ports that a process listens on."""
    inodes = set()
    with contextlib.suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                inodes.add(os.readlink(link).removeprefix("socket:[").removesuffix("]"))
    ports = []
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[3] == "0A" and words[9] in inodes:
            ports.append(int(words[1].rpartition(":")[2], 16))
    return ports


def log_events(folder: Path) -> Iterator[dict[str, object]]:
    """The events of all logs in ``folder``, in their order. A truncated line is skipped."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(errors="replace").splitlines():
            with contextlib.suppress(ValueError):
                yield json.loads(line)
