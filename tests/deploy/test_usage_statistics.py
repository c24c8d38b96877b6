"""Ray's usage statistics are off wherever Gougi ships or documents a way to start Ray."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.drivers.ray_cluster import _ENVIRONMENT

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
OFF = "RAY_USAGE_STATS_ENABLED=0"
COMMAND = re.compile(r"\bray (start|up|exec|submit|down)\b")


def chapters(text: str) -> Iterator[tuple[str, list[str]]]:
    """The headed parts of a page, and the blocks of commands in each."""
    for part in re.split(r"^(?=#+ )", text, flags=re.MULTILINE):
        yield part.splitlines()[0] if part else "", re.findall(r"^```\w*\n(.*?)^```", part, re.DOTALL | re.MULTILINE)


def told(text: str) -> list[str]:
    """The chapters of a page that start a Ray with usage statistics."""
    return [
        title
        for title, blocks in chapters(text)
        for number, block in enumerate(blocks)
        if COMMAND.search(block) and not any(f"export {OFF}" in earlier for earlier in blocks[: number + 1])
    ]


PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_no_page_starts_a_ray_that_tells(page: Path) -> None:
    assert told(page.read_text()) == []


@pytest.mark.parametrize("role", [["head"], ["node", "192.0.2.1", "2"]], ids=lambda role: role[0])
def test_the_machines_script_starts_none(role: list[str], tmp_path: Path) -> None:
    """The script passes the setting to Ray (here `echo`) by itself: the environment has none."""
    (tmp_path / "token").write_text("x")
    own = {"RAY": "/bin/echo", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(tmp_path / "token")}
    own |= {"RAY_NODE_ADDRESS": "192.0.2.2", "PATH": os.environ["PATH"]}
    command = [str(DEPLOY / "scripts" / "ray.sh"), *role]
    words = subprocess.run(command, env=own, capture_output=True, text=True, check=True).stdout.split()
    assert words[0] == "start"
    assert "--disable-usage-stats" in words


def test_the_units_the_image_and_our_own_driver_say_so_as_well() -> None:
    assert OFF in (DEPLOY / "systemd" / "ray.env").read_text().splitlines()
    assert OFF in (DEPLOY / "Dockerfile").read_text()
    name, value = OFF.split("=")
    assert _ENVIRONMENT[name] == value


def test_ray_is_started_by_nothing_else_that_is_shipped() -> None:
    """A new way to start Ray has to be checked here."""
    known = {"ray.sh"}
    files = [path for folder in (DEPLOY, ROOT / "terraform") for path in folder.rglob("*") if path.is_file()]
    shipped = [path for path in files if ".terraform" not in path.parts]
    starts = re.compile(r"\bray(\}\")? start\b|bin/ray\b")
    found = {path.name for path in shipped if starts.search(path.read_text(errors="replace"))}
    assert found == known
