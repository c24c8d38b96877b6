"""On one machine nothing of Ray is loaded, in any process: here a `ray` stands in the way that says who loads it."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from tests.master.command import GOUGI, ROOT, Running, environment

TELLS = """
import os, sys
with open({file!r}, "a") as file:
    print(os.getpid(), *sys.orig_argv, file=file)
raise ImportError("nobody loads Ray here")
"""


class Planted:
    """The `ray` that tells, and what it told."""

    def __init__(self, folder: Path) -> None:
        package, self._file = folder / "first" / "ray", folder / "loaded"
        package.mkdir(parents=True)
        self._file.touch()
        (package / "__init__.py").write_text(TELLS.format(file=str(self._file)))
        self.env = {"PYTHONPATH": os.pathsep.join([str(package.parent), str(ROOT)])}

    @property
    def told(self) -> str:
        """A line for each process that loaded it: its number and its command."""
        return self._file.read_text()


@pytest.fixture
def planted(tmp_path: Path) -> Planted:
    return Planted(tmp_path)


def test_who_loads_ray_is_found(planted: Planted, tmp_path: Path) -> None:
    """With an address it is loaded: else the other tests here would show nothing."""
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        command = [*GOUGI, "status", "--address", f"127.0.0.1:{somebody.getsockname()[1]}"]
        assert (
            subprocess.run(command, cwd=tmp_path, env=environment(tmp_path, planted.env), check=False).returncode == 1
        )
    assert "cluster.drivers.ray_survey" in planted.told


def test_the_state_of_this_machine(planted: Planted, tmp_path: Path) -> None:
    env = planted.env | {"GOUGI_RUN_DIR": str(tmp_path / "run")}
    command = [*GOUGI, "status"]
    assert subprocess.run(command, cwd=tmp_path, env=environment(tmp_path, env), check=False).returncode == 1
    assert planted.told == ""


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_game_of_two_nodes(planted: Planted, tmp_path: Path) -> None:
    words = ["play", "--nodes", "2", "--threads", "1", "--hash", "16", "--time", "1+1", "--max-moves", "4"]
    running = Running([*words, "--records", "games"], tmp_path, planted.env)
    try:
        assert running.end(200) == 0, running.output
    finally:
        running.kill()
    assert "node-2 is ready" in running.output
    assert not running.left_behind()
    assert planted.told == ""
