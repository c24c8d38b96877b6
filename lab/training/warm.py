"""Compile what the trainer needs beside the searcher and self-play."""

from __future__ import annotations

from typing import Final

from numba import float32, float64, int32, int64, uint64

from lab.jit import FOLDER
from lab.selfplay.warm import warm_up_selfplay
from lab.training import kernels, replay
from worker.nnue import NN
from worker.shogi.state import POS
from worker.warm import Progress, Stage, compile_once

_VALUES: Final = float32[:, ::1]
_LINE: Final = float32[::1]
_ROWS: Final = int32[:, ::1]
_STAGES: Final[tuple[Stage, ...]] = (
    (
        "games",
        replay.replay_games,
        (POS, *(int64,) * 3, uint64, *(int64,) * 3, *(float64,) * 2, *(int64,) * 3, int64[::1]),
    ),
    ("rows", replay.write_rows, (int64,) * 9),
    ("sums", kernels.sum_rows, (_VALUES, _LINE, _ROWS, _VALUES, int64, float32, int64, int64)),
    ("slopes", kernels.add_slopes, (_ROWS, _VALUES, _VALUES, int64, float32, _VALUES, _LINE, int64, int64)),
    ("evaluation", kernels.evaluate_records, (POS, NN, *(int64,) * 4)),
    ("ranks", kernels.rank_moves, (POS, NN, int64, int64[::1])),
)


def warm_up_training(progress: Progress | None = None) -> bool:
    """`lab.selfplay.warm.warm_up_selfplay`, and the trainer after it. Returns False where all was there already."""
    fresh = warm_up_selfplay(progress)
    return compile_once(_STAGES, f"{FOLDER}/complete-training", progress) or fresh
