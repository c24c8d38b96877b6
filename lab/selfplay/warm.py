"""Compile what self-play needs beside the searcher. Players have no use for it, so it is not part of their warm-up."""

from __future__ import annotations

from typing import Final

from numba import int64, uint64

from lab.jit import FOLDER
from lab.selfplay import game, harvest, walk
from lab.selfplay.state import SP
from worker.nnue import NN
from worker.search.state import TH
from worker.shogi.state import POS
from worker.warm import Progress, Stage, compile_once, warm_up

_STAGES: Final[tuple[Stage, ...]] = (
    ("openings", game.below, (SP, uint64)),
    ("openings", game.rewind, (POS,)),
    ("openings", game.open_game, (POS, NN, TH, SP, int64, int64, int64)),
    ("trees", harvest.harvest, (POS, TH, SP, int64)),
    ("games", game.play, (POS, NN, TH, SP)),
    ("positions", walk.pack, (POS, int64)),
    ("positions", walk.walk_game, (POS, int64, int64, int64, int64, int64)),
)


def warm_up_selfplay(progress: Progress | None = None) -> bool:
    """`worker.warm.warm_up`, and self-play after it. Returns False where the cache was warm already."""
    fresh = warm_up(progress)
    return compile_once(_STAGES, f"{FOLDER}/complete-selfplay", progress) or fresh
