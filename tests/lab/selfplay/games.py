"""Tiny teacher games for tests."""

from __future__ import annotations

from typing import Any

from rsshogi.core import Board

from lab.selfplay.shard import Shard, TeacherGame
from lab.selfplay.teacher import Teacher, TeacherSettings
from worker.nnue import default_network
from worker.shogi import Position


def tiny(**changes: Any) -> TeacherSettings:
    """Settings of games that take a tenth of a second or less."""
    return TeacherSettings(**{"nodes": 60, "games": 6, "hash_mb": 1, "unusual": 0, **changes})


def made(number: int = 0, **changes: Any) -> Shard:
    """A shard by a teacher of its own settings."""
    return Teacher(default_network(), "net", tiny(**changes)).make_shard(number)


def games_of(shard: Shard) -> list[TeacherGame]:
    return list(shard.games())


def unpacked_position(packed: bytes, move_number: int = 1) -> Position:
    """The position of a PackedSfen, as rsshogi reads it."""
    board = Board()
    board.set_packed_sfen(packed)
    return Position.from_sfen(" ".join([*board.to_sfen().split()[:3], str(move_number)]))
