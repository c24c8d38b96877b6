"""Positions out of shards, and counts of them: lengths, ends, duplicates, scores, and the win-rate scale that fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lab.selfplay.shard import (
    ENTERING,
    PLAYED_OUT,
    UNUSUAL,
    PackedError,
    Shard,
    ShardError,
    TeacherGame,
    unpacked_position,
)
from lab.selfplay.state import END_NAMES, LONGEST_GAME, MOVE_LIMIT, REPEATED
from lab.selfplay.walk import CAPTURES, IN_CHECK, PROMOTES, QUIET_SCORE, RECORD_BYTES, walk_game
from worker.jit.memory import aligned_zeros
from worker.score import MATE_BOUND

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


_EDGES: Final = (0, 100, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000, MATE_BOUND)
"""Edges of the histogram of scores, by their size in centipawns."""
_MOST_KEYS: Final = 1 << 25
"""Positions among which duplicates are looked for: 256 MB."""
_BIN: Final = 10
"""Centipawns that the fit of the scale takes for one score."""
BINS: Final = 2 * QUIET_SCORE // _BIN
"""The number of bins of scores for `fitted_scale`."""
_STEPS: Final = 50
_STEEPEST: Final = 1.0
"""Per centipawn: beyond it every score but 0 decides, and nothing is to be fitted."""


class ShardTally:
    """Counts of shards that are added one by one."""

    def __init__(self) -> None:
        self._lengths: list[int] = []
        self._ends: Counter[int] = Counter()
        self._results: Counter[int] = Counter()
        self._flags: Counter[int] = Counter()
        self._facts: Counter[str] = Counter()
        self._sizes = np.zeros(len(_EDGES), np.int64)
        self._nodes = self._rejected = self._bytes = self._shards = 0
        self._nets: Counter[str] = Counter()
        self._keys: list[npt.NDArray[np.uint64]] = []
        self._known_keys = 0
        self._points = np.zeros(BINS)
        self._weights = np.zeros(BINS)

    def add(self, shard: Shard) -> None:
        """Count a shard. Raises ShardError: a game of it is not legal."""
        self._shards += 1
        self._nodes += shard.header["nodes"]
        self._rejected += shard.header["rejected"]
        self._bytes += len(shard.to_bytes())
        self._nets[shard.header["net"]] += 1
        for walked in walk(shard):
            game, facts, quiet = walked.game, walked.facts, walked.quiet
            self._lengths.append(len(game.moves))
            self._ends[game.end] += 1
            self._results[game.result] += 1
            for flag in (ENTERING, UNUSUAL, PLAYED_OUT):
                self._flags[flag] += bool(game.flags & flag)
            scores = game.scores.astype(np.int64)
            sizes = np.abs(scores)
            self._facts["in check"] += int(np.count_nonzero(facts & IN_CHECK))
            self._facts["best move captures"] += int(np.count_nonzero(facts & CAPTURES))
            self._facts["best move promotes"] += int(np.count_nonzero(facts & PROMOTES))
            self._facts["decided"] += int(np.count_nonzero(sizes >= QUIET_SCORE))
            self._facts["kept"] += int(np.count_nonzero(quiet))
            self._sizes += np.bincount(np.searchsorted(_EDGES, sizes, "right") - 1, minlength=len(_EDGES))
            add_points(self._weights, self._points, scores[quiet], walked.outcomes[quiet])
            if self._known_keys < _MOST_KEYS:
                self._keys.append(walked.keys.copy())
                self._known_keys += len(walked.keys)

    def facts(self) -> dict[str, Any]:
        """All counts, as plain values."""
        games, positions = len(self._lengths), sum(self._lengths)
        different = len(np.unique(np.concatenate(self._keys))) if self._keys else 0
        lengths = np.array(self._lengths or [0])
        return {
            "shards": self._shards,
            "nets": dict(self._nets),
            "games": games,
            "positions": positions,
            "kept": self._facts["kept"],
            "kept_share": _share(self._facts["kept"], positions),
            "in_check_share": _share(self._facts["in check"], positions),
            "capture_share": _share(self._facts["best move captures"], positions),
            "promotion_share": _share(self._facts["best move promotes"], positions),
            "decided_share": _share(self._facts["decided"], positions),
            "duplicate_share": _share(self._known_keys - different, self._known_keys),
            "duplicates_among": self._known_keys,
            "bytes_per_position": self._bytes / positions if positions else 0.0,
            "nodes_per_position": self._nodes / positions if positions else 0.0,
            "rejected_openings": self._rejected,
            "black_wins": self._results[1],
            "white_wins": self._results[-1],
            "draws": self._ends[REPEATED] + self._ends[MOVE_LIMIT],
            "ends": {name: self._ends[end] for end, name in END_NAMES.items()},
            "entering_starts": self._flags[ENTERING],
            "unusual_starts": self._flags[UNUSUAL],
            "played_out": self._flags[PLAYED_OUT],
            "length": {
                "mean": float(lengths.mean()),
                "median": float(np.median(lengths)),
                "shortest": int(lengths.min()),
                "longest": int(lengths.max()),
            },
            "scores": [
                {"from": low, "below": high, "positions": int(count)}
                for low, high, count in zip(_EDGES, (*_EDGES[1:], None), self._sizes, strict=True)
            ],
            "win_rate_scale": fitted_scale(self._weights, self._points),
        }


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def add_points(
    weights: npt.NDArray[np.float64],
    points: npt.NDArray[np.float64],
    scores: npt.NDArray[Any],
    outcomes: npt.NDArray[np.int8],
) -> None:
    """Count positions for `fitted_scale`; those with a score of `QUIET_SCORE` and more are passed over.

    Args:
        weights, points: float64 [`BINS`], added to.
        scores, outcomes: as the side to move sees them; 1 for a win, -1 for a loss.
    """
    wide = scores.astype(np.int64)
    near = np.abs(wide) < QUIET_SCORE
    bins = (wide[near] + QUIET_SCORE) // _BIN
    weights += np.bincount(bins, minlength=BINS)
    points += np.bincount(bins, (outcomes[near].astype(np.float64) + 1) / 2, minlength=BINS)


def fitted_scale(weights: npt.NDArray[np.float64], points: npt.NDArray[np.float64]) -> float | None:
    """The scale s in centipawns for which 1 / (1 + exp(-score / s)) explains the points best; None: there is none.

    Args:
        weights: positions by score, in bins of `_BIN` from -`QUIET_SCORE` on.
        points: their points, 1 for a win of the side to move and 1/2 for a draw, summed up.
    """
    scores = (np.arange(len(weights)) + 0.5) * _BIN - QUIET_SCORE
    steepness = 1 / 1000
    for _ in range(_STEPS):
        expected = 1 / (1 + np.exp(-np.clip(steepness * scores, -500, 500)))
        slope = float(np.sum(scores * (points - weights * expected)))
        curve = float(np.sum(weights * scores**2 * expected * (1 - expected)))
        if curve <= 0:
            return None
        # Newton's method on a concave likelihood; a step is never so long that the sign is lost.
        steepness = max(steepness / 4, min(steepness * 4, steepness + slope / curve))
        if steepness > _STEEPEST or steepness < 1e-6:
            return None
    return 1 / steepness
