"""Scripts, image and cloud-init, checked by their linters."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.deploy.rendered import DEPLOY, rendered, tool

SCRIPTS = sorted((DEPLOY / "scripts").glob("*.sh"))


def run(*command: str | Path, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, stdin=subprocess.DEVNULL)


def test_every_script_can_be_run_and_stops_at_an_error() -> None:
    for script in SCRIPTS:
        text = script.read_text()
        if script.name == "lib.sh":
            assert "set -euo pipefail" in text
            continue
        assert script.stat().st_mode & 0o111, f"{script.name} is not executable"
        assert text.startswith("#!/usr/bin/env bash\n"), script.name
        assert "set -euo pipefail" in text or "/lib.sh" in text, f"{script.name} goes on after an error"


def _schema(tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "user-data").write_text(text)
    return run(tool("cloud-init"), "schema", "--config-file", tmp_path / "user-data")


def test_cloud_init(tmp_path: Path) -> None:
    ran = _schema(tmp_path, rendered())
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_cloud_init_has_no_section_that_it_would_ignore() -> None:
    assert set(yaml.safe_load(rendered())) == {"preserve_hostname", "package_update", "write_files"}


def first_boot(folder: Path) -> Path:
    files = {file["path"]: file["content"] for file in yaml.safe_load(rendered())["write_files"]}
    (folder / "first-boot").write_text(files["/var/lib/cloud/scripts/per-boot/gougi-first-boot"])
    return folder / "first-boot"


@pytest.mark.parametrize(("role", "when"), [("node", "+0"), ("head", "+240")])
def test_a_machine_that_cannot_be_installed_ends_itself(tmp_path: Path, role: str, when: str) -> None:
    script = first_boot(tmp_path)
    text = re.sub(r"/(etc|opt)/gougi", rf"{tmp_path}/\1", script.read_text())
    for place in ("/var/log", "/var/lib/cloud/data", "/run"):
        (tmp_path / place[1:]).mkdir(parents=True)
        text = text.replace(f"{place}/", f"{tmp_path}{place}/")
    script.write_text(text)
    (tmp_path / "var/log/cloud-init-output.log").write_text("no way\n")
    (tmp_path / "var/lib/cloud/data/instance-id").write_text("i-1\n")
    (tmp_path / "etc").mkdir()
    facts = {"ROLE": role, "REGION": "r", "BUCKET": "b", "NAME": "n", "RELEASE": "r", "RELEASE_SHA256": "0"}
    (tmp_path / "etc" / "fleet.env").write_text("".join(f"FLEET_{name}={fact}\n" for name, fact in facts.items()))
    programs = {
        "aws": f'echo "$@" >>{tmp_path}/tries; exit 1',
        "sleep": "",
        "shutdown": f'echo "$@" >>{tmp_path}/asked',
    }
    for name, text in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    ran = subprocess.run(["bash", script], env={"PATH": path}, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert (tmp_path / "asked").read_text().split() == ["-P", when]
    *tries, last = (tmp_path / "tries").read_text().splitlines()
    assert len(tries) == 7, "the role or the endpoint may appear a moment later"
    assert last.endswith("/run/first-boot.txt s3://b/n/fleet/failures/i-1.txt")
    assert (tmp_path / "run" / "first-boot.txt").read_text() == "no way\n"
