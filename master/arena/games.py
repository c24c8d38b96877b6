"""What has been played: results and moves out of the referee's database, and a CSA record of each game.

shogiarena 1.3 keeps all games of a run in one SQLite file and exports none, so this reads its tables ``game``,
``player`` and ``game_move`` (a move is rsshogi's 16-bit number, a score is from the mover's side).
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rsshogi.core import Board, Move
from rsshogi.record import EngineInfo, GameResult, MoveEntry, Record, RecordMetadata, SpecialMoveEntry

_NUMBER: Final = re.compile(r"g(\d+)-")
_GAMES: Final = """
    SELECT game.id, game.game_name, black.player_name, white.player_name, game.game_result,
           game.initial_position_sfen, game.start_date
    FROM game JOIN player AS black ON black.id = game.black_player_id
              JOIN player AS white ON white.id = game.white_player_id
    ORDER BY game.id
"""
_MOVES: Final = "SELECT next_move, next_move_time_ms, eval, nodes FROM game_move WHERE game_id = ? ORDER BY ply"


@dataclass(frozen=True, slots=True)
class PlayedGame:
    """A game that is over."""

    key: int
    """In the database."""
    number: int
    """From 1 on, by the schedule: games 1 and 2 are the first pair."""
    black: str
    white: str
    result: str
    """A name of rsshogi's ``GameResult``, such as ``BLACK_WIN_BY_TIMEOUT``."""
    sfen: str
    date: str

    @property
    def pair(self) -> int:
        return (self.number - 1) // 2

    def points(self, name: str) -> float | None:
        """What the player ``name`` got, or None where the game has no result."""
        if self.result.startswith("DRAW"):
            return 0.5
        for colour, winner in (("BLACK_WIN", self.black), ("WHITE_WIN", self.white)):
            if self.result.startswith(colour):
                return 1.0 if winner == name else 0.0
        return None


def database(referee: Path) -> Path:
    """The database of a run folder."""
    return referee / "game.db"


def played_games(file: Path) -> list[PlayedGame]:
    """All finished games; none where the database is not there yet.

    Raises:
        OSError: it cannot be read.
    """
    if not file.exists():
        return []
    try:
        with closing(_open(file)) as connection:
            rows = connection.execute(_GAMES).fetchall()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return []
        raise OSError(f"{file}: {error}") from error
    except sqlite3.Error as error:
        raise OSError(f"{file}: {error}") from error
    found = []
    for key, name, black, white, result, sfen, date in rows:
        match = _NUMBER.match(name)
        if match is not None and result != "PAUSED":
            found.append(PlayedGame(key, int(match[1]), black, white, result, sfen, str(date or "")[:19]))
    return found


def _open(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, timeout=10)


def forget_failed(file: Path) -> int:
    """Take games without a result out of the database, so that the referee plays them again; returns how many.

    It stores a game as ERROR where an engine would not start, or where a stall of the machine made a clock run out
    that the engine is not to blame for, and would count it as played for ever.

    Raises:
        OSError: the database cannot be written.
    """
    failed = [game.key for game in played_games(file) if game.points(game.black) is None]
    if failed:
        try:
            with closing(sqlite3.connect(file, timeout=10)) as connection, connection:
                connection.execute("PRAGMA foreign_keys = ON")
                connection.executemany("DELETE FROM game WHERE id = ?", [(key,) for key in failed])
        except sqlite3.Error as error:
            raise OSError(f"{file}: {error}") from error
    return len(failed)


def results_of(games: Sequence[PlayedGame], name: str) -> Iterator[tuple[int, float]]:
    """(pair, points of ``name``) of the games that have a result."""
    for game in games:
        points = game.points(name)
        if points is not None:
            yield game.pair, points


def write_records(file: Path, folder: Path, event: str) -> int:
    """Write ``game-0001.csa`` and so on for every game with a result that has no record yet; returns how many are new.

    Raises:
        OSError: the disk or the database refuses.
    """
    new = 0
    for game in played_games(file):
        path = folder / f"game-{game.number:04d}.csa"
        if path.exists() or game.points(game.black) is None:
            continue
        temporary = folder / f".{path.name}.{os.getpid()}"
        temporary.write_text(_csa(file, game, event), encoding="utf-8")
        temporary.replace(path)
        new += 1
    return new


def _csa(file: Path, game: PlayedGame, event: str) -> str:
    """The CSA record of one game. Scores in comments are from black's side, as that format has them."""
    board = Board()
    board.set_sfen(game.sfen)
    black_to_move = game.sfen.split()[1] == "b"
    entries = []
    with closing(_open(file)) as connection:
        rows = connection.execute(_MOVES, (game.key,)).fetchall()
    for number, spent, score, nodes in rows:
        if number == int(Move.MOVE_END):
            break
        move = board.push_move(Move(number)).to_move()
        info = EngineInfo(eval=score if black_to_move else -score, nodes=nodes) if score is not None else None
        entries.append(MoveEntry(move, time_ms=spent, engine_info=info))
        black_to_move = not black_to_move
    metadata = RecordMetadata(
        event=event, black_player=game.black, white_player=game.white, start_date=game.date.replace("-", "/") or None
    )
    record = Record(game.sfen, entries, metadata, None)
    result = getattr(GameResult, game.result, GameResult.PAUSED)
    try:
        record.main_terminal = SpecialMoveEntry.from_result(result)
        return str(record.to_csa(version="3.0"))
    except ValueError:
        # CSA has no word for this ending at this side's turn (a loss that the referee ruled); the comment says it.
        record.main_terminal = SpecialMoveEntry.from_result(GameResult.PAUSED, comment=game.result)
        return str(record.to_csa(version="3.0"))
