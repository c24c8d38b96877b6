"""Positions out of shards: which of them are quiet, and the field's 40 bytes (PackedSfenValue) of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lab.selfplay.state import LONGEST_GAME
from lab.selfplay.walk import QUIET_SCORE, RECORD_BYTES, walk_game
from lab.training.packed import PackedError, unpacked_position
from lab.training.shard import Shard, ShardError, TeacherGame
from worker.jit.memory import aligned_zeros

PACKED_SFEN_VALUE: Final = np.dtype(
    [
        ("sfen", np.uint8, (32,)),
        ("score", "<i2"),  # centipawns, from the side to move
        ("move", "<u2"),  # to | from << 7 | drop << 14 | promotion << 15; from of a drop: the piece type
        ("game_ply", "<u2"),
        ("game_result", np.int8),  # 1: the side to move wins, -1: it loses, 0: a draw
        ("padding", np.uint8),
    ]
)
"""The field's record of a position."""
assert PACKED_SFEN_VALUE.itemsize == RECORD_BYTES


@dataclass(frozen=True, slots=True)
class WalkedGame:
    """A game's positions before each move; arrays are valid until the next game is walked."""

    number: int
    """The game's place in its shard, from 0."""
    game: TeacherGame
    keys: npt.NDArray[np.uint64]
    facts: npt.NDArray[np.uint8]
    """`lab.selfplay.walk.IN_CHECK`, `CAPTURES`, `PROMOTES`."""
    outcomes: npt.NDArray[np.int8]
    """The result as the side to move sees it."""
    records: npt.NDArray[np.void] | None
    """`PACKED_SFEN_VALUE`, where they were asked for."""

    @property
    def quiet(self) -> npt.NDArray[np.bool_]:
        """Which positions are kept for training: no check, no capture and no promotion as best move, not decided."""
        quiet: npt.NDArray[np.bool_] = (self.facts == 0) & (np.abs(self.game.scores.astype(np.int32)) < QUIET_SCORE)
        return quiet


def walk(
    shard: Shard, *, records: bool = False, wanted: Callable[[TeacherGame], bool] = lambda _game: True
) -> Iterator[WalkedGame]:
    """Go through a shard's games, those that are ``wanted``.

    Raises:
        ShardError: a game is not legal; the text says which.
    """
    keys = aligned_zeros(LONGEST_GAME, np.uint64)
    facts = aligned_zeros(LONGEST_GAME, np.uint8)
    out = aligned_zeros(LONGEST_GAME, PACKED_SFEN_VALUE) if records else None
    for number, game in enumerate(shard.games()):
        if not wanted(game):
            continue
        count = len(game.moves)
        try:
            position = unpacked_position(game.start, game.move_number)
        except PackedError as error:
            raise ShardError(f"game {number}: its start: {error}") from error
        moves = np.ascontiguousarray(game.moves, np.uint16)
        address = 0 if out is None else out.ctypes.data
        legal = walk_game(position.record, moves.ctypes.data, count, keys.ctypes.data, facts.ctypes.data, address)
        if legal < count:
            raise ShardError(f"game {number}: its move {legal + 1} is not legal")
        black_first = 1 - 2 * (np.arange(count, dtype=np.int64) & 1)
        first = -game.result if _turn(game) else game.result
        outcomes = (first * black_first).astype(np.int8)
        if out is not None:
            _fill(out[:count], game, outcomes)
        yield WalkedGame(number, game, keys[:count], facts[:count], outcomes, None if out is None else out[:count])


def _turn(game: TeacherGame) -> int:
    """The side to move at the start: the lowest bit of its position."""
    return game.start[0] & 1


def _fill(records: Any, game: TeacherGame, outcomes: npt.NDArray[np.int8]) -> None:
    records["score"] = game.scores
    records["game_ply"] = game.move_number + np.arange(len(game.scores))
    records["game_result"] = outcomes
    records["padding"] = 0


def packed_records(shard: Shard, *, only_quiet: bool = True) -> Iterator[bytes]:
    """The `PACKED_SFEN_VALUE` records of a shard, game by game. Raises ShardError."""
    for walked in walk(shard, records=True):
        assert walked.records is not None
        yield (walked.records[walked.quiet] if only_quiet else walked.records).tobytes()
