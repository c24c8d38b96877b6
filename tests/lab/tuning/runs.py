"""Settings of small runs for tests, and invented pairs of games."""

from __future__ import annotations

import random
from typing import Any

from lab.tuning.spsa import Parameter, SpsaSettings
from lab.tuning.state import GamePair, GameSettings, PairResult, TuneSettings
from worker.shogi import STARTPOS

OPENINGS = (
    STARTPOS,
    "lnsgkgsnl/1r5b1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL b - 3",
)


def settings(iterations: int = 12, games: GameSettings | None = None, **spsa: Any) -> TuneSettings:
    parameters = (Parameter("LATE_MOVES", 3, 0, 8, 1.0), Parameter("NULL_BASE", 502, 0, 1004, 50.0))
    return TuneSettings(
        SpsaSettings(parameters, iterations, **{"lag": 2, "rate": 0.1, **spsa}),
        games or GameSettings(("0" * 64,), nodes=100),
    )


def played(pair: GamePair) -> PairResult:
    """A result that follows from the pair's name."""
    rng = random.Random(str(pair.iteration))
    return PairResult(pair.iteration, (rng.choice((0.0, 0.5, 1.0)), rng.choice((0.0, 0.5, 1.0))), 80, 8000, 0.5)
