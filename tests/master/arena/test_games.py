"""Games out of the referee's database."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from rsshogi.core import Move
from rsshogi.record import Record

from master.arena.games import forget_failed, played_games, results_of, write_records
from worker.arena.statistics import tally
from worker.engine import STARTPOS

# The columns that are read, as shogiarena 1.3.2 declares them.
SCHEMA = """
    CREATE TABLE player (id INTEGER PRIMARY KEY, player_name VARCHAR(64));
    CREATE TABLE game (id INTEGER PRIMARY KEY, game_name VARCHAR(128), start_date DATETIME, game_result VARCHAR(64),
        black_player_id INTEGER, white_player_id INTEGER, initial_position_sfen VARCHAR(144));
    CREATE TABLE game_move (id INTEGER PRIMARY KEY, game_id INTEGER, ply SMALLINT, next_move SMALLINT,
        next_move_time_ms INTEGER, eval SMALLINT, nodes INTEGER,
        FOREIGN KEY(game_id) REFERENCES game (id) ON DELETE CASCADE);
    INSERT INTO player VALUES (1, 'A'), (2, 'B');
"""
RESULTS = ("BLACK_WIN", "BLACK_WIN_BY_TIMEOUT", "DRAW_BY_REPETITION", "WHITE_WIN", "ERROR", "PAUSED")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Six games, A black in the odd ones, each of two moves."""
    file = tmp_path / "game.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.executescript(SCHEMA)
        for key, result in enumerate(RESULTS, start=1):
            black = 1 if key % 2 else 2
            connection.execute(
                "INSERT INTO game VALUES (?, ?, ?, ?, ?, ?, ?)",
                (key, f"g{key:04d}-abc", "2026-11-21 11:46:27.755878", result, black, 3 - black, STARTPOS),
            )
            for ply, (text, score) in enumerate((("7g7f", 31), ("3c3d", 12))):
                move = Move.from_usi(text)
                connection.execute(
                    "INSERT INTO game_move (game_id, ply, next_move, next_move_time_ms, eval, nodes) "
                    "VALUES (?, ?, ?, ?, ?, ?)",
                    (key, ply, int(move), 1500, score, 99),
                )
            connection.execute(
                "INSERT INTO game_move (game_id, ply, next_move) VALUES (?, 2, ?)", (key, int(Move.MOVE_END))
            )
    return file


def test_results(database: Path) -> None:
    games = played_games(database)
    assert [game.number for game in games] == [1, 2, 3, 4, 5], "a game that only pauses is not over"
    assert list(results_of(games, "A")) == [(0, 1.0), (0, 0.0), (1, 0.5), (1, 1.0)]
    assert tally(list(results_of(games, "A"))).pairs == (0, 0, 1, 1, 0)
    assert played_games(database.with_name("gone.db")) == []


def test_records(database: Path, tmp_path: Path) -> None:
    assert write_records(database, tmp_path, "a match") == 4
    assert write_records(database, tmp_path, "a match") == 0, "those that are there stay"
    text = (tmp_path / "game-0001.csa").read_text(encoding="utf-8")
    record = Record.from_csa_str(text)
    assert record.to_usi_position().endswith("moves 7g7f 3c3d")
    assert "N+A\nN-B" in text
    assert "'** 31 #99" in text
    assert "'** -12 #99" in text, "the score of white's move from black's side"
    assert (
        "DRAW" in (tmp_path / "game-0003.csa").read_text() or "%SENNICHITE" in (tmp_path / "game-0003.csa").read_text()
    )


def test_games_without_a_result_are_forgotten(database: Path) -> None:
    assert forget_failed(database) == 1
    assert [game.number for game in played_games(database)] == [1, 2, 3, 4]
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT count(*) FROM game_move WHERE game_id = 5").fetchone() == (0,)
    assert forget_failed(database) == 0
