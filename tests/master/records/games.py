"""A game record for the tests."""

from __future__ import annotations

from datetime import datetime

from master.records.lines import RecordedMove
from master.records.record import GameRecord
from worker.clock.timecontrol import TimeControl

START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
FISCHER = TimeControl(total_ms=60_000, increment_ms=5_000)


def record(**changes: object) -> GameRecord:
    fields: dict[str, object] = {
        "game_id": "test+g-60-5F+alice+bob+20261121082246",
        "names": ("alice", "bob"),
        "start_sfen": START,
        "time": (FISCHER, FISCHER),
        "max_moves": 256,
        "started": datetime(2026, 11, 21, 8, 22, 46),
        "moves": [
            RecordedMove("7g7f", 3000, score=55, pv=("-3334FU", "+2726FU"), nodes=12345),
            RecordedMove("3c3d", 500, comment="book"),
            RecordedMove("2g2f", 0, score=-31990),
        ],
        **changes,
    }
    return GameRecord(**fields)  # type: ignore[arg-type]
