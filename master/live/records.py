"""Game records (CSA, KIF …) as facts: a game that was played anywhere, without what its players thought but scores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from master.analysis.game import Game, read_games
from master.live.facts import Fact
from master.records.endings import FROM_RSSHOGI

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


def _game(game: Game) -> list[Fact]:
    first = game.start_sfen.split()[1] == "w"
    times = [{"total_ms": 0, "byoyomi_ms": 0, "increment_ms": 0}] * 2
    no_clock = {"left_ms": [0, 0], "turn": 0}
    facts: list[Fact] = [
        {
            "fact": "began",
            "at": 0.0,
            "id": game.event or game.source,
            "names": list(game.names),
            "mine": 0,
            "start": game.start_sfen,
            "first": 0,
            "times": times,
            "max_moves": None,
            "clocks": no_clock,
        }
    ]
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
                "score": move.own_score,
                "depth": 0,
                "nodes": 0,
                "book": "",
            }
        )
    conclusion = "DRAW" if game.winner is None and game.ending in _DRAWS else ""
    reason = FROM_RSSHOGI.get(game.ending, game.ending)
    ended = {"fact": "ended", "at": 0.0, "conclusion": conclusion, "reason": reason, "winner": game.winner}
    return [*facts, {**ended, "plies": len(game.moves), "record": ""}]
