"""A file's lock between processes, here and as on Windows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.master.command import ROOT

SCRIPT = """
import sys
if sys.argv[2] == "windows":
    from tests.gougi.no_posix import plant
    plant()
from worker.locks import lock
file = open(sys.argv[1], "a+b")
file.write(b"words"), file.flush()
try:
    lock(file, wait=sys.argv[3] == "wait")
except BlockingIOError:
    print("taken", flush=True)
else:
    print("locked", file.tell(), flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("system", ["here", "windows"])
def test_one_process_has_it_until_it_ends(system: str, tmp_path: Path) -> None:
    def begin(how: str) -> subprocess.Popen[str]:
        words = [sys.executable, "-c", SCRIPT, str(tmp_path / "file"), system, how]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    with begin("try") as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "locked 5\n"
        with begin("try") as second:
            assert second.communicate()[0] == "taken\n"
        with begin("wait") as third:
            first.kill()
            first.wait()
            assert third.communicate()[0].startswith("locked ")
