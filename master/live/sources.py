"""Games from files as facts: a log of ours, complete or still being written, and a game record (CSA, KIF …).

The player events of a log are fed to a player again (`master.game.journal`), which reproduces its events; the fleet's
events are in the log. A log holds no nodes of running searches: they come with the decisions. A record holds only the
players' scores, not their searches. If ``gougi analyze`` or ShogiHome has annotated it, each move has the analysis'
score of the position after it."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from master.analysis.game import RecordedGame, read_games
from master.game.journal import BEGIN, ENTRY, LoggedGame, Replay, read
from master.live.facts import Fact, Teller, fleet_fact
from master.logs.files import Place, read_lines
from master.records.reading import DRAWS
from master.records.record import FROM_RSSHOGI
from worker.score import MATE, MAX_EVAL, is_mate

MOST_LINES: Final = 300
"""Lines read at once, so that a reader who waits for the rest sees the first of them soon."""
_META: Final = frozenset({"event", "logger", "level", "timestamp"})


class LogReader:
    """Reads a log from its beginning, and on as it grows.

    Args:
        path: any of its files (`master.logs.files`).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trouble = ""
        """The first line that could not be read, or is missing, and the reason; it and its dependents are left out."""
        self.more = False
        self._place = Place()
        self._players: dict[int, tuple[LoggedGame, Replay, Teller]] = {}
        self._at = 0.0
        """The time of the last line."""
        self._main = ""
        """The name of the player whose games are shown: the first in the log. Another one in the log is its
        opponent."""

    def poll(self) -> list[Fact]:
        """The facts of the new lines, at most `MOST_LINES` per call; `more` says whether there are more.

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
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
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
            # A name has one connection at a time: its earlier ones send nothing more.
            self._players = {number: one for number, one in self._players.items() if one[0].name != game.name}
            self._players[game.number] = game, Replay(game), Teller(thoughts_only=game.name != self._main)
        elif event == ENTRY and int(fields["game"]) in self._players:
            _, replay, teller = self._players[int(fields["game"])]
            return [fact for told in replay.step(read(fields)).events if (fact := teller.tell(told, at)) is not None]
        elif fields.get("logger") == "fleet":
            rest = {name: value for name, value in fields.items() if name not in _META}
            return [fleet_fact(str(event), rest, at)]
        return []


_SCORE: Final = re.compile(r"#評価値=([+-]?\d{1,5})\b")
_MATE: Final = re.compile(r"#詰み=(先|後)手勝ち(?::(\d{1,3})手)?")


def facts_of(path: Path, notice: Callable[[str], None] = lambda _: None) -> list[Fact]:
    """The facts of all games of a file.

    Args:
        notice: callback for content that cannot be shown: a broken game of several, or moves that are left out.

    Raises:
        GameFileError: it cannot be read, or is no record; the text gives place and reason.
    """
    games = read_games(path, lambda error: notice(str(error)))
    for game in games:
        notice(game.notice)
    return [fact for game in games for fact in game_facts(game)]


def _analysed(game: RecordedGame) -> list[int | None]:
    """The analysis' score after each move, from black's view; None: it has none."""
    entries = () if game.reading is None else game.reading.moves
    found = [_told("\n".join(entry.comments)) for entry in entries]
    return (found + [None] * len(game.moves))[: len(game.moves)]


def _told(comment: str) -> int | None:
    """The score of the last analysis. ShogiHome may write a number in the line after a mate."""
    told, mated = None, False
    for line in comment.split("\n"):
        value, mate = None if mated else _SCORE.match(line), _MATE.match(line)
        mated = mate is not None
        if mate is not None:
            score = MATE - int(mate[2] or 0)
            told = score if mate[1] == "先" else -score
        elif value is not None:
            told = None if is_mate(int(value[1])) else int(value[1])
    return told


def _own(score: int | None) -> int | None:
    """A player's own score. One beyond our mates is another program's mate: the highest evaluation."""
    return score if score is None or abs(score) <= MATE else MAX_EVAL if score > 0 else -MAX_EVAL


def game_facts(game: RecordedGame) -> list[Fact]:
    """The facts of one game."""
    scores = _analysed(game)
    analysed = any(score is not None for score in scores)
    first = game.start_sfen.split()[1] == "w"
    times = [{"total_ms": 0, "byoyomi_ms": 0, "increment_ms": 0}] * 2
    no_clock = {"left_ms": [0, 0], "turn": 0}
    facts: list[Fact] = [
        {
            "fact": "began",
            "at": 0.0,
            "id": game.event or game.source,
            "names": list(game.names),
            "mine": None,
            "analysed": analysed,
            "start": game.start_sfen,
            "first": 0,
            "times": times,
            "max_moves": None,
            "clocks": no_clock,
        }
    ]
    if game.notice:
        facts.append({"fact": "note", "at": 0.0, "text": game.notice})
    for ply, move in enumerate(game.moves, start=1):
        facts.append(
            {
                "fact": "move",
                "at": 0.0,
                "ply": ply,
                "colour": first ^ (ply - 1 & 1),
                "mine": False,
                "usi": move.usi,
                "csa": move.usi,
                "ms": move.ms,
                "clocks": no_clock,
                "score": scores[ply - 1] if analysed else _own(move.score),
                "depth": 0,
                "nodes": 0,
                "book": "",
            }
        )
    conclusion = "DRAW" if game.winner is None and game.ending in DRAWS else ""
    reason = FROM_RSSHOGI.get(game.ending, game.ending)
    ended = {"fact": "ended", "at": 0.0, "conclusion": conclusion, "reason": reason, "winner": game.winner}
    return [*facts, {**ended, "plies": len(game.moves), "record": ""}]
