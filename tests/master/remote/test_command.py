"""``gougi usi --listen`` and ``--connect`` from the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.master.command import GOUGI, Running, environment, gougi

SECRET = {"GOUGI_USI_SECRET": "a secret"}


def test_an_engine_is_served_and_used(tmp_path: Path) -> None:
    serving = Running(["usi", "--listen", "127.0.0.1:0", "--single"], tmp_path, SECRET)
    try:
        address = serving.wait_for("listening at").split()[-1]
        done = subprocess.run(
            [*GOUGI, "usi", "--connect", address],
            cwd=tmp_path,
            env=environment(tmp_path, SECRET),
            input="usi\n",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        serving.press_ctrl_c()
        assert serving.end() == 130
    finally:
        serving.kill()
    assert not serving.left_behind()


def test_the_client_loads_neither_compiler_nor_fleet(tmp_path: Path) -> None:
    script = (
        "import sys; from master.cli import run; code = run(['usi', '--connect', 'nowhere'])\n"
        "print(code, *sorted({'numba', 'numpy', 'zmq', 'cluster', 'worker.jit'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "2\n"
    assert "expected HOST:PORT, got 'nowhere'" in done.stderr


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--listen", "0.0.0.0:0"], "0.0.0.0: others can reach it; it needs a secret"),
        (["--listen", "127.0.0.1:0", "--tls-cert", "none.pem"], "none.pem: No such file"),
        (["--connect", "127.0.0.1:1", "--single"], "--connect: the engine is elsewhere"),
    ],
)
def test_impossible_options_are_reported(words: list[str], error: str, tmp_path: Path) -> None:
    done = gougi("usi", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert error in done.stderr
