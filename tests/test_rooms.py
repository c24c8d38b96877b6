"""The houses' rooms: all described, and a stranger's questions lead to them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "explanation" / "rooms.md").read_text(encoding="utf-8")
HOUSES = ("worker", "cluster", "master", "lab")


def entries(house: str) -> set[str]:
    """Rooms and files at the top of a house, without what Python and the translations need."""
    found = {path for path in (ROOT / house).iterdir() if path.suffix == ".py" or any(path.rglob("*.py"))}
    return {path.name for path in found if path.name != "__init__.py"}


@pytest.mark.parametrize("house", HOUSES)
def test_every_room_is_described(house: str) -> None:
    [table] = re.findall(rf"^\| `{house}/`:.*\n(?:\|.*\n)+", TEXT, re.MULTILINE)
    described = set(re.findall(r"`([a-z_]+)/`", table)) - {house}
    assert described == {name for name in entries(house) if (ROOT / house / name).is_dir()}


def test_twenty_questions_lead_to_what_is_there() -> None:
    answers = re.findall(r"^\| .*\? \| `(.+)` \|$", TEXT, re.MULTILINE)
    assert len(answers) >= 20
    for answer in answers:
        assert (ROOT / answer).is_file(), answer
        assert answer.count("/") == 2, "package and folder"
