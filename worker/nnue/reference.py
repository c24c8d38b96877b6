"""The evaluation in plain numpy: slow and obvious. What the compiled evaluation has to equal, bit for bit.

Arithmetic is that of the field's programs: the accumulator in int16, the layers in int32, both wrapping around;
activations clipped to 0..127; hidden sums shifted right by 6 (their weights have 64 as one).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from worker.nnue.features import active_rows
from worker.nnue.format import NetworkFile

_ACTIVATION_MAX = 127
_WEIGHT_SHIFT = 6


def accumulator(
    network: NetworkFile,
    perspective: int,
    board: Sequence[int],
    hands: Sequence[Sequence[int]],
    king_squares: Sequence[int],
) -> npt.NDArray[np.int16]:
    """The feature transformer's output for one perspective, int16 [width]. Arguments as in `active_rows`."""
    rows = list(active_rows(network.architecture.features, perspective, board, hands, king_squares))
    total = network.transformer_weight[rows].sum(axis=0, dtype=np.int64) + network.transformer_bias
    result: npt.NDArray[np.int16] = total.astype(np.int16)
    return result


def forward(network: NetworkFile, own: npt.NDArray[np.int16], enemy: npt.NDArray[np.int16]) -> int:
    """The network's output from the accumulators of the side to move and of the other side."""
    values = np.concatenate([own, enemy]).clip(0, _ACTIVATION_MAX).astype(np.int64)
    for layer, (bias, weight) in enumerate(zip(network.biases, network.weights, strict=True)):
        sums = (weight.astype(np.int64) @ values + bias).astype(np.int32)
        if layer == len(network.weights) - 1:
            return int(sums[0])
        values = (sums >> _WEIGHT_SHIFT).clip(0, _ACTIVATION_MAX).astype(np.int64)
    raise AssertionError("a network has an output layer")


def evaluate(
    network: NetworkFile,
    turn: int,
    board: Sequence[int],
    hands: Sequence[Sequence[int]],
    king_squares: Sequence[int],
) -> int:
    """The raw output for the side to move ``turn``, before FV_SCALE. Other arguments as in `active_rows`."""
    own, enemy = (accumulator(network, perspective, board, hands, king_squares) for perspective in (turn, 1 - turn))
    return forward(network, own, enemy)
