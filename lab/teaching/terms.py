"""The terms on which shards are made, the finished shard, and the events in between."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cluster.drivers.task_pool import Opened
from lab.selfplay.warm import warm_up_selfplay
from lab.training.shard import tree_to_bytes
from lab.training.teacher import Teacher, TeacherSettings, code_version
from worker.nnue import Network
from worker.nnue.format import parse_network


class TeachingError(Exception):
    """Teacher games cannot be made or kept; the text says what is wrong, and where."""


class FolderError(TeachingError):
    """A folder is not one for what is ordered; the text says why."""


@dataclass(frozen=True, slots=True)
class ShardTerms:
    """The terms on which shards are made. The same for all of a folder."""

    settings: TeacherSettings
    net_digest: str
    """SHA-256 of the network's file."""
    fv_scale: int | None
    code: str
    """The version of the ordering process's sources (`code_version`)."""


@dataclass(frozen=True, slots=True)
class Played:
    """Some more games of a shard that is being made."""

    number: int
    """The shard's."""
    games: int
    positions: int
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Made:
    """A shard, whole."""

    number: int
    data: bytes
    games: int
    positions: int
    cpu_s: float
    """Seconds of processor time for the whole shard."""
    tree: bytes | None = None
    """The file of the positions of its searches' trees, if they are kept."""
    tree_positions: int = 0


@dataclass(frozen=True, slots=True)
class ShardLost:
    """The process that made a shard died; another makes it again, from its beginning."""

    number: int
    why: str


Event = Opened | Played | Made | ShardLost
Listener = Callable[[Event], None]


def digest_of(net: bytes) -> str:
    """The SHA-256 of a network's file."""
    return hashlib.sha256(net).hexdigest()


_teachers: dict[tuple[ShardTerms, int], Teacher] = {}
"""The last one of this process: a process makes many shards."""


def _teacher(net: bytes, terms: ShardTerms) -> Teacher:
    key = (terms, os.getpid())
    if key not in _teachers:
        network = Network(parse_network(net), fv_scale=terms.fv_scale)
        _teachers.clear()
        _teachers[key] = Teacher(network, terms.net_digest, terms.settings)
    return _teachers[key]


def make_shard(net: bytes, terms: ShardTerms, number: int, on_played: Listener = lambda _event: None) -> Made:
    """Make one shard, in this process; compile first, where this was not done yet on this machine.

    Args:
        net: the network's file.
        on_played: called about once a second with the progress.

    Raises:
        TeachingError: this machine has other sources than whoever ordered.
    """
    if (own := code_version()) != terms.code:
        raise TeachingError(f"{os.uname().nodename} has another version of Gougi ({own}, not {terms.code})")
    warm_up_selfplay()
    teacher = _teacher(net, terms)
    began = told = time.process_time()
    games = positions = 0

    def on_game(length: int) -> None:
        nonlocal told, games, positions
        games += 1
        positions += length
        now = time.process_time()
        if now - told >= 1:
            on_played(Played(number, games, positions, now - told))
            told, games, positions = now, 0, 0

    parts: list[npt.NDArray[np.void]] = []
    shard = teacher.make_shard(number, on_game, parts.append)
    records = np.concatenate(parts) if parts else None
    spent = time.process_time() - began
    return Made(
        number,
        shard.to_bytes(),
        shard.header["games"],
        shard.header["positions"],
        spent,
        None if records is None else tree_to_bytes(shard.header, records),
        0 if records is None else len(records),
    )
