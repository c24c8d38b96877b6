"""Scripts, image and cloud-init by the tools that know them; and that each tool finds an error that is planted."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.deploy.rendered import DEPLOY, rendered, tool

SCRIPTS = sorted((DEPLOY / "scripts").glob("*.sh"))


def run(*command: str | Path, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, stdin=subprocess.DEVNULL)


@pytest.mark.slow
def test_the_scripts() -> None:
    ran = run(tool("shellcheck"), "--external-sources", *SCRIPTS)
    assert (ran.returncode, ran.stdout) == (0, "")


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ('mv "$new" "$RUN/$1"', "mv $new $RUN/$1", "SC2086"),
        ('"$FLEET_ROLE" = head ]', "$FLEET_ROLE == head ]", "SC2086"),
        ('[ "$token" != unset ]', '[ "$token" != unset', "SC1073"),
        ("esac", "", "SC1"),
    ],
)
def test_shellcheck_finds(tmp_path: Path, old: str, new: str, found: str) -> None:
    name = "boot.sh" if old == "esac" else "fetch-secrets.sh"
    text = (DEPLOY / "scripts" / name).read_text()
    assert old in text
    shutil.copy(DEPLOY / "scripts" / "lib.sh", tmp_path)
    (tmp_path / name).write_text(text.replace(old, new))
    ran = run(tool("shellcheck"), "--external-sources", tmp_path / name)
    assert ran.returncode != 0
    assert found in ran.stdout


def test_every_script_can_be_run_and_stops_at_an_error() -> None:
    for script in SCRIPTS:
        text = script.read_text()
        if script.name == "lib.sh":
            assert "set -euo pipefail" in text
            continue
        assert script.stat().st_mode & 0o111, f"{script.name} is not executable"
        assert text.startswith("#!/usr/bin/env bash\n"), script.name
        assert "set -euo pipefail" in text or "/lib.sh" in text, f"{script.name} goes on after an error"


def test_the_image() -> None:
    ran = run(tool("hadolint"), DEPLOY / "Dockerfile")
    assert (ran.returncode, ran.stdout) == (0, "")


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("python:3.11.13-slim-bookworm", "python:latest", "DL3007"),
        ("python:3.11.13-slim-bookworm", "python", "DL3006"),
        ("RUN groupadd", "RUN sudo groupadd", "DL3004"),
        ("WORKDIR /var/lib/gougi", "WORKDIR var/lib/gougi", "DL3000"),
    ],
)
def test_hadolint_finds(tmp_path: Path, old: str, new: str, found: str) -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    assert old in text
    (tmp_path / "Dockerfile").write_text(text.replace(old, new))
    ran = run(tool("hadolint"), tmp_path / "Dockerfile")
    assert ran.returncode != 0
    assert found in ran.stdout


def _schema(tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "user-data").write_text(text)
    return run(tool("cloud-init"), "schema", "--config-file", tmp_path / "user-data")


def test_cloud_init(tmp_path: Path) -> None:
    ran = _schema(tmp_path, rendered())
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_cloud_init_has_no_section_that_it_would_ignore() -> None:
    assert set(yaml.safe_load(rendered())) == {"preserve_hostname", "package_update", "write_files", "runcmd"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("- path: /etc/gougi/fleet.env", "- file: /etc/gougi/fleet.env"),
        ('permissions: "0644"', "permissions: 0644"),
        ("package_update: false", "package_update: sometimes"),
        ("runcmd:\n  - [", "runcmd:\n  - {a: "),
    ],
)
def test_cloud_init_finds(tmp_path: Path, old: str, new: str) -> None:
    text = rendered()
    assert old in text
    assert _schema(tmp_path, text.replace(old, new)).returncode != 0


def first_boot(folder: Path) -> Path:
    files = {file["path"]: file["content"] for file in yaml.safe_load(rendered())["write_files"]}
    (folder / "first-boot").write_text(files["/usr/local/sbin/gougi-first-boot"])
    return folder / "first-boot"


@pytest.mark.parametrize(("role", "ended"), [("node", True), ("head", False)])
def test_a_worker_that_cannot_be_installed_ends_itself(tmp_path: Path, role: str, ended: bool) -> None:
    script = first_boot(tmp_path)
    script.write_text(re.sub(r"/(etc|opt)/gougi", rf"{tmp_path}/\1", script.read_text()))
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "fleet.env").write_text(f"FLEET_ROLE={role}\nFLEET_REGION=r\nFLEET_BUCKET=b\nFLEET_RELEASE=r\n")
    for name, text in {"aws": "exit 1", "sleep": "", "systemctl": f'echo "$@" >>{tmp_path}/asked'}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    ran = subprocess.run(["bash", script], env={"PATH": path}, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    asked = tmp_path / "asked"
    assert (asked.read_text().split() if asked.exists() else []) == (["poweroff"] if ended else [])


def test_the_first_boot_is_a_script_without_faults(tmp_path: Path) -> None:
    first_boot(tmp_path)
    ran = run(tool("shellcheck"), "--exclude=SC1091", tmp_path / "first-boot")
    assert (ran.returncode, ran.stdout) == (0, "")
