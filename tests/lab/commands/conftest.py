"""Fixtures for the tests of the laboratory's commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from master.cli import run


@pytest.fixture
def refusal(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs a command that has to fail, in a folder with ``broken.bin``; returns its one line. It leaves no files."""

    def refused(*words: str) -> str:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "broken.bin").write_bytes(b"no network")
        before = set(tmp_path.iterdir())
        assert run(words) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("gougi: ")
        assert set(tmp_path.iterdir()) == before
        return line

    return refused
