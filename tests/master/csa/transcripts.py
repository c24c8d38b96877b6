"""Recorded sessions of the tournament server, and their game summaries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "fixtures" / "csa"
NAMES = sorted(path.stem for path in FOLDER.glob("*.txt"))


@dataclass(frozen=True)
class Said:
    at_ms: float
    who: str
    """``C``, ``S`` or ``!``."""
    text: str


def load(name: str) -> list[Said]:
    said = []
    for line in (FOLDER / f"{name}.txt").read_text().splitlines():
        match = re.fullmatch(r"\s*([0-9.]+) (C>|S>|!!) ?(.*)", line)
        assert match is not None, line
        said.append(Said(float(match[1]) * 1000, match[2][0], match[3]))
    return said


def server_lines(name: str) -> Iterator[str]:
    return (said.text for said in load(name) if said.who == "S")


def summary_lines(name: str) -> list[str]:
    """The summary block of a recorded session, markers included."""
    lines = list(server_lines(name))
    return lines[lines.index("BEGIN Game_Summary") : lines.index("END Game_Summary") + 1]


WITH_SUMMARY = [name for name in NAMES if "BEGIN Game_Summary" in list(server_lines(name))]
