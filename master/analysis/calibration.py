"""The calibration that comes with the package, and its file; docs/measurements/analysis.md has how it was measured."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any, Final

from master.analysis.strength import Calibration, Level

_FILE: Final = "calibration.json"


def read_calibration(path: Path | None = None) -> Calibration:
    """The calibration in ``path``; None: that of the package.

    Raises:
        ValueError, KeyError, OSError: it is none.
    """
    file = path or resources.files("master.analysis").joinpath(_FILE)
    content = json.loads(file.read_text(encoding="utf-8"))
    levels = tuple(
        Level(
            int(level["nodes"]),
            float(level["elo"]),
            tuple((index, int(loss)) for index, part in enumerate(level["losses"]) for loss in part),
        )
        for level in content["levels"]
    )
    return Calibration(str(content["net"]), int(content["nodes_per_move"]), levels)


def calibration_json(calibration: Calibration, facts: dict[str, Any]) -> str:
    """The file's text.

    Args:
        facts: how it was measured, for its reader.
    """
    levels = []
    for level in calibration.levels:
        bands: list[list[int]] = []
        for index, loss in sorted(level.losses):
            while len(bands) <= index:
                bands.append([])
            bands[index].append(loss)
        levels.append({"nodes": level.nodes, "elo": round(level.elo, 1), "losses": bands})
    head = {"net": calibration.net, "nodes_per_move": calibration.nodes_per_move, "measured": facts}
    lines = ",\n".join(json.dumps(level, separators=(",", ":")) for level in levels)
    return json.dumps(head, indent=1)[:-2] + ',\n "levels": [\n' + lines + "\n ]\n}\n"
