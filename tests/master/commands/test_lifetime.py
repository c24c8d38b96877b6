"""A command's life: signals, and processes that must not outlive it. Each case runs in a separate process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.master.command import ROOT, environment

PROGRAM = """
import asyncio, subprocess, sys
from master.commands.lifetime import Interrupted, run_to_end

async def main():
    {body}

try:
    print("result", run_to_end(main), flush=True)
except Interrupted:
    print("interrupted", flush=True)
"""
# A grandchild that ignores SIGTERM and whose parent is gone: the worst leftover.
STUBBORN = """subprocess.Popen([sys.executable, "-c",
        "import subprocess, sys; subprocess.Popen([sys.executable, '-c', "
        "'import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(\\"ready\\", flush=True); "
        "time.sleep(60)'])"])"""


def begin(tmp_path: Path, body: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(body=body)],
        cwd=ROOT,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def test_a_result(tmp_path: Path) -> None:
    program = begin(tmp_path, "return 42")
    assert program.communicate(timeout=20)[0] == "result 42\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_and_waits_for_the_clean_up(tmp_path: Path, number: signal.Signals) -> None:
    body = """print("ready", flush=True)
    try:
        await asyncio.sleep(60)
    finally:
        await asyncio.sleep(0.2)
        print("cleaned", flush=True)"""
    program = begin(tmp_path, body)
    assert program.stdout is not None
    assert program.stdout.readline() == "ready\n"
    program.send_signal(number)
    assert program.communicate(timeout=20)[0] == "cleaned\ninterrupted\n"
    assert program.returncode == 0


def test_leftover_processes_are_ended(tmp_path: Path) -> None:
    program = begin(tmp_path, f"{STUBBORN}\n    await asyncio.sleep(1.5)\n    return 'done'")
    out = program.communicate(timeout=30)[0]
    assert "ready" in out
    assert "result done" in out  # and the pipe is closed: nobody else holds it


def test_the_second_signal_does_not_wait(tmp_path: Path) -> None:
    body = """print("ready", flush=True)
    try:
        await asyncio.sleep(60)
    finally:
        print("cleaning", flush=True)
        await asyncio.sleep(60)"""
    program = begin(tmp_path, f"{STUBBORN}\n    await asyncio.sleep(0.5)\n    {body}")
    assert program.stdout is not None
    assert any("ready" in line for line in program.stdout)
    time.sleep(1)
    os.kill(program.pid, signal.SIGINT)
    assert any("cleaning" in line for line in program.stdout)
    os.kill(program.pid, signal.SIGINT)
    assert program.communicate(timeout=10)[0] == ""
    assert program.returncode == 130


ORPHAN = """subprocess.run([sys.executable, "-c",
        "import subprocess; subprocess.Popen(['sleep', '0.5'])"], check=True)"""
"""A grandchild whose parent is gone, and which ends by itself."""
ZOMBIES = """open(f"/proc/{__import__('os').getpid()}/task/{__import__('os').getpid()}/children").read().split()"""


def test_the_dead_are_reaped_as_they_come(tmp_path: Path) -> None:
    body = f"""{ORPHAN}
    before = {ZOMBIES}
    own = await asyncio.create_subprocess_exec(sys.executable, "-c", "raise SystemExit(7)")
    await asyncio.sleep(4)
    return len(before), {ZOMBIES}, await own.wait()"""
    program = begin(tmp_path, body)
    assert program.communicate(timeout=30)[0] == "result (1, [], 7)\n"
