"""A game's log as facts: what the live page had, from the file that is written or from one that is whole.

The player's events are given to a player again (`master.game.replay`), whose events are what they were; the fleet's
events stand in the log. Of searches that run it holds no nodes: those come with the decisions.
"""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any, Final

from master.game.journal import BEGIN, ENTRY, read
from master.game.replay import LoggedGame, Replay
from master.live.facts import Fact, Teller, fleet_fact
from master.logs.files import Place, read_lines
from master.player.instructions import Emit

MOST_LINES: Final = 300
"""Lines that are read at once, so that a reader who waits for the rest sees the first of them soon."""
_META: Final = frozenset({"event", "logger", "level", "timestamp"})


class _Player:
    """One player of the log, played again as its inputs come."""

    def __init__(self, game: LoggedGame, teller: Teller) -> None:
        self.name = game.name
        self._game = game
        self._teller = teller
        self._steps = Replay(game).steps()

    def give(self, fields: dict[str, Any], at: float) -> list[Fact]:
        self._game.entries.append(read(fields))  # `steps` goes on with what has been added
        step = next(self._steps)
        events = [instruction.event for instruction in step.instructions if isinstance(instruction, Emit)]
        return [fact for event in events if (fact := self._teller.tell(event, at)) is not None]


class LogReader:
    """Reads a log from its beginning, and on as it grows.

    Args:
        path: any of its files (`master.logs.files`).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trouble = ""
        """The first line that could not be read, or is missing, and why; it and what hangs on it is left out."""
        self.more = False
        self._place = Place()
        self._players: dict[int, _Player] = {}
        self._at = 0.0
        """The time of the last line."""
        self._main = ""
        """The name of the player whose games are shown: the first. Another one of the log is its opponent."""

    def poll(self) -> list[Fact]:
        """The facts of what is new; of `MOST_LINES` at a time, and then `more` says that there are more.

        Raises:
            OSError, NotTextError: the log cannot be read.
        """
        facts: list[Fact] = []
        self.more = False

        def on_gap(where: str) -> None:
            words = f"{where}; a game that ran then is shown up to there"
            self._players.clear()
            self.trouble = self.trouble or words
            facts.append({"fact": "note", "at": self._at, "text": words})

        for count, (file, number, line) in enumerate(read_lines(self.path, on_gap, self._place), 1):
            try:
                facts += self._take(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError, StopIteration) as error:
                self.trouble = self.trouble or f"{file}, line {number}: {str(error) or type(error).__name__}"
            if count == MOST_LINES:
                self.more = True
                break
        return facts

    def _take(self, fields: dict[str, Any]) -> list[Fact]:
        event = fields["event"]
        at = self._at = datetime.datetime.fromisoformat(fields["timestamp"]).timestamp()
        if event == BEGIN:
            game = LoggedGame.begun(fields)
            self._main = self._main or game.name
            # A name has one connection at a time: its earlier ones say no more.
            self._players = {number: one for number, one in self._players.items() if one.name != game.name}
            self._players[game.number] = _Player(game, Teller(thoughts_only=game.name != self._main))
        elif event == ENTRY and int(fields["game"]) in self._players:
            return self._players[int(fields["game"])].give(fields, at)
        elif fields.get("logger") == "fleet":
            rest = {name: value for name, value in fields.items() if name not in _META}
            return [fleet_fact(str(event), rest, at)]
        return []
