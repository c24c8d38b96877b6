"""The SFNN evaluation in plain numpy: slow and simple. The compiled one must equal it bit for bit.

The arithmetic is that of YaneuraOu: feature transformer weights doubled when they are read, accumulators in int16
and sums in int32, both wrapping around; products of the two halves, clipped to 0..254, shifted to 0..126.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from worker.nnue.features import PIECE_NUMBERS
from worker.nnue.reference import Ints, active_rows, piece_list
from worker.nnue.sfnn.architecture import SfnnArchitecture
from worker.nnue.sfnn.file import Progress, SfnnFile
from worker.nnue.sfnn.stacks import stack_index
from worker.shogi.pieces import SQUARES

_ACTIVATION_MAX = 127
_WEIGHT_SHIFT = 6
_SQUARE_SHIFT = 2 * _WEIGHT_SHIFT + 7


def _seen(square: int, perspective: int) -> int:
    square = max(int(square), 0)
    return square if perspective == 0 else SQUARES - 1 - square


def accumulator(network: SfnnFile, rows: Ints) -> npt.NDArray[np.int16]:
    """The sum of the bias and rows, doubled, int16 [width]."""
    total = network.transformer_weight[rows].sum(axis=0, dtype=np.int64) + network.transformer_bias
    doubled: npt.NDArray[np.int16] = (2 * total).astype(np.int16)
    return doubled


def progress_sum(
    progress: Progress, board: npt.ArrayLike, hands: Sequence[Sequence[int]], king_squares: Sequence[int]
) -> int:
    """The sum of the progress's weights, 16 fractional bits."""
    total = progress.bias
    for perspective in range(2):
        pieces = piece_list(perspective, board, hands)
        king = _seen(king_squares[perspective], perspective)
        total += int(progress.weights[king, pieces[pieces < PIECE_NUMBERS]].sum(dtype=np.int64))
    return total


def forward(network: SfnnFile, stack: int, own: npt.NDArray[np.int16], enemy: npt.NDArray[np.int16]) -> int:
    """The raw output of a stack from the accumulators of the side to move and of the other side."""
    arch = network.architecture
    half = arch.width // 2
    clipped = np.stack([own, enemy]).astype(np.int64).clip(0, 2 * _ACTIVATION_MAX)
    values = (((clipped[:, :half] << 7) * clipped[:, half:]) >> 16).reshape(-1)
    weights = [weight[stack].astype(np.int64) for weight in network.weights]
    if arch.sharing is not None:
        weights[0] = weights[0] * seen_inputs(arch)
    sums = _wrapped(weights[0] @ values + network.biases[0][stack])
    hidden = sums[: arch.hidden1]
    squared = np.minimum(hidden * hidden >> _SQUARE_SHIFT, _ACTIVATION_MAX)
    plain = (hidden >> _WEIGHT_SHIFT).clip(0, _ACTIVATION_MAX)
    second = _wrapped(weights[1] @ np.concatenate([squared, plain]) + network.biases[1][stack])
    last = (second >> _WEIGHT_SHIFT).clip(0, _ACTIVATION_MAX)
    output = (weights[2] @ last + network.biases[2][stack])[0] + (sums[arch.hidden1] if arch.shortcut else 0)
    return int(_wrapped(output))


def _wrapped(values: Any) -> Any:
    return np.asarray(values).astype(np.int32).astype(np.int64)


def seen_inputs(arch: SfnnArchitecture) -> npt.NDArray[np.int8]:
    """Whether each sum of the first layer sees each input, 0 or 1: int8 [sums, width]."""
    seen = np.ones((arch.sums, arch.width), np.int8)
    share = arch.sharing
    if share is not None:
        group = np.arange(arch.sums) * share.groups // arch.sums
        owner = (np.arange(arch.width) - share.common) // share.shard
        seen[:] = (np.arange(arch.width) < share.common) | (owner == group[:, None])
    return seen


def evaluate(network: SfnnFile, side: int, board: Any, hands: Sequence[Sequence[int]], kings: Sequence[int]) -> int:
    """The raw output for the side to move, before FV_SCALE; arguments as in `worker.nnue.reference.active_rows`."""
    arch = network.architecture
    total = 0 if network.progress is None else progress_sum(network.progress, board, hands, kings)
    stack = stack_index(arch.stacks, side, hands, kings, total)
    own, enemy = (
        accumulator(network, active_rows(arch.features, colour, board, hands, kings)) for colour in (side, 1 - side)
    )
    return forward(network, stack, own, enemy)
