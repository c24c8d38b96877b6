"""Recorded sessions with the real tournament server: ``tests/fixtures/csa/*.txt``, one file a connection.

A line is ``seconds C> text`` (the client said), ``seconds S> text`` (the server said) or ``seconds !! text`` (the
recorder's remark: who closed the socket).
"""

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
