"""Events for views."""

from __future__ import annotations

from cluster.api import NodeView
from master.csa.summary import GameSummary
from master.player import events
from tests.answers import make_ballot, make_decision, make_progress
from worker.clock.timecontrol import TimeControl
from worker.shogi import STARTPOS, Position

TIME = TimeControl(total_ms=10_000, increment_ms=1000)
SUMMARY = GameSummary("g", ("anna", "bert"), my_colour=0, to_move=0, time=(TIME, TIME), start_sfen=STARTPOS)
CLOCKS = events.Clocks((10_000, 10_000), 0)
FLEET = (
    NodeView("node-1", True, "7g7f", 14, 55, 1_200_000, 612_345, ("7g7f", "3c3d")),
    NodeView("node-2", False, "others", 9, None, 0, 0),
)
PROGRESS = make_progress(1, 900, 14, 55, ("7g7f", "3c3d", "8h2b+", "3a2b"), 1_200_000, FLEET)
DECISION = make_decision(
    1, "7g7f", 55, 14, ("7g7f", "3c3d"), 1_200_000, 950, "split", (make_ballot("node-1", "7g7f", 55, 14),), FLEET
)


def after(*moves: str) -> str:
    position = Position.startpos()
    position.push_all(moves)
    return position.sfen()


def move_played(ply: int, usi: str, csa: str, *before: str) -> events.MovePlayed:
    return events.MovePlayed(
        ply=ply,
        colour=(ply - 1) % 2,
        mine=ply % 2 == 1,
        usi=usi,
        csa=csa,
        consumed_ms=1000,
        sfen=after(*before, usi),
        clocks=events.Clocks((10_000, 10_000), ply % 2),
    )


GAME: tuple[events.GameEvent, ...] = (
    events.LoggedIn("anna"),
    events.GameBegan(SUMMARY, STARTPOS, CLOCKS),
    events.ThinkingBegan(1, 0, 900, 2000, CLOCKS),
    PROGRESS,
    DECISION,
    move_played(1, "7g7f", "+7776FU"),
    move_played(2, "3c3d", "-3334FU", "7g7f"),
    events.GameEnded(events.GameOutcome(events.Conclusion.WIN, "RESIGN", SUMMARY, 0, 2, after("7g7f", "3c3d"))),
)
