"""Larger copies of a network that evaluate every position as it does, so that training goes on from what it knows.

A wider one has each unit of the feature transformer more than once, with equal weights, and the weights that lead from
it to layer 1 are dealt to its copies by chance (after Chen, Goodfellow and Shlens, "Net2Net", 2016): so the copies have
different slopes and learn different things. One with blocks of rows for the own king's place has all blocks alike.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from worker.nnue.features import FeatureSet, KingRule
from worker.nnue.format import Architecture, NetworkFile

_DEVIATION: Final = 6.0
"""Standard deviation, in integers of layer 1 (64 are 1), by which the halves of a divided weight differ from half of it."""
_MOST: Final = 127
_SEED: Final = 0x6704
"""One for all: networks that are trained from one start have their units in one order, and so a mean."""


class GrowError(ValueError):
    """A network has no copy of this shape; the text says why."""


def grown(network: NetworkFile, architecture: Architecture) -> NetworkFile:
    """A network of this shape that gives every position the same raw output.

    Args:
        architecture: equal layers behind the feature transformer; its width is the network's, or 2, 4, 8 … times that;
            its features are the network's, or follow from them by blocks for the own king's place.

    Raises:
        GrowError: it asks for anything else.
    """
    arch = network.architecture
    if (architecture.hidden1, architecture.hidden2) != (arch.hidden1, arch.hidden2):
        raise GrowError(
            f"hidden layers {architecture.hidden1}-{architecture.hidden2}: the network has "
            f"{arch.hidden1}-{arch.hidden2}, and these cannot grow"
        )
    found = _with_blocks(network, architecture.features)
    rng = np.random.default_rng(_SEED)
    while found.architecture.width < architecture.width:
        found = _doubled(found, rng)
    if found.architecture.width != architecture.width:
        raise GrowError(f"width {architecture.width}: expected {arch.width}, or 2, 4, 8 … times that")
    return found


def _with_blocks(network: NetworkFile, features: FeatureSet) -> NetworkFile:
    arch = network.architecture
    if features == arch.features:
        return network
    has_blocks = features.king_rule in (KingRule.SQUARE, KingRule.ZONE)
    if arch.features.king_rule is not KingRule.NOTHING or not has_blocks or features.block_rows != arch.features.rows:
        raise GrowError(f"features {features.name} do not follow from {arch.features.name}")
    weight = np.tile(network.transformer_weight, (features.dimensions // features.block_rows, 1))
    return replace(network, architecture=replace(arch, features=features), transformer_weight=weight)


def _doubled(network: NetworkFile, rng: np.random.Generator) -> NetworkFile:
    arch = network.architecture
    first = network.weights[0]
    columns = [part for side in np.split(first, 2, axis=1) for part in _divided(side, rng)]
    return replace(
        network,
        architecture=replace(arch, width=2 * arch.width),
        transformer_bias=np.tile(network.transformer_bias, 2),
        transformer_weight=np.tile(network.transformer_weight, (1, 2)),
        weights=(np.concatenate(columns, axis=1), *network.weights[1:]),
    )


def _divided(weights: npt.NDArray[np.int8], rng: np.random.Generator) -> list[npt.NDArray[np.int8]]:
    """Two weights for each one, whose sum it is."""
    whole = weights.astype(np.int64)
    drawn = np.rint(whole / 2 + rng.normal(0, _DEVIATION, whole.shape)).astype(np.int64)
    one = drawn.clip(np.maximum(-_MOST, whole - _MOST), np.minimum(_MOST, whole + _MOST))
    return [one.astype(np.int8), (whole - one).astype(np.int8)]
