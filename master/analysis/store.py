"""Finished searches, kept as JSON lines, so that an interrupted analysis continues where it was.

A line is a position that was searched. Its key is made of the game and of what the search depends on (network, effort,
fleet): other settings find nothing, and what was found with these stays beside it. A line that a crash has cut short
is passed over; lines are only ever added.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from master.analysis.plan import Alternative, Evaluation
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
                key, found = _from_json(json.loads(line))
            except (ValueError, KeyError, TypeError, RecursionError):
                damaged += 1
            else:
                self._known[key] = found
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
        append_text(self.path, ("" if self._complete else "\n") + json.dumps(_to_json(key, found)) + "\n")
        self._complete = True
        self._known[key] = found


def store_key(start_sfen: str, moves: Sequence[str], settings: str) -> str:
    """The key of a position with its history.

    Args:
        settings: what the search depends on, in words.
    """
    return hashlib.sha256("\n".join((settings, start_sfen, *moves)).encode()).hexdigest()[:24]


def _to_json(key: str, found: Evaluation) -> dict[str, Any]:
    return {
        "key": key,
        "score": found.score,
        "best": found.best,
        "pv": list(found.pv),
        "depth": found.depth,
        "nodes": found.nodes,
        "ms": found.elapsed_ms,
        "lines": [[line.score, line.depth, list(line.pv)] for line in found.alternatives],
    }


def _from_json(line: dict[str, Any]) -> tuple[str, Evaluation]:
    """Raises ValueError, KeyError or TypeError where it is none of ours."""
    score = int(line["score"])
    if abs(score) > MATE:
        raise ValueError(f"{score} is no score")
    alternatives = tuple(Alternative(int(score), int(depth), _words(pv)) for score, depth, pv in line["lines"])
    return str(line["key"]), Evaluation(
        score,
        str(line["best"]),
        _words(line["pv"]),
        int(line["depth"]),
        int(line["nodes"]),
        int(line["ms"]),
        alternatives,
    )


def _words(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise TypeError("expected a list of moves")
    return tuple(value)
