from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from worker.run_folder import check_settings, held


class Refused(Exception):
    pass


def test_one_process_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "mine"
    script = "import sys; from pathlib import Path; from worker.run_folder import held\n"
    script += "with held(Path(sys.argv[1]), 'gougi match', ValueError): print('held', flush=True); sys.stdin.read()"
    words = [sys.executable, "-c", script, str(folder)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(Refused) as raised, held(folder, "gougi match", Refused):
            pytest.fail("both are in")
        assert str(raised.value) == f"{folder}: another gougi match is at work there"
        other.kill()
        other.wait()
        with held(folder, "gougi match", Refused):
            pass


def test_settings_that_differ_are_named(tmp_path: Path) -> None:
    check_settings(tmp_path, {"nodes": 5, "old": 1}, {"nodes": 5}, Refused)
    with pytest.raises(Refused, match=r"begun with other settings \(nodes was 5 and is 6; seed was None and is 1\)"):
        check_settings(tmp_path, {"nodes": 5}, {"nodes": 6, "seed": 1}, Refused)
