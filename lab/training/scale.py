"""The win-rate scale that fits scores to the results of games."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lab.selfplay.walk import QUIET_SCORE

_BIN: Final = 10
"""Centipawns that the fit of the scale takes for one score."""
BINS: Final = 2 * QUIET_SCORE // _BIN
"""The number of bins of scores for `fitted_scale`."""
_STEPS: Final = 50
_STEEPEST: Final = 1.0
"""Per centipawn: beyond it every score but 0 decides, and nothing is to be fitted."""


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
