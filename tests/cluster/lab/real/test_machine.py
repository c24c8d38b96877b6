"""Figures of the machine, and of a player's processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from cluster.lab.real import machine

ONE = min(os.sched_getaffinity(0))
BURN = "import time\nwhile time.process_time() < {}: pass\nprint('burnt', flush=True)\ninput()"


def burner(cpu_s: float, *words: str) -> subprocess.Popen[str]:
    """A process that has taken so many CPU seconds once it says so, and then waits."""
    command = [sys.executable, "-c", BURN.format(cpu_s), *words]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_cpu_seconds_by_kind() -> None:
    with burner(0.3, "cluster.node.process") as fallback, burner(0.1) as other:
        for process in (fallback, other):
            assert process.stdout is not None
            assert process.stdout.readline() == "burnt\n"
        family = machine.Family.of(os.getpid(), fleet=True)
        assert family.kinds[os.getpid()] == "master"
        assert (family.kinds[fallback.pid], family.kinds[other.pid]) == ("fallback", "master")
        used = family.cpu_s()
        assert used["fallback"] >= 0.28
        assert used["master"] >= 0.08
        assert machine.Family.of(os.getpid(), fleet=False).kinds[os.getpid()] == "nodes"
        for process in (fallback, other):
            process.communicate("\n")
    assert family.cpu_s()["fallback"] == 0.0, "who has ended counts no more"


def test_what_a_core_did() -> None:
    before = machine.busy_s([ONE])
    deadline = time.monotonic() + 60
    with burner(0.5) as process:
        os.sched_setaffinity(process.pid, {ONE})
        assert process.stdout is not None
        process.stdout.readline()
        process.communicate("\n")
    while machine.busy_s([ONE]) - before < 0.3:
        assert time.monotonic() < deadline, "half a second of work on it was not seen"
        time.sleep(0.05)
    assert machine.busy_s([10**6]) == 0


def test_a_machine_that_is_not_idle_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = iter([10.0, 10.0 + 2.0])
    monkeypatch.setattr(machine, "busy_s", lambda _: next(busy))
    monkeypatch.setattr(machine, "_twins", lambda _: (0, 4))
    idle, twins = machine.warnings([0, 4])
    assert "the machine is not idle: others take" in idle
    assert "cores 0 and 4 are two threads of one core" in twins
    monkeypatch.setattr(machine, "busy_s", lambda _: 5.0)
    monkeypatch.setattr(machine, "_twins", lambda _: None)
    assert machine.warnings([0]) == []


def test_what_the_folder_says() -> None:
    found = machine.about([ONE])
    assert found["cores"] == str(ONE)
    assert found["of"] >= 1
    assert found["load"] >= 0
