"""Networks of the SFNN family with random weights: for tests, measurements and comparisons with other programs."""

from __future__ import annotations

import numpy as np

from worker.nnue.features import PIECE_NUMBERS
from worker.nnue.sfnn.architecture import SfnnArchitecture
from worker.nnue.sfnn.file import Progress, SfnnFile
from worker.shogi.pieces import SQUARES


def random_sfnn(arch: SfnnArchitecture, seed: int = 1) -> SfnnFile:
    """A network whose activations lie on both sides of every bound, and whose stacks all differ."""
    rng = np.random.default_rng(seed)
    # Forty rows: a standard deviation of 100 in an accumulator, whose bounds are 0 and 127.
    block = rng.normal(0, 16, (min(arch.inputs.rows, 4096), arch.width)).round().astype(np.int16)
    repeats = -(-arch.inputs.rows // len(block))
    weight = np.tile(block, (repeats, 1))[: arch.inputs.rows]
    # Repeated rows are told apart, cheaply: a random number is enough for that.
    weight[:, 0] += rng.integers(-8, 9, arch.inputs.rows, dtype=np.int16)
    stacks = arch.stacks.count
    scales = (24, 40, 60)
    biases, weights = [], []
    for (outputs, inputs), scale in zip(arch.layers, scales, strict=True):
        biases.append(rng.integers(-4000, 4000, (stacks, outputs), dtype=np.int32))
        weights.append(rng.normal(0, scale, (stacks, outputs, inputs)).round().clip(-128, 127).astype(np.int8))
    progress = None
    if arch.stacks.progress > 1:
        progress = Progress(
            int(rng.integers(-60000, 60000)), rng.normal(0, 12000, (SQUARES, PIECE_NUMBERS)).round().astype(np.int32)
        )
        if arch.stacks.outside:
            progress = Progress(0, progress.weights)
    return SfnnFile(
        arch, rng.integers(-60, 60, arch.width, dtype=np.int16), weight, tuple(biases), tuple(weights), progress
    )
