"""Events of a game, a fleet and a USI front as plain values that JSON can hold: *facts*. Pure.

A fact is a dictionary with its kind under ``fact`` and its time under ``at`` (seconds since 1970). Scores are
`worker.score` scores from black's view, None if there is none; colours are 0 (black) and 1 (white); moves are USI.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Mapping
from typing import Any, Final

from cluster.api import Ballot, Decision, Known, NodeView, Progress, StartSearch
from cluster.split.tree import TreeLine
from master.player.events import (
    Clocks,
    GameBegan,
    GameEnded,
    GameEvent,
    GameFound,
    GameRefused,
    LineMeasured,
    LoggedIn,
    MovePlayed,
    Note,
    ThinkingBegan,
)
from master.usi.options import Event, FleetEvent, Instruction
from worker.usi.events import GuiLine

Fact = dict[str, Any]

_LINE_MOVES: Final = 24
"""Number of moves of a variation in a fact."""
_NODE_MOVES: Final = 10
"""The same for each node's variation."""
_DEEPEST: Final = 4
"""Maximum nesting depth of the values of an event's fields."""


class Teller:
    """Converts one player's events to facts.

    Args:
        thoughts_only: the player is the opponent of one whose events are converted too: only its searches are new.
    """

    def __init__(self, *, thoughts_only: bool = False) -> None:
        self._thoughts_only = thoughts_only
        self._colour = 0

    def tell(self, event: GameEvent, at: float) -> Fact | None:
        """The fact of an event; None if a viewer does not need it."""
        if isinstance(event, GameBegan):
            self._colour = event.summary.my_colour
        fact = thought_fact(event, self._colour)
        if fact is None and not self._thoughts_only:
            fact = _game_fact(event)
        return None if fact is None else {**fact, "at": at}


def thought_fact(event: GameEvent, colour: int) -> Fact | None:
    """The fact of an event of the side ``colour``, if it is one of a search."""
    match event:
        case ThinkingBegan():
            return {
                "fact": "thinking",
                "colour": colour,
                "ply": event.ply,
                "soft_ms": event.soft_ms,
                "hard_ms": event.hard_ms,
                "known": None if event.known is None else known_facts(event.known, colour),
            }
        case Progress():
            return progress_fact(event, colour)
        case Decision():
            return decision_fact(event, colour)
    return None


def progress_fact(progress: Progress, colour: int) -> Fact:
    """The state of a search of the side ``colour``."""
    return {"fact": "progress", "colour": colour, **_search(progress, colour)}


def decision_fact(decision: Decision, colour: int) -> Fact:
    """The end of a search of the side ``colour``."""
    return {
        "fact": "decision",
        "colour": colour,
        **_search(decision, colour),
        "move": decision.move,
        "source": decision.source,
        "wasted": decision.wasted,
        "pondered_ms": decision.pondered_ms,
        "ballots": [_ballot(ballot, colour) for ballot in decision.ballots],
    }


def known_facts(known: Known, colour: int) -> dict[str, Any]:
    """The result of pondering."""
    return {
        "move": known.move,
        "score": _from_black(known.score, colour),
        "depth": known.depth,
        "nodes": known.nodes,
        "pondered_ms": known.pondered_ms,
        "fleet_ms": known.fleet_ms,
    }


def fleet_fact(name: str, fields: Mapping[str, object], at: float) -> Fact:
    """A fleet's event, see `cluster.api.Listener.on_event`."""
    return {"fact": "fleet", "at": at, "name": name, "fields": {key: _plain(value) for key, value in fields.items()}}


