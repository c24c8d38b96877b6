"""A command as a child of the loop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from lab.learning.run import _OURS, _follow

SCRIPT = """
import math, os, signal
from lab.learning.run import run_command
os.register_at_fork({when}=lambda: signal.raise_signal(signal.{name}))
ended = run_command(["--version"], math.inf)
print(ended.interrupted)
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("when", ["before", "after_in_parent"])
def test_a_signal_while_the_child_is_made_is_heard(when: str, name: str) -> None:
    """In its hooks around a fork Python prints a KeyboardInterrupt, and goes on."""
    script = SCRIPT.format(when=when, name=name)
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout.splitlines()[-1:]) == (0, ["True"]), ran.stderr


@pytest.mark.parametrize("after_s", [0, 0.01, 0.03])
def test_ctrl_c_while_the_child_starts_is_no_traceback(after_s: float) -> None:
    """Python starts for some 20 ms before any line of ours runs."""
    child = subprocess.Popen(
        [*_OURS, "selfplay", "--help"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
        preexec_fn=_follow(os.getpid()),
    )
    time.sleep(after_s)
    child.send_signal(signal.SIGINT)
    _, complaints = child.communicate(timeout=60)
    assert (child.returncode, complaints) == (130, b"")
