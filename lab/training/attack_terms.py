"""Fit a network's attack terms (`worker.nnue.attack_terms`) to the scores of games.

A logistic regression: the chance by the score is to be predicted from the network's evaluation and the number of times
that each term counts in a position. Newton's method needs few steps, because there are 55 unknowns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lab.training.compare import evaluations, winning_chances
from lab.training.corpus import Records
from lab.training.kernels import attack_values
from worker.nnue.attack_terms import TERMS
from worker.nnue.format import NetworkFile
from worker.nnue.network import DEFAULT_FV_SCALE

HORIZON: Final = 1.0
"""Look-ahead of the scores. Without any, they are better for the side to move than the evaluations of networks that are
trained with a look-ahead, by 21 centipawns on average, and terms that include this probably do harm
(docs/notebook/training.md)."""
STEPS: Final = 6
PENALTY: Final = 20.0
"""Of the squared terms, in logistic units, beside the sum over positions: a term that hardly occurs stays small."""
_PART: Final = 1 << 16
"""Number of positions that are handled at once."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Fit:
    """A network with terms, and its loss in other positions: mean of -p log q - (1 - p) log(1 - q), in nats."""

    network: NetworkFile
    before: float
    after: float


def counts_of(records: Records) -> npt.NDArray[np.int8]:
    """How often each term counts in each position, int8 [n, `TERMS`]."""
    units = np.eye(TERMS, dtype=np.int16)
    parts = [records[first : first + _PART] for first in range(0, len(records), _PART)]
    return np.concatenate([attack_values(units, part).astype(np.int8) for part in parts])


def fit(network: NetworkFile, training: Records, validation: Records, scale: float) -> Fit:
    """The network with the terms that fit best, instead of those that it has.

    Args:
        training, validation: positions with scores; the losses are those of the second.
        scale: centipawns per logistic unit.

    Raises:
        ValueError: there are no positions, or a term does not fit into 16 bits.
    """
    if not len(training) or not len(validation):
        raise ValueError("the games have too few positions")
    plain = replace(network, attack_terms=None)
    counts, own = counts_of(training), evaluations(plain, training) / scale
    chances = winning_chances(training["score"].astype(np.float64), scale)
    weights = np.zeros(TERMS)
    for _ in range(STEPS):
        slope, curvature = -PENALTY * weights, PENALTY * np.eye(TERMS)
        for first in range(0, len(counts), _PART):
            part = slice(first, first + _PART)
            rows = counts[part].astype(np.float64)
            found = _logistic(own[part] + rows @ weights)
            slope += rows.T @ (chances[part] - found)
            curvature += (rows * (found * (1 - found))[:, None]).T @ rows
        weights += np.linalg.solve(curvature, slope)
    raw = np.rint(weights * scale * (network.architecture.fv_scale or DEFAULT_FV_SCALE))
    if np.abs(raw).max() >= 1 << 15:
        raise ValueError("a term does not fit into 16 bits")
    better = replace(network, attack_terms=raw.astype(np.int16))
    wanted = winning_chances(validation["score"].astype(np.float64), scale)
    before, after = (_loss(wanted, evaluations(one, validation) / scale) for one in (plain, better))
    return Fit(better, before, after)


def _logistic(values: Floats) -> Any:
    return 1 / (1 + np.exp(-np.clip(values, -50, 50)))


def _loss(wanted: Floats, values: Floats) -> float:
    return float(np.mean(np.logaddexp(0, values) - wanted * values))