def _game_fact(event: GameEvent) -> Fact | None:
    match event:
        case LoggedIn(name):
            return {"fact": "waiting", "name": name}
        case GameFound(summary):
            return {"fact": "found", "id": summary.game_id, "names": list(summary.names)}
        case GameBegan(summary, sfen, clocks):
            return {
                "fact": "began",
                "id": summary.game_id,
                "names": list(summary.names),
                "mine": summary.my_colour,
                "start": sfen,
                "first": len(summary.moves),
                "times": [
                    {"total_ms": time.total_ms, "byoyomi_ms": time.byoyomi_ms, "increment_ms": time.increment_ms}
                    for time in summary.time
                ],
                "max_moves": summary.max_moves,
                "clocks": _clocks(clocks),
            }
        case MovePlayed():
            return {
                "fact": "move",
                "ply": event.ply,
                "colour": event.colour,
                "mine": event.mine,
                "usi": event.usi,
                "csa": event.csa,
                "ms": event.consumed_ms,
                "clocks": _clocks(event.clocks),
                "score": event.comment.score,
                "depth": event.comment.depth,
                "nodes": event.comment.nodes,
                "book": event.comment.book,
            }
        case LineMeasured(delay_ms):
            return {"fact": "echo", "ms": delay_ms}
        case GameEnded(outcome) if outcome.played:
            return {
                "fact": "ended",
                "conclusion": str(outcome.conclusion),
                "reason": outcome.reason,
                "winner": outcome.winner,
                "plies": outcome.plies,
                "record": "" if outcome.record_path is None else outcome.record_path.name,
            }
        case GameRefused(why):
            return {"fact": "note", "text": why}
        case Note(name, fields) if event.error or event.warning:
            return {"fact": "note", "text": " ".join([name, *(f"{key}={value}" for key, value in fields.items())])}
    return None


def _search(state: Progress | Decision, colour: int) -> dict[str, Any]:
    return {
        "search": state.search_id,
        "ms": state.elapsed_ms,
        "depth": state.depth,
        "score": _from_black(state.score, colour),
        "nodes": state.nodes,
        "pv": list(state.pv[:_LINE_MOVES]),
        "agreement": state.agreement,
        "fleet": [_node(view, colour) for view in state.fleet],
        "lines": [_line(line, colour) for line in state.lines],
    }


def _node(view: NodeView, colour: int) -> dict[str, Any]:
    return {
        "node": view.node_id,
        "alive": view.alive,
        "job": view.job,
        "depth": view.depth,
        "seldepth": view.seldepth,
        "score": _from_black(view.score, colour),
        "nodes": view.nodes,
        "nps": view.nps,
        "hashfull": view.hashfull,
        "speed": round(view.speed, 3),
        "pv": list(view.pv[:_NODE_MOVES]),
    }


def _ballot(ballot: Ballot, colour: int) -> dict[str, Any]:
    return {
        "voter": ballot.voter,
        "move": ballot.move,
        "score": _from_black(ballot.score, colour),
        "depth": ballot.depth,
        "nodes": ballot.nodes,
        "members": ballot.members,
    }


def _line(line: TreeLine, colour: int) -> dict[str, Any]:
    return {"score": _from_black(line.score, colour), "depth": line.depth, "pv": list(line.pv[:_LINE_MOVES])}


def _clocks(clocks: Clocks) -> dict[str, Any]:
    return {"left_ms": list(clocks.left_ms), "turn": clocks.turn}


def _from_black(score: int | None, colour: int) -> int | None:
    return score if score is None or colour == 0 else -score


def _plain(value: object, deep: int = 0) -> object:
    """The value if JSON can hold it, else its text."""
    if isinstance(value, enum.Enum) or deep > _DEEPEST:
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item, deep + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item, deep + 1) for item in value]
    return str(value)


_RESULTS = {"win": ("WIN", 0), "lose": ("LOSE", 1), "draw": ("DRAW", None)}


class UsiTeller:
    """Converts one GUI's session to facts."""

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self._game: tuple[str, tuple[str, ...]] | None = None
        self._mine = 0
        self._search = 0
        self._left: list[int] = [0, 0]
        self._times = {"total_ms": 0, "byoyomi_ms": 0, "increment_ms": 0}

    def tell(self, what: Event | Instruction, at: float) -> list[Fact]:
        """The facts of an event or an instruction of the front."""
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
            numbers = {name: _whole_number(value) for name, value in itertools.pairwise(words)}
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
        """A position is to be searched: the new moves, or a new game if it does not continue the last one."""
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


def _whole_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0
