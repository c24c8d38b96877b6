"""A short run of the nemesis on real processes."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.timeout(280)
def test_a_short_run() -> None:
    command = [sys.executable, "-m", "benchmarks.nemesis", "--minutes", "0.5", "--seed", "5", "--byoyomi", "300"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=270, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    answers = re.search(r"(\d+) questions, (\d+) answers", done.stdout)
    assert answers is not None and int(answers[2]) > 10
