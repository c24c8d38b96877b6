"""Game records (CSA, KIF …) as facts: a game that was played anywhere, without what its players thought but scores.

In a record that ``gougi analyze`` or ShogiHome has annotated, each move has the analysis' score of the position after
it, and that is shown; in others what the players gave.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from master.analysis.game import RecordedGame, read_games
from master.live.facts import Fact
from master.records.endings import FROM_RSSHOGI
from worker.score import MATE, is_mate

_SCORE: Final = re.compile(r"^#評価値=([+-]?\d{1,5})\b", re.MULTILINE)
_MATE: Final = re.compile(r"^#詰み=(先|後)手勝ち(?::(\d{1,3})手)?", re.MULTILINE)
_DRAWS: Final = frozenset({"REPETITION_DRAW", "IMPASSE", "DRAW", "MAX_MOVES"})


def facts_of(path: Path, notice: Callable[[str], None] = lambda _: None) -> list[Fact]:
    """The facts of all games of a file.

    Args:
        notice: hears what of the file cannot be shown: a game of several that is broken, moves that are left out.

    Raises:
        GameFileError: it cannot be read, or is none; the text says where and why.
    """
    games = read_games(path, lambda error: notice(str(error)))
    for game in games:
        notice(game.notice)
    return [fact for game in games for fact in _game(game)]


def _analysed(game: RecordedGame) -> list[int | None]:
    """The analysis' score after each move, from black's view; None: it has none."""
    entries = () if game.reading is None else game.reading.moves
    found = [_told("\n".join(entry.comments)) for entry in entries]
    return (found + [None] * len(game.moves))[: len(game.moves)]


def _told(comment: str) -> int | None:
    if mate := _MATE.search(comment):
        score = MATE - int(mate[2] or 0)
        return score if mate[1] == "先" else -score
    if (value := _SCORE.search(comment)) and not is_mate(int(value[1])):
        return int(value[1])
    return None


def _game(game: RecordedGame) -> list[Fact]:
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
                "score": scores[ply - 1] if analysed else move.own_score,
                "depth": 0,
                "nodes": 0,
                "book": "",
            }
        )
    conclusion = "DRAW" if game.winner is None and game.ending in _DRAWS else ""
    reason = FROM_RSSHOGI.get(game.ending, game.ending)
    ended = {"fact": "ended", "at": 0.0, "conclusion": conclusion, "reason": reason, "winner": game.winner}
    return [*facts, {**ended, "plies": len(game.moves), "record": ""}]
