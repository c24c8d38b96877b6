"""A command as a child of the loop."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import math, os, signal
from master.learning.runner import run_command
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
