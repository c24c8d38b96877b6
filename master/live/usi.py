"""Events and instructions of the USI front as facts. Pure.

A GUI tells no game: it names a position and asks. Positions that go on from each other make a game here, and any other
begins one anew.
"""

from __future__ import annotations

import itertools
from typing import Any

from cluster.api import Decision, Progress, StartSearch
from master.live.facts import Fact, decision_fact, fleet_fact, progress_fact
from master.usi.events import Event, FleetEvent, Instruction
from worker.usi.events import GuiLine

_RESULTS = {"win": ("WIN", 0), "lose": ("LOSE", 1), "draw": ("DRAW", None)}


class UsiTeller:
    """Tells one GUI's session."""

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self._game: tuple[str, tuple[str, ...]] | None = None
        self._mine = 0
        self._search = 0
        self._left: list[int] = [0, 0]
        self._times = {"total_ms": 0, "byoyomi_ms": 0, "increment_ms": 0}

    def tell(self, what: Event | Instruction, at: float) -> list[Fact]:
        """The facts of something that the front was told, or wants done."""
        facts: list[Fact] = []
        match what:
            case GuiLine(text):
                facts = self._hear(text.split())
            case StartSearch(request):
                facts = self._asked(request.sfen, request.moves)
                self._search = request.search_id
                soft, hard = request.soft_ms, request.hard_ms
                thinking = {"fact": "thinking", "colour": self._mine, "ply": len(request.moves), "known": None}
                facts.append({**thinking, "soft_ms": soft, "hard_ms": hard})
            case Progress() if what.search_id == self._search:
                facts = [progress_fact(what, self._mine)]
            case Decision() if what.search_id == self._search:
                facts = [decision_fact(what, self._mine)]
            case FleetEvent(name, fields):
                facts = [fleet_fact(name, fields, at)]
        return [{**fact, "at": at} for fact in facts]

    def _hear(self, words: list[str]) -> list[Fact]:
        if words[:1] == ["go"]:
            numbers = {name: _number(value) for name, value in itertools.pairwise(words)}
            self._left = [numbers.get("btime", 0), numbers.get("wtime", 0)]
            increment = max(numbers.get("binc", 0), numbers.get("winc", 0))
            self._times = {
                "total_ms": max(self._left),
                "byoyomi_ms": numbers.get("byoyomi", 0),
                "increment_ms": increment,
            }
        elif words[:1] == ["gameover"] and len(words) > 1 and words[1] in _RESULTS and self._game is not None:
            conclusion, whose = _RESULTS[words[1]]
            winner = None if whose is None else self._mine ^ whose
            plies, self._game = len(self._game[1]), None
            ended = {"fact": "ended", "conclusion": conclusion, "reason": "", "winner": winner}
            return [{**ended, "plies": plies, "record": ""}]
        return []

    def _asked(self, sfen: str, moves: tuple[str, ...]) -> list[Fact]:
        """A position is to be searched: the moves that are new, of a new game where it does not go on from the last."""
        turn = (sfen.split()[1:2] == ["w"]) ^ (len(moves) & 1)
        facts: list[Fact] = []
        game = self._game
        if game is None or game[0] != sfen or moves[: len(game[1])] != game[1]:
            game = (sfen, ())
            self._mine = turn
            facts.append(self._began(sfen))
        first = sfen.split()[1:2] == ["w"]
        new = range(len(game[1]), len(moves))
        facts += [self._move(ply + 1, first ^ (ply & 1), moves[ply], first ^ (ply + 1 & 1)) for ply in new]
        self._game = (sfen, moves)
        self._mine = turn
        facts.append({"fact": "clocks", "clocks": self._clocks(turn), "searches": turn})
        return facts

    def _began(self, sfen: str) -> Fact:
        names = ["", ""]
        names[self._mine] = self._engine
        began: dict[str, Any] = {"fact": "began", "id": "", "names": names, "mine": self._mine, "start": sfen}
        return {**began, "first": 0, "times": [self._times] * 2, "max_moves": None, "clocks": self._clocks(0)}

    def _move(self, ply: int, colour: int, usi: str, turn: int) -> Fact:
        move: dict[str, Any] = {"fact": "move", "ply": ply, "colour": colour, "mine": colour == self._mine, "usi": usi}
        move |= {"csa": usi, "ms": None, "score": None, "depth": 0, "nodes": 0, "book": ""}
        return {**move, "clocks": self._clocks(turn)}

    def _clocks(self, turn: int) -> dict[str, Any]:
        return {"left_ms": list(self._left), "turn": turn}


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0
