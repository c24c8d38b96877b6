"""Positions over which networks are compared: of teacher games, or of random games."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from lab.selfplay.walk import whole_move
from lab.training.corpus import CorpusError, is_for_validation
from lab.training.packed import unpacked_position
from lab.training.positions import walk
from lab.training.shard import ShardError, TeacherGame, read_shard
from lab.training.train_settings import HELD_OUT
from worker.shogi import Position

_MOST_SHARDS: Final = 40
_PLIES: Final = (4, 100)


@dataclass(frozen=True, slots=True)
class Sample:
    """A position, and where it is from. It is kept as text: a `Position` takes 300 KB.

    Attributes:
        sfen: the position.
        ply: number of the move that is to be made.
        where: game and move, for a reader.
        move: the teacher's; 0: there is none.
        points: of the side to move in that game, 0, 1/2 or 1; None: the game has no result.
        is_held_out: no network that was trained with the usual share for validation has learned from the game.
    """

    sfen: str
    ply: int
    where: str
    move: int = 0
    points: float | None = None
    is_held_out: bool = False

    def position(self) -> Position:
        """Make the position."""
        return Position.from_sfen(self.sfen)


def random_samples(count: int, seed: int = 1) -> list[Sample]:
    """Positions of random games, one of each; the same for the same arguments."""
    rng = np.random.Generator(np.random.PCG64(seed))
    found: list[Sample] = []
    while len(found) < count:
        position = Position.startpos()
        plies = int(rng.integers(*_PLIES))
        for _ in range(plies):
            moves = position.legal_moves()
            if not moves:
                break
            position.push(moves[int(rng.integers(len(moves)))])
        if not position.in_check() and not position.is_mated():
            found.append(Sample(position.sfen(), plies + 1, f"random game {len(found) + 1}, ply {plies}"))
    return found


def teacher_samples(files: Sequence[Path], count: int) -> list[Sample]:
    """Quiet positions of teacher games, from some of the shards, evenly.

    As many as there are come from games that `gougi train` holds out, so that no network has learned from them.

    Raises:
        CorpusError: a shard is damaged; the text names it.
        OSError: one cannot be read.
    """
    chosen = [files[place] for place in sorted({i * len(files) // _MOST_SHARDS for i in range(_MOST_SHARDS)})]
    found: list[Sample] = []
    for held_out in (True, False):
        wanted = count - len(found)
        if wanted:
            found += _evenly([one for path in chosen for one in _of_shard(path, held_out, wanted)], wanted)
    return found


def _of_shard(path: Path, held_out: bool, most: int) -> list[Sample]:
    """Quiet positions of the games that are held out, or of the others: all, or ``most`` and evenly."""

    def is_wanted(game: TeacherGame) -> bool:
        return is_for_validation(game, HELD_OUT) is held_out

    found: list[Sample] = []
    try:
        for walked in walk(read_shard(path), records=True, wanted=is_wanted):
            assert walked.records is not None
            for place in np.flatnonzero(walked.quiet):
                record = walked.records[place]
                ply = int(record["game_ply"])
                position = unpacked_position(record["sfen"].tobytes(), ply)
                move = int(whole_move(position.record, int(walked.game.moves[place])))
                points = (int(record["game_result"]) + 1) / 2
                where = f"{path.name}, game {walked.number}, move {ply}"
                found.append(Sample(position.sfen(), ply, where, move, points, held_out))
    except ShardError as error:
        raise CorpusError(str(error) if str(path) in str(error) else f"{path}: {error}") from error
    return _evenly(found, most)


def _evenly(samples: list[Sample], count: int) -> list[Sample]:
    """At most ``count`` of them."""
    if len(samples) <= count:
        return samples
    return [samples[i * len(samples) // count] for i in range(count)]
