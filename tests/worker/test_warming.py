"""Compiling in a separate process: it can be ended at any moment, and reports its error."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.master.command import Running
from worker import warming
from worker.warming import Warming, WarmingError


@pytest.fixture
def cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("GOUGI_CACHE_DIR", str(folder))
    monkeypatch.setattr(warming, "cache_dir", lambda: folder)
    return folder


def test_end_ends_it_wherever_it_is(cold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Another package of the same name in the current folder, such as a checkout beside an installed Gougi, is not used.
    (tmp_path / "worker").mkdir()
    (tmp_path / "worker" / "__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    begun, found = threading.Event(), []
    made = Warming()
    thread = threading.Thread(target=lambda: found.append(made.run(lambda *_: begun.set())))
    thread.start()
    assert begun.wait(60), "it compiles"
    made.end()
    thread.join(20)
    assert found == [False]
    assert not list(cold.rglob("complete"))


def test_a_session_in_a_clone_compiles_the_code_of_the_clone(tmp_path: Path) -> None:
    """There the clone is not among the folders of imports, but another Gougi may be."""
    (tmp_path / "worker").mkdir()
    (tmp_path / "worker" / "__init__.py").touch()
    done = subprocess.run(
        [sys.executable, "-c", "import worker.warming as w; one = w.Warming(); print(one.run(lambda *_: one.end()))"],
        cwd=Path(warming.__file__).parents[1],
        env={**os.environ, "PYTHONPATH": str(tmp_path), "GOUGI_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "False\n", f"it compiles: {done.stderr}"


def test_an_ended_compilation_does_not_begin(cold: Path) -> None:
    made = Warming()
    made.end()
    assert made.run() is False
    assert not cold.exists()


def test_if_all_is_compiled_no_process_begins(cold: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cold.mkdir()
    (cold / "complete").touch()
    os.utime(cold, (time.time() - 200_000,) * 2)
    monkeypatch.setattr(warming.subprocess, "Popen", None)
    assert Warming().run() is True
    assert cold.stat().st_mtime > time.time() - 60, "it is in use"


def test_a_failure_is_told_by_the_last_words(cold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "llvmlite.py").write_text("raise RuntimeError('no compiler here')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(WarmingError, match="no compiler here"):
        Warming().run()
    assert not cold.exists()


@pytest.mark.slow
@pytest.mark.parametrize("words", [["usi", "--single"], ["usi"]])
def test_quit_while_it_compiles(tmp_path: Path, words: list[str]) -> None:
    running = Running(words, tmp_path, stdin=subprocess.PIPE, env={"GOUGI_CACHE_DIR": str(tmp_path / "cache")})
    stdin = running.process.stdin
    assert stdin is not None
    try:
        stdin.write("usi\nisready\n")
        stdin.flush()
        running.wait_for("compiling", 60)
        stdin.write("quit\n")
        stdin.flush()
        assert running.process.wait(60) == 0
        assert "readyok" not in "".join(running.lines)
        assert not list((tmp_path / "cache").rglob("complete")), "it did not wait for the end"
        assert not running.left_behind()
    finally:
        running.kill()
