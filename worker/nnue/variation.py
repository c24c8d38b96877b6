"""Networks that differ a little: voters that use them disagree when the network is unsure.

Voters that search alike only repeat each other. Obata, Sugiyama, Hoki and Ito (2010) added a random number to the
evaluation; GA将 left out groups of features for each voter. Here both are applied to the weights, once, when a network
is loaded; the compiled evaluation is unaffected.

**Dropout** leaves out hidden units of the feature transformer, of both perspectives together, and strengthens the
remaining ones (Srivastava et al. 2014). To leave out rows would be to leave out pieces: a voter without 1 % of them is
340 centipawns off in the mean square (reference net), one without 5 % of the hidden units 83.

**Noise** is Gaussian, on the transformer's weights. Its strength is chosen so that the evaluation of sample positions
differs by the standard deviation that was requested.

The mean change over these positions is subtracted from the output's bias: it would only favour the side to move.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Final

import numpy as np
import numpy.typing as npt

from worker.nnue.format import NetworkFile
from worker.nnue.reference import active_rows, forward
from worker.shogi.position import Position

_POSITIONS: Final = 200
_PLIES: Final = (8, 60)
"""Range of plies (end excluded) of the random games that provide the sample."""
_DECIDED: Final = 1000
"""Centipawns. Positions with a higher evaluation are excluded: the votes do not matter there."""
_INT8: Final = (-128, 127)
_INT16: Final = (-(1 << 15), (1 << 15) - 1)
_STRENGTHS: Final = (1 / 16, 4096.0)
"""Standard deviations of the noise on a weight, from the least effective one to more than any network tolerates."""
_STEPS: Final = 16

_Int16s = npt.NDArray[np.int16]
_Floats = npt.NDArray[np.float64]
_Sample = tuple[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]], ...]
"""By position: the rows that the side to move sees, and those that the other side sees."""


@dataclass(frozen=True, slots=True)
class Variation:
    """A change of a network; equal values change it in the same way.

    Raises (constructor):
        ValueError: a value out of range.
    """

    dropout: float = 0.0
    """Share of the hidden units that are left out, 0 to 0.5."""
    noise_cp: float = 0.0
    """Standard deviation of the noise that is added to the evaluation, in centipawns, 0 to 1000."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value, most in (("dropout", self.dropout, 0.5), ("noise", self.noise_cp, 1000.0)):
            if not 0 <= value <= most:
                raise ValueError(f"{name} is {value}: expected 0 to {most:g}")
        if self.seed < 0:
            raise ValueError(f"seed is {self.seed}: expected 0 or more")


NONE: Final = Variation()


def vary(network: NetworkFile, variation: Variation, fv_scale: int) -> NetworkFile:
    """A changed copy of ``network``, or ``network`` itself if there is nothing to change.

    Args:
        fv_scale: raw output per centipawn.
    """
    if not variation.dropout and not variation.noise_cp:
        return network
    positions = _positions_of(network, fv_scale)
    before = _evaluate(network, positions, fv_scale)
    changed = network
    if variation.dropout:
        changed = _drop(changed, variation.dropout, np.random.default_rng((variation.seed, 0)))
    if variation.noise_cp:
        changed = _add_noise(
            changed, variation.noise_cp, np.random.default_rng((variation.seed, 1)), positions, fv_scale
        )
    shift = round(float((_evaluate(changed, positions, fv_scale) - before).mean()) * fv_scale)
    return replace(changed, biases=(*changed.biases[:-1], changed.biases[-1] - np.int32(shift)))


def _drop(network: NetworkFile, share: float, rng: np.random.Generator) -> NetworkFile:
    """Leave out ``share`` of the transformer's outputs, in whole units: their first-layer weights become 0."""
    width = network.architecture.width
    count = round(share * width)
    dropped = rng.permutation(width)[:count]
    weight = network.weights[0].astype(np.float64) * (width / (width - count))
    weight[:, dropped] = 0
    weight[:, width + dropped] = 0
    first = np.rint(weight).clip(*_INT8).astype(np.int8)
    return replace(network, weights=(first, *network.weights[1:]))


def _add_noise(
    network: NetworkFile, wanted_cp: float, rng: np.random.Generator, positions: _Sample, fv_scale: int
) -> NetworkFile:
    noise = rng.standard_normal(network.transformer_weight.shape, np.float32)
    base = network.transformer_weight

    def noisy(strength: float, rows: npt.NDArray[np.int64] | slice) -> _Int16s:
        sums: _Int16s = (base[rows] + np.rint(noise[rows] * np.float32(strength))).clip(*_INT16).astype(np.int16)
        return sums

    def found_cp(strength: float) -> float:
        return float((_evaluate(network, positions, fv_scale, partial(noisy, strength)) - before).std())

    before = _evaluate(network, positions, fv_scale)
    # Bisection: integer weights do not respond in proportion to faint noise.
    low, high = _STRENGTHS
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if found_cp(middle) > wanted_cp else (middle, high)
    return replace(network, transformer_weight=noisy(low, slice(None)))


@cache
def _positions() -> tuple[Position, ...]:
    """Make `_POSITIONS` positions from random games, the same ones each time."""
    rng = np.random.default_rng(20101123)
    found: list[Position] = []
    while len(found) < _POSITIONS:
        position = Position.startpos()
        for _ in range(int(rng.integers(*_PLIES))):
            moves = position.legal_moves()
            if not moves:
                break
            position.push(moves[int(rng.integers(len(moves)))])
        found.append(position)
    return tuple(found)


def _positions_of(network: NetworkFile, fv_scale: int) -> _Sample:
    """The rows of the sample's positions that ``network`` does not consider decided; of all if few remain."""
    features = network.architecture.features
    sample: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] = []
    for position in _positions():
        hands, kings = (position.hand(0), position.hand(1)), [int(square) for square in position.record.ksq]
        own, enemy = (
            active_rows(features, side, position.record.board, hands, kings)
            for side in (position.turn, 1 - position.turn)
        )
        sample.append((own, enemy))
    near = np.abs(_evaluate(network, tuple(sample), fv_scale)) < _DECIDED
    return tuple(rows for rows, is_near in zip(sample, near, strict=True) if is_near or near.mean() < 0.2)


def _evaluate(
    network: NetworkFile,
    positions: _Sample,
    fv_scale: int,
    weights: Callable[[npt.NDArray[np.int64]], _Int16s] | None = None,
) -> _Floats:
    """Centipawns for the side to move, by position. ``weights``: the transformer's rows, if they differ."""

    def accumulator(rows: npt.NDArray[np.int64]) -> _Int16s:
        chosen = network.transformer_weight[rows] if weights is None else weights(rows)
        total: _Int16s = (chosen.sum(axis=0, dtype=np.int64) + network.transformer_bias).astype(np.int16)
        return total

    return np.array([forward(network, accumulator(own), accumulator(enemy)) for own, enemy in positions]) / fv_scale
