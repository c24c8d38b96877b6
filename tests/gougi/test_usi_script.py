"""``gougi-usi``: an engine without arguments."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.master.command import environment

SCRIPT = "from gougi.__main__ import usi; usi()"


def ask(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, *words],
        cwd=folder,
        env=environment(folder, variables),
        input="usi\nquit\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def is_fleet(done: subprocess.CompletedProcess[str]) -> bool:
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert lines[-1] == "usiok"
    return any(line.startswith("option name Nodes ") for line in lines)


def test_by_default_it_is_one_searcher(tmp_path: Path) -> None:
    assert not is_fleet(ask(tmp_path))


@pytest.mark.parametrize("where", ["file", "environment", "arguments"])
def test_it_is_the_fleet_if_so_configured(where: str, tmp_path: Path) -> None:
    if where == "file":
        (tmp_path / "gougi.toml").write_text("[usi]\nfleet = true\n")
    words = ["--nodes", "1"] if where == "arguments" else []
    variables = {"GOUGI_USI_FLEET": "true"} if where == "environment" else {}
    assert is_fleet(ask(tmp_path, *words, **variables))


def test_the_environment_goes_before_the_file(tmp_path: Path) -> None:
    (tmp_path / "gougi.toml").write_text("[usi]\nfleet = true\n")
    assert not is_fleet(ask(tmp_path, GOUGI_USI_FLEET="false"))


def test_a_configuration_folder_that_cannot_be_entered_is_empty(tmp_path: Path) -> None:
    """As the home of another user, or one with a name too long, which fails for root too."""
    assert not is_fleet(ask(tmp_path, XDG_CONFIG_HOME=f"/{'x' * 300}"))


@pytest.mark.skipif(os.name != "posix", reason="a shell closes the stream")
@pytest.mark.parametrize("closed", ["2>&-", "1>&-"])
def test_a_launcher_may_close_a_stream(closed: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, SCRIPT],
        cwd=tmp_path, env=environment(tmp_path, {}), input="usi\nquit\n",
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stdout.endswith("usiok\n") == (closed == "2>&-")


def test_a_wrong_configuration_is_told(tmp_path: Path) -> None:
    (tmp_path / "gougi.toml").write_text("[usi]\nfleat = true\n")
    done = ask(tmp_path)
    assert done.returncode == 2
    assert "[usi] fleat: no such key" in done.stderr
