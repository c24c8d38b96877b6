"""Games in real time for the tests, and a player that is no process."""

from __future__ import annotations

import os
import threading
from dataclasses import replace

from cluster.api import SearchRequest
from cluster.lab.real.side import Found, SideSpec
from cluster.lab.real_figures import RealFigures, RealGame
from cluster.lab.records import GameRecord
from tests.answers import make_ballot, make_decision
from tests.cluster.lab.games import record
from worker.shogi import Position, move_to_usi


def figures(**changes: float) -> RealFigures:
    """Figures of ten moves of 300 ms."""
    usual = {"asked_ms": 3000, "used_ms": 3030.0, "late_ms": 8.0, "nodes_s": 6.0, "master_s": 0.06}
    return RealFigures(**{**usual, **changes})  # type: ignore[arg-type]


def real_record(number: int, points: float = 0.5, *, nodes: int = 2, **changes: object) -> GameRecord:
    """A game in real time on two cores; ``changes`` are those of its `RealGame`."""
    quiet = RealGame((0, 1), (0, 1), 6.2, 0.5, 1.5, 0.01, 0, figures(), figures(nodes_s=3.0, master_s=0.0))
    return replace(record(number, points, nodes=nodes), real=replace(quiet, **changes))  # type: ignore[arg-type]


class FakeSide:
    """Plays the first legal move at once. ``script``: what it says was lost, or raises, at each of its searches."""

    def __init__(self, spec: SideSpec, ended: threading.Event, script: list[str | Exception]) -> None:
        self.spec = spec
        self.script = script
        self.orders: list[str] = []
        self.ids: list[int] = []
        self.closed = False

    @property
    def pid(self) -> int:
        return os.getpid()

    def new_game(self) -> None:
        self.orders.append("new game")

    def search(self, request: SearchRequest) -> Found:
        self.orders.append("search")
        self.ids.append(request.search_id)
        said = self.script.pop(0) if self.script else ""
        if isinstance(said, Exception):
            raise said
        position = Position.from_sfen(request.sfen)
        position.push_all(request.moves)
        moves = sorted(map(move_to_usi, position.legal_moves()))
        move, source = (moves[0], "vote") if moves else ("resign", "forced")
        ballots = tuple(make_ballot(f"n{number}", move, 0, 5) for number in range(self.spec.nodes))
        decision = make_decision(
            request.search_id, move, 0, 5, (move,), 100 * (self.spec.nodes or 1), 1, source, ballots
        )
        return Found(decision, ("start",), (said,) if said else (), 0)

    def ponder(self, request: SearchRequest) -> None:
        self.orders.append("ponder")
        self.ids.append(request.search_id)

    def rest(self) -> None:
        self.orders.append("rest")

    def close(self) -> None:
        self.closed = True


class FakeSides:
    """Opens `FakeSide`; ``scripts`` go to them one after the other."""

    def __init__(self, *scripts: list[str | Exception]) -> None:
        self.opened: list[FakeSide] = []
        self._scripts = list(scripts)

    def __call__(self, spec: SideSpec, ended: threading.Event) -> FakeSide:
        self.opened.append(FakeSide(spec, ended, self._scripts.pop(0) if self._scripts else []))
        return self.opened[-1]
