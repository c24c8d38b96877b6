"""Commands that are forked: each is a process of its own, whatever became of the one before."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.master.command import environment, gougi
from tests.master.forks import Server


def test_nothing_is_left_of_the_command_before(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "gougi.toml").write_text("[engine]\nthreads = 5\n")
    asked = {"GOUGI_ENGINE_HASH_MB": "33"}
    first = gougi("config", cwd=tmp_path / "other", env=asked).stdout
    second = gougi("config", cwd=tmp_path).stdout
    assert "\nthreads = 5 " in first and "\nhash_mb = 33 " in first
    assert "\nthreads = 5 " not in second and "\nhash_mb = 33 " not in second
    assert gougi("eval", "--file", "-", cwd=tmp_path, text="bad\n").returncode == 2
    assert gougi("perft", "1", cwd=tmp_path).stdout == "30\n"


def test_a_command_that_does_not_end_is_killed_and_the_next_one_runs(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        gougi("serve", "--port", "0", "--records", "games", cwd=tmp_path, timeout_s=0.2)
    assert gougi("perft", "1", cwd=tmp_path).returncode == 0


def test_another_interpreter_is_not_forked(tmp_path: Path) -> None:
    begins_with = environment(tmp_path)
    server = Server(Path(__file__).parents[2], begins_with)
    try:
        assert server.fits({**begins_with, "GOUGI_ENGINE_THREADS": "3"})
        assert not server.fits({**begins_with, "PYTHONHASHSEED": "1"})
        assert not server.fits({**begins_with, "LC_ALL": "ja_JP.UTF-8"})
    finally:
        server.close()
