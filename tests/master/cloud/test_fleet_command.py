"""`gougi fleet` with something missing: one line that names the remedy."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from master.cli import run
from master.cloud.operator import Operator
from master.cloud.view import FleetStatus
from tests.master.command import gougi


def error(result: subprocess.CompletedProcess[str], code: int) -> str:
    assert result.returncode == code, result.stdout + result.stderr
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("gougi: "), result.stderr
    return lines[0].removeprefix("gougi: ")


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """No credentials, no region, no terraform; a folder of our own."""
    programs = tmp_path / "bin"
    programs.mkdir()
    nothing = str(tmp_path / "none")
    return {
        **dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"), ""),
        "PATH": str(programs),
        "HOME": str(tmp_path),
        "AWS_CONFIG_FILE": nothing,
        "AWS_SHARED_CREDENTIALS_FILE": nothing,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
    }


def test_without_terraform(tmp_path: Path, env: dict[str, str]) -> None:
    assert error(gougi("fleet", "plan", cwd=tmp_path, env=env), 1).startswith(
        "neither terraform nor tofu is on the PATH"
    )


def test_without_credentials_nothing_is_made(tmp_path: Path, env: dict[str, str]) -> None:
    shutil.copy("/bin/true", tmp_path / "bin" / "terraform")
    result = gougi("fleet", "up", "--yes", "--dir", str(tmp_path / "fleet"), cwd=tmp_path, env=env)
    assert error(result, 1).startswith("AWS: no AWS credentials: set AWS_PROFILE")
    assert not (tmp_path / "fleet").exists()


def test_without_credentials_the_way_to_prices_is_said(tmp_path: Path, env: dict[str, str]) -> None:
    shutil.copy("/bin/true", tmp_path / "bin" / "terraform")
    said = error(gougi("fleet", "plan", "--dir", str(tmp_path / "fleet"), cwd=tmp_path, env=env), 1)
    assert "gougi fleet plan --offline" in said
    result = gougi("fleet", "plan", "--offline", "--dir", str(tmp_path / "fleet"), cwd=tmp_path, env=env)
    assert result.returncode == 0, result.stderr
    assert "an hour costs " in result.stdout


@pytest.mark.parametrize("words", [("status",), ("scale", "3")])
def test_without_credentials_nothing_is_known_of_a_fleet(
    tmp_path: Path, env: dict[str, str], words: tuple[str, ...]
) -> None:
    result = gougi("fleet", *words, "--dir", str(tmp_path / "fleet"), cwd=tmp_path, env=env)
    assert error(result, 1).startswith("AWS: no AWS credentials")


@pytest.mark.parametrize("words", [("plan",), ("up", "--yes"), ("down", "--yes")])
def test_a_file_in_the_folders_place(tmp_path: Path, env: dict[str, str], words: tuple[str, ...]) -> None:
    shutil.copy("/bin/true", tmp_path / "bin" / "terraform")
    (tmp_path / "file").touch()
    result = gougi("fleet", *words, "--dir", str(tmp_path / "file"), cwd=tmp_path, env=env)
    assert error(result, 2) == f"{tmp_path / 'file'}: not a folder"


def test_a_configuration_that_cannot_be(tmp_path: Path, env: dict[str, str]) -> None:
    (tmp_path / "gougi.toml").write_text('[fleet]\nname = "No Name"\n')
    assert "[fleet] name:" in error(gougi("fleet", "plan", cwd=tmp_path, env=env), 2)


def test_what_runs_on_machines_says_what_it_needs(tmp_path: Path, env: dict[str, str]) -> None:
    assert "--bucket" in error(gougi("fleet", "keep", cwd=tmp_path, env=env), 2)
    assert "--run-dir" in error(gougi("fleet", "watch", cwd=tmp_path, env=env), 2)


@pytest.mark.parametrize(("head", "code"), [("running", 0), ("gone", 1), ("stopped", 1)])
def test_status_fails_if_the_head_does_not_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, head: str, code: int
) -> None:
    now = FleetStatus("gougi", "us-east-1", 0, head, (), 0.0, ())
    monkeypatch.setattr(Operator, "facts", lambda _self: None)
    monkeypatch.setattr(Operator, "status", lambda _self, _facts: now)
    assert run(["fleet", "status", "--json", "--dir", str(tmp_path)]) == code
    said = json.loads(capsys.readouterr().out)
    assert (said["head"], said["head_runs"]) == (head, code == 0)
