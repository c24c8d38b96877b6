"""Networks of random weights: for tests, and for measuring speed.

A trained network is a little faster: fewer of its neurons are active, and the first layer leaves out the others.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from worker.nnue.architecture import Architecture
from worker.nnue.features import HALF_KP
from worker.nnue.format import NetworkFile

HALF_KP_256: Final = Architecture(HALF_KP, width=256, hidden1=32, hidden2=32)
_ROWS: Final = 256


def random_network(architecture: Architecture, seed: int = 0) -> NetworkFile:
    """A network whose activations spread over their range, as a trained one's do. The same for the same arguments."""
    generator = np.random.default_rng(seed)
    transformer_weight = np.empty((architecture.features.dimensions, architecture.width), np.int16)
    # Random bytes draw from a table of normal values, some rows at a time: HalfKP has 32 million weights and more.
    values = np.rint(generator.normal(0, 12, 256)).astype(np.int16)
    for start in range(0, len(transformer_weight), _ROWS):
        rows = transformer_weight[start : start + _ROWS]
        np.take(values, generator.integers(0, 256, rows.shape, np.uint8), out=rows, mode="clip")
    transformer_bias = np.rint(generator.normal(30, 20, architecture.width)).astype(np.int16)
    biases, weights = [], []
    for outputs, inputs in architecture.layers:
        biases.append(np.rint(generator.normal(2000, 2000, outputs)).astype(np.int32))
        weight = generator.normal(0, 200 / np.sqrt(inputs), (outputs, inputs))
        weights.append(np.rint(weight).clip(-128, 127).astype(np.int8))
    return NetworkFile(architecture, transformer_bias, transformer_weight, tuple(biases), tuple(weights))
