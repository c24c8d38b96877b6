"""The results of the games, and the folder that keeps them: settings, openings, a line for each game."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import msgspec

from cluster.api import Decision
from lab.match.folder import GamesFolder, sources
from lab.strategies.settings import LabError, LabSettings, Point, ScheduledGame
from worker.files import replace_file


@dataclass(slots=True)
class FleetFigures:
    """Figures of one side in a game, or in many."""

    moves: int = 0
    """Moves that were searched; those that need no search are left out."""
    nodes: int = 0
    """Nodes searched, all of its nodes together."""
    wasted: int = 0
    """Nodes of these that brought nothing (`cluster.api.Decision.wasted`)."""
    redeals: int = 0
    """Number of times that a tree was dealt again within a search."""
    votes: int = 0
    """Moves with two ballots or more."""
    agreement: float = 0.0
    """Summed over ``votes``: the share of the ballots that were for the move played, 0 to 1."""
    hits: int = 0
    """Moves whose position was being pondered when their search began."""

    @classmethod
    def of(cls, decision: Decision, dealt: Sequence[str]) -> FleetFigures:
        """Count one move that was searched; ``dealt``: why a tree was dealt, each time (the event's ``why``)."""
        found = cls(1, decision.nodes, decision.wasted, len(dealt) - dealt.count("presearch"))
        if len(decision.ballots) > 1:
            found.votes, found.agreement = 1, round(decision.agreement, 6)
        found.hits = int(decision.pondered_ms > 0)
        return found

    def add(self, other: FleetFigures) -> None:
        for item in fields(self):
            setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))


@dataclass(frozen=True, slots=True)
class GameResult:
    """A game that is over. ``points`` are A's: 0, 1/2 or 1; ``moves`` are USI, from the opening on."""

    game: ScheduledGame
    points: float
    end: str
    """The end in words: one of `lab.match.game.End`, ``score`` or ``resignation``."""
    moves: tuple[str, ...]
    a: FleetFigures
    b: FleetFigures

    def to_line(self) -> str:
        """One line of JSON, without the line's end."""
        game = self.game
        line = _Line(
            strategy=game.point.strategy,
            nodes=game.point.nodes,
            game=game.number,
            pair=game.pair,
            black="A" if game.a_is_black else "B",
            points=self.points,
            end=self.end,
            plies=len(self.moves),
            a=self.a,
            b=self.b,
            moves=" ".join(self.moves),
        )
        return json.dumps(_rounded(msgspec.to_builtins(line)), ensure_ascii=False)

    @classmethod
    def from_line(cls, text: str) -> GameResult:
        """Read what `to_line` wrote.

        Raises:
            LabError: it is something else; the text says what.
        """
        try:
            line = msgspec.json.decode(text, type=_Line)
        except msgspec.MsgspecError as error:
            raise LabError(f"not the line of a game: {error}") from error
        if line.points not in (0.0, 0.5, 1.0):
            raise LabError(f"points: a game scores 0, 0.5 or 1, not {line.points}")
        game = ScheduledGame(Point(line.strategy, line.nodes), line.game)
        return cls(game, line.points, line.end, tuple(line.moves.split()), line.a, line.b)


class _Line(msgspec.Struct, omit_defaults=True):
    """A game as its line of JSON has it."""

    strategy: str
    nodes: int
    game: int
    pair: int
    black: str
    points: float
    end: str
    plies: int
    a: FleetFigures
    b: FleetFigures
    moves: str


def _rounded(value: Any) -> Any:
    """Plain values with six digits behind each point: more are nobody's."""
    match value:
        case float():
            return round(value, 6)
        case dict():
            return {name: _rounded(item) for name, item in value.items()}
    return value


class LabFolder(GamesFolder[GameResult]):
    """A folder with ``lab.json``, ``openings.txt``, ``games.jsonl``, and at the end ``result.json`` and ``elo.svg``."""

    command = "gougi lab"
    refused = LabError

    def __init__(self, path: Path) -> None:
        super().__init__(path, "games.jsonl", GameResult.from_line, lambda record: str(record.game))
        self.settings = path / "lab.json"
        self.result = path / "result.json"
        self.plot = path / "elo.svg"

    def claim(self, settings: LabSettings) -> list[str]:
        """Note the settings in a new folder, or check that those of an old one are the same.

        Returns:
            What the user should know: games of an earlier version of the sources are in the folder.

        Raises:
            LabError: the folder was begun with other settings; the text names them.
            OSError: it cannot be read or written.
        """
        wanted, now = settings.plain(), sources()
        if not self.settings.exists():
            self.keep_facts(self.settings, {"settings": wanted, "sources": now})
            return []
        notices: list[str] = []
        known = self.known_facts(self.settings)
        try:
            before, version = dict(known["settings"]), known.get("sources")
        except (KeyError, TypeError, ValueError) as error:
            raise LabError(f"{self.settings}: not readable: {error!r}") from error
        self.check_settings(before, wanted)
        if version != now:
            notices.append(
                f"{self.path}: the sources are not those it was begun with: games of both are counted together"
            )
        return notices

    def keep_openings(self, openings: list[str]) -> None:
        """Write a longer list. Raises LabError: it does not begin with the openings that games were played from."""
        known = self.known_openings()
        if openings[: len(known)] != known:
            raise LabError(
                f"{self.openings}: the openings that these sources make are others: choose another folder, or no more "
                f"than {2 * len(known)} games"
            )
        super().keep_openings(openings)

    def keep_result(self, facts: dict[str, Any], plot: str) -> None:
        """Write the result and the plot. Raises OSError."""
        self.keep_facts(self.result, facts)
        replace_file(self.plot, plot.encode())
