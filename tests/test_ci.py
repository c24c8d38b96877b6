"""`.ci/run`: green only if every test has run. Its commands are simulated."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

RUN = Path(__file__).parents[1] / ".ci" / "run"
_PROGRAMS = (
    "chromium",
    "chromedriver",
    "cloud-init",
    "systemd-analyze",
    "nft",
    "prometheus",
    "node",
    "fairy-stockfish",
    "gpsusi",
)
_MAKE = """#!/bin/bash
[ "$1" = test ] || exit 0
echo "$*" >> asked
[ "$2" = WORKERS=0 ] && exit {again}
echo "{says}"
exit {first}
"""


@pytest.mark.parametrize(
    ("first", "says", "again", "code", "asked"),
    [
        (0, "all passed", 1, 0, 1),
        (1, "one failed", 0, 0, 2),
        (1, "one failed", 1, 1, 2),
        (1, "5.10s call test[worker gw0 crashed and worker restarting disabled]", 0, 0, 2),
        (1, "worker gw0 crashed and worker restarting disabled", 0, 1, 1),
    ],
    ids=["green", "mended", "red", "named so", "crashed"],
)
def test_the_end(tmp_path: Path, first: int, says: str, again: int, code: int, asked: int) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "make").write_text(_MAKE.format(first=first, says=says, again=again))
    for name in _PROGRAMS:
        (programs / name).write_text("#!/bin/sh\n")
    for path in programs.iterdir():
        path.chmod(0o755)
    (tmp_path / ".ci").mkdir()
    shutil.copy(RUN, tmp_path / ".ci" / "run")
    env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
    done = subprocess.run([tmp_path / ".ci" / "run"], env=env, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == code, done.stdout + done.stderr
    assert says in done.stdout
    assert len((tmp_path / "asked").read_text().splitlines()) == asked
