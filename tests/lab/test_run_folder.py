from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.run_folder import RunFolder


class Refused(Exception):
    pass


class Folder(RunFolder):
    command = "gougi match"
    refused = Refused


def test_one_process_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "mine"
    script = "import sys; from pathlib import Path; from tests.lab.test_run_folder import Folder\n"
    script += "with Folder(Path(sys.argv[1])).held(): print('held', flush=True); sys.stdin.read()"
    words = [sys.executable, "-c", script, str(folder)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(words, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(Refused) as raised, Folder(folder).held():
            pytest.fail("both are in")
        assert str(raised.value) == f"{folder}: another gougi match is at work there"
        other.kill()
        other.wait()
        with Folder(folder).held():
            pass


def test_settings_that_differ_are_named(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.check_settings({"nodes": 5, "old": 1}, {"nodes": 5})
    with pytest.raises(Refused, match=r"begun with other settings \(nodes was 5 and is 6; seed was None and is 1\)"):
        folder.check_settings({"nodes": 5}, {"nodes": 6, "seed": 1})
    before, wanted = {"options": {"Threads": 1, "Hash": 2}, "test": None}, {"options": {"Threads": 1}, "test": {"a": 1}}
    with pytest.raises(Refused, match=r"\(options.Hash was 2 and is None; test was None and is \{'a': 1\}\)"):
        folder.check_settings(before, wanted)


def test_settings_with_the_name_of_a_file_that_is_not_utf_8_come_back(tmp_path: Path) -> None:
    """Archives from Windows leave names in Shift JIS."""
    facts = {"openings": os.fsdecode(b"/nets/\x90\x85\x8f\xa1"), "player": "水匠"}
    folder = Folder(tmp_path)
    folder.keep_facts(tmp_path / "facts", facts)
    assert folder.known_facts(tmp_path / "facts") == facts
    assert "水匠" in (tmp_path / "facts").read_text(encoding="utf-8")
