"""The scale of a network, measured by quick games against itself.

The search's margins are centipawns of our own network, so another network's output must be divided by a factor that
gives its scores the same meaning: FV_SCALE. The meaning of a score is the chance to win with it. The network's games
against itself give the raw output at which the odds of the side ahead are e to 1 (1 / (1 + exp(-raw / scale))); for our
own network, measured in the same way, this is `REFERENCE_CP` centipawns.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lab.match.game import Adjudicator, Choice, play_game
from worker.engine import Limits
from worker.nnue import Network
from worker.score import is_mate
from worker.search.engine import NumbaEngine

NODES: Final = 1000
"""Nodes per move. `REFERENCE_CP` holds for this number."""
REFERENCE_CP: Final = 935.0
"""Of our own network (generation 11): 240 games, 26,385 positions, 95 % from 758 to 1,100 (docs/notebook/nets.md)."""
_PILOT: Final = 0.25
"""Share of the games that set the scale of the others: with a scale that is far off, the search plays badly."""
_MAX_MOVES: Final = 320
_RESIGN_CP: Final = 6000
_RESIGN_MOVES: Final = 3
_HASH_MB: Final = 2
_RESAMPLES: Final = 400
_STEPS: Final = 40
_FLATTEST: Final = 0.02
"""The least slope, in logistic units for a usual score, that tells a scale."""
_FV_SCALES: Final = (1, 1024)

_Floats = npt.NDArray[np.float64]


class CalibrationError(ValueError):
    """The games do not determine a scale."""


@dataclass(frozen=True, slots=True)
class Game:
    """The scores of a game and its result.

    Attributes:
        raw: by move, the searched score of the side to move in raw output, float64 [moves].
        points: by move, the game's result for that side: 1, 0.5 or 0, float64 [moves].
    """

    raw: _Floats
    points: _Floats


@dataclass(frozen=True, slots=True)
class Calibration:
    """The measured scale of a network.

    Attributes:
        fv_scale: the scale with which the margins fit.
        win_scale: raw output at which the odds of the side ahead are e to 1.
        low, high: the 95 % interval of ``fv_scale`` by resampled games.
        games: number of games.
        positions: number of positions in them.
    """

    fv_scale: int
    win_scale: float
    low: float
    high: float
    games: int
    positions: int


def calibrate(
    network: Network, openings: Sequence[str], seed: int = 1, on_game: Callable[[int], None] = lambda _number: None
) -> Calibration:
    """Play a game from each opening and measure.

    Args:
        on_game: called with the number of games after each.

    Raises:
        CalibrationError: the games do not determine a scale.
    """
    pilot = max(8, round(len(openings) * _PILOT))
    games: list[Game] = []
    for first, some in ((0, openings[:pilot]), (pilot, openings[pilot:])):
        if first:
            network = network.scaled(_fv_scale(fitted(games)))
        engine = NumbaEngine(_HASH_MB, network=network)
        try:
            for number, opening in enumerate(some, first + 1):
                games.append(_play(engine, network.fv_scale, opening))
                on_game(number)
        finally:
            engine.close()
    scale = fitted(games)
    rng = random.Random(seed)
    resampled = [_fit(rng.choices(games, k=len(games)))[0] for _ in range(_RESAMPLES)]
    low, high = np.percentile(resampled, (2.5, 97.5)) / REFERENCE_CP
    return Calibration(
        _fv_scale(scale), scale, float(low), float(high), len(games), sum(len(game.raw) for game in games)
    )


def _fv_scale(win_scale: float) -> int:
    return int(np.clip(round(win_scale / REFERENCE_CP), *_FV_SCALES))


def _play(engine: NumbaEngine, fv_scale: int, opening: str) -> Game:
    engine.new_game()
    scores: list[tuple[int, int]] = []

    def think(colour: int, moves: tuple[str, ...]) -> Choice:
        engine.set_position(opening, moves)
        result = engine.go(Limits(nodes=NODES))
        if not result.lines:
            return Choice(result.bestmove, None)
        score = result.lines[0].score
        if not is_mate(score):
            scores.append((colour, score))
        return Choice(result.bestmove, score)

    winner = play_game(opening, think, Adjudicator(_RESIGN_CP, _RESIGN_MOVES), _MAX_MOVES).winner
    points = [0.5 if winner is None else float(colour == winner) for colour, _ in scores]
    return Game(np.array([score for _, score in scores], float) * fv_scale, np.array(points, float))


def fitted(games: Sequence[Game]) -> float:
    """The raw output at which the odds of the side ahead are e to 1: the maximum-likelihood value for these games.

    Raises:
        CalibrationError: the side ahead does not win more often.
    """
    scale, slope = _fit(games)
    if slope <= _FLATTEST:
        raise CalibrationError("the side ahead does not win more often: the network evaluates nothing")
    return scale


def _fit(games: Sequence[Game]) -> tuple[float, float]:
    """The scale, which is finite even if the side ahead does not win more often, and the slope that tells.

    Raises:
        CalibrationError: every score is 0.
    """
    raw = np.concatenate([game.raw for game in games])
    points = np.concatenate([game.points for game in games])
    spread = float(np.sqrt(np.mean(raw * raw))) if len(raw) else 0.0
    if not spread:
        raise CalibrationError("every score is 0: the games tell no scale")
    x = raw / spread
    slope = 0.5
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(slope * x, -40, 40)))
        step = float((x * (points - chance)).sum() / max((x * x * chance * (1 - chance)).sum(), 1e-9))
        slope = float(np.clip(slope + np.clip(step, -0.5, 0.5), -10, 50))
        if abs(step) < 1e-6:
            break
    return spread / max(slope, _FLATTEST), slope
