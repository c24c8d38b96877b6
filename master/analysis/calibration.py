"""The calibration that comes with the package, and its file; docs/notebook/analysis.md has how it was measured."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Final

from master.analysis.strength import Calibration, Level

_FILE: Final = "calibration.json"


def read_calibration(path: Path | None = None) -> Calibration:
    """The calibration in ``path``; None: that of the package.

    Raises:
        ValueError, KeyError, OSError: it is none.
    """
    file = path or resources.files("master.analysis").joinpath(_FILE)
    content = json.loads(file.read_text(encoding="utf-8-sig"))
    levels = tuple(
        Level(
            int(level["nodes"]),
            float(level["elo"]),
            tuple((index, int(loss)) for index, part in enumerate(level["losses"]) for loss in part),
        )
        for level in content["levels"]
    )
    return Calibration(str(content["net"]), int(content["nodes_per_move"]), levels)
