"""Tiny teacher games for tests."""

from __future__ import annotations

from typing import Any

from lab.selfplay.shard import Shard, TeacherGame
from lab.selfplay.teacher import Teacher, TeacherSettings
from worker.nnue import default_network


def tiny(**changes: Any) -> TeacherSettings:
    """Settings of games that take a tenth of a second or less."""
    return TeacherSettings(**{"nodes": 60, "games": 6, "hash_mb": 1, "unusual": 0, **changes})


def made(number: int = 0, **changes: Any) -> Shard:
    """A shard by a teacher of its own."""
    return Teacher(default_network(), "net", tiny(**changes)).make_shard(number)


def games_of(shard: Shard) -> list[TeacherGame]:
    return list(shard.games())
