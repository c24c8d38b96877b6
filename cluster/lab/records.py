"""What is kept of a game: one line of JSON, checked when it is read again."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from cluster.lab.errors import LabError
from cluster.lab.schedule import Game, Point


@dataclass(slots=True)
class SideFigures:
    """What one side did in a game, or in many."""

    moves: int = 0
    """Moves that were searched; those that need no search are left out."""
    nodes: int = 0
    """Nodes searched, all of its nodes together."""
    wasted: int = 0
    """Of them for nothing (`cluster.api.Decision.wasted`)."""
    redeals: int = 0
    """How often a tree was dealt again within a search."""
    votes: int = 0
    """Moves with two ballots or more."""
    agreement: float = 0.0
    """Summed over ``votes``: the share of the ballots that were for the move played, 0 to 1."""
    hits: int = 0
    """Moves whose position was being pondered when their search began."""

    def add(self, other: SideFigures) -> None:
        for item in fields(self):
            setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))


@dataclass(frozen=True, slots=True)
class GameRecord:
    """A game that is over. ``points`` are A's: 0, 1/2 or 1; ``moves`` are USI, from the opening on."""

    game: Game
    points: float
    end: str
    """How it ended, in words: ``mate``, ``score``, ``declaration``, ``repetition``, ``perpetual check``,
    ``move limit``."""
    moves: tuple[str, ...]
    a: SideFigures
    b: SideFigures

    def to_line(self) -> str:
        """One line of JSON, without the line's end."""
        game = self.game
        plain = {
            "strategy": game.point.strategy,
            "nodes": game.point.nodes,
            "game": game.number,
            "pair": game.pair,
            "black": "A" if game.a_is_black else "B",
            "points": self.points,
            "end": self.end,
            "plies": len(self.moves),
            "a": asdict(self.a),
            "b": asdict(self.b),
            "moves": " ".join(self.moves),
        }
        return json.dumps(plain, ensure_ascii=False)

    @classmethod
    def from_line(cls, line: str) -> GameRecord:
        """Read what `to_line` wrote.

        Raises:
            LabError: it is something else; the text says what.
        """
        try:
            plain = json.loads(line)
        except ValueError as error:
            raise LabError(f"no JSON: {error}") from error
        if not isinstance(plain, dict):
            raise LabError("no JSON object")
        game = Game(Point(_get(plain, "strategy", str), _get(plain, "nodes", int)), _get(plain, "game", int))
        points = _get(plain, "points", float)
        if points not in (0.0, 0.5, 1.0):
            raise LabError(f"points: a game scores 0, 0.5 or 1, not {points}")
        sides = [
            SideFigures(**{item.name: _get(side, item.name, type(item.default)) for item in fields(SideFigures)})
            for side in (_get(plain, "a", dict), _get(plain, "b", dict))
        ]
        return cls(game, points, _get(plain, "end", str), tuple(_get(plain, "moves", str).split()), *sides)


def _get(plain: dict[str, Any], key: str, kind: type[Any]) -> Any:
    value = plain.get(key)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        raise LabError(f"{key}: expected {kind.__name__}, got {value!r}"[:200])
    return value
