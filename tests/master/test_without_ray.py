"""On one machine no process loads any part of Ray: here a recording `ray` shadows the real one.

`tests.master.practice.test_embedded` has a whole game of this kind, with a restarted node.
"""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest

from tests.master.command import GOUGI, environment
from tests.master.planted_ray import Planted


@pytest.fixture
def planted(tmp_path: Path) -> Planted:
    return Planted(tmp_path)


def test_a_process_that_loads_ray_is_found(planted: Planted, tmp_path: Path) -> None:
    """With an address Ray is loaded; otherwise the other tests here would prove nothing."""
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
