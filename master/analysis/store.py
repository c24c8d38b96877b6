"""Finished searches, kept as JSON lines, so that an interrupted analysis continues where it was.

A line is a position that was searched. Its key is made of the game and of what the search depends on (network, effort,
fleet): other settings find nothing, and what was found with these stays beside it. A line that a crash has cut short
is passed over; lines are only ever added.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import msgspec

from master.analysis.plan import Alternative, Evaluation
from worker.engine import Bound
from worker.files import append_text
from worker.score import MATE


class Store:
    """The searched positions of a folder.

    Args:
        path: the file; made, with its folder, by the first `add`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[str, Evaluation] = {}
        self._complete = True

    def read(self) -> int:
        """Read what is there; returns how many lines were passed over as damaged.

        Raises:
            OSError: the file is there and cannot be read.
        """
        if not self.path.exists():
            return 0
        damaged = 0
        data = self.path.read_bytes()
        self._complete = not data or data.endswith(b"\n")
        for line in data.splitlines():
            try:
                found = msgspec.json.decode(line, type=_Line)
            except (msgspec.MsgspecError, RecursionError):
                damaged += 1
            else:
                if len(found.bounds) == len(found.lines):
                    self._known[found.key] = found.evaluation
                else:
                    damaged += 1
        return damaged

    def get(self, key: str) -> Evaluation | None:
        """The evaluation under this key; None: there is none."""
        return self._known.get(key)

    def add(self, key: str, found: Evaluation) -> None:
        """Keep it, in the file too.

        Raises:
            OSError: the disk refuses.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        append_text(
            self.path, ("" if self._complete else "\n") + msgspec.json.encode(_Line.of(key, found)).decode() + "\n"
        )
        self._complete = True
        self._known[key] = found


def store_key(start_sfen: str, moves: Sequence[str], settings: str) -> str:
    """The key of a position with its history.

    Args:
        settings: what the search depends on, in words.
    """
    return hashlib.sha256("\n".join((_FORM, settings, start_sfen, *moves)).encode()).hexdigest()[:24]


_FORM: Final = "bounds"
"""Part of the keys: lines that took a bound for a score have other keys, and are not found."""


class _Line(msgspec.Struct):
    """A line of the file."""

    key: str
    score: Annotated[int, msgspec.Meta(ge=-MATE, le=MATE)]
    best: str
    pv: tuple[str, ...]
    depth: int
    nodes: int
    ms: int
    lines: tuple[tuple[int, int, tuple[str, ...]], ...]
    """Score, depth and PV of each alternative."""
    bound: Bound = Bound.EXACT
    bounds: tuple[Bound, ...] = ()
    """The bound of each alternative."""

    @classmethod
    def of(cls, key: str, found: Evaluation) -> _Line:
        lines = tuple((line.score, line.depth, line.pv) for line in found.alternatives)
        bounds = tuple(line.bound for line in found.alternatives)
        return cls(
            key,
            found.score,
            found.best,
            found.pv,
            found.depth,
            found.nodes,
            found.elapsed_ms,
            lines,
            found.bound,
            bounds,
        )

    @property
    def evaluation(self) -> Evaluation:
        alternatives = tuple(Alternative(*line, bound) for line, bound in zip(self.lines, self.bounds, strict=True))
        return Evaluation(self.score, self.best, self.pv, self.depth, self.nodes, self.ms, alternatives, self.bound)
