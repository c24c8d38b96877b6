"""Policies of terraform and the image, by checkov. One run for all: it starts slowly."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from typing import Any

import pytest

from tests.terraform.conftest import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CHECKOV = ROOT / ".venv-checkov" / "bin" / "checkov"


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Copy of what is checked -> the ids of the checks that failed on it."""
    if not CHECKOV.exists():
        pytest.skip("checkov is not installed (make checkov): policies are not checked here")
    folder = tmp_path_factory.mktemp("checkov")
    ignore = shutil.ignore_patterns(".terraform*", "*.tfstate*", "examples", "tests")
    shutil.copytree(ROOT / "terraform", folder / "terraform", ignore=ignore)
    (folder / "image").mkdir()
    shutil.copy(ROOT / "deploy" / "Dockerfile", folder / "image")
    ran = subprocess.run(
        [CHECKOV, "--directory", folder, "--framework", "terraform", "dockerfile", "--output", "json"],
        # Nobody is asked for guidelines; that only costs time here.
        env={**os.environ, "CKV_IGNORE_HIDDEN_DIRECTORIES": "true", "LOG_LEVEL": "CRITICAL"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    found: dict[str, set[str]] = {path.name: set() for path in folder.iterdir()}
    for report in _reports(ran.stdout):
        for check in report["results"]["failed_checks"]:
            found[check["file_path"].split("/")[1]].add(check["check_id"])
    return found


def _reports(output: str) -> list[dict[str, Any]]:
    parsed = json.loads(output)
    reports: list[dict[str, Any]] = parsed if isinstance(parsed, list) else [parsed]
    assert {report["check_type"] for report in reports} == {"terraform", "dockerfile"}
    assert all(report["summary"]["parsing_errors"] == 0 for report in reports)
    return reports


def test_terraform(failed: dict[str, set[str]]) -> None:
    assert failed["terraform"] == set()


def test_the_image(failed: dict[str, set[str]]) -> None:
    assert failed["image"] == set()


def test_each_skip_has_a_reason() -> None:
    skips = [
        line
        for path in (ROOT / "terraform").glob("*.tf")
        for line in path.read_text().splitlines()
        if "checkov:skip" in line
    ]
    assert skips
    assert [line for line in skips if not re.search(r"checkov:skip=CKV2?_\w+: .{6,}", line)] == []
