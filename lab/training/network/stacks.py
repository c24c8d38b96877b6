"""The layers of an SFNN network in the trainer: products, stacks, and the rule that chooses a position's stack.

Everything is in the evaluator's units, as in `lab.training.network.model`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn import functional

from lab.selfplay.walk import PIECES
from lab.training.batches import Batch
from lab.training.weights import LAYER_ONE, ONE
from worker.nnue.features import PIECE_NUMBERS
from worker.nnue.sfnn.architecture import SfnnArchitecture
from worker.nnue.sfnn.stacks import KING_RULES
from worker.shogi.pieces import SQUARES

_RANKS: Final = 9
_PRODUCT_ONE: Final = 128
"""The product of two activations is divided by this: the evaluator's ``(2 u * 2 v << 7) >> 16``."""
_SQUARE_ONE: Final = 1 << 19


def stacks_of(batch: Batch, architecture: SfnnArchitecture, device: torch.device) -> Tensor:
    """The stack of each position, int64 [n]. The rule must see no more of a king than its rank
    (`lab.training.train_settings.check_sfnn`)."""
    rule = architecture.stacks
    index = torch.zeros(len(batch), dtype=torch.int64, device=device)
    if not rule.king:
        return index
    # A square is file * 9 + rank.
    classes = torch.tensor(KING_RULES[rule.king][:_RANKS], device=device)
    for rows, own_king in ((batch.own, PIECES - 2), (batch.enemy, PIECES - 1)):
        index = index * rule.king_classes + classes[_own_squares(rows, own_king, architecture, device) % _RANKS]
    return index


def _own_squares(rows: Any, own_king: int, architecture: SfnnArchitecture, device: torch.device) -> Tensor:
    """The squares of the kings whose side sees the rows; left and right may be exchanged."""
    features = architecture.features
    if features.king_planes:
        numbers = torch.as_tensor(rows[:, own_king], device=device).long() % features.block_rows
        return (numbers - PIECE_NUMBERS) % SQUARES
    return torch.as_tensor(rows[:, 0], device=device).long() // features.block_rows


def stacked_output(
    values: Tensor,
    scaled: Callable[[str], Tensor],
    hidden: Callable[[Tensor], Tensor],
    stacks: Tensor,
    architecture: SfnnArchitecture,
    *,
    quantised: bool,
) -> Tensor:
    """The raw output for positions, float32 [n].

    Args:
        values: clipped sums of rows, [n][2 * width], the side to move's first.
        scaled: the weights of a name, as integers if ``quantised``.
        hidden: the activation of the second layer's sums.
        stacks: `stacks_of`.
    """

    def whole(value: Tensor) -> Tensor:
        # In floating point the mean loss of rounding down is subtracted instead. Gradients pass through both.
        rounded = value.floor() if quantised else (value - 0.5).clamp(min=0)
        return value + (rounded - value).detach()

    arch = architecture
    halves = values.reshape(len(values), 2, 2, arch.width // 2)
    products = whole(halves[:, :, 0] * halves[:, :, 1] / _PRODUCT_ONE).reshape(len(values), arch.width)
    sums = _chosen(products, scaled("weight1"), scaled("bias1"), stacks)
    first = sums[:, : arch.hidden1]
    # In float64: the squares of whole numbers have up to 48 bits.
    squares = whole(first.double().square() / _SQUARE_ONE).clamp(max=ONE).to(first.dtype)
    clipped = whole(first / LAYER_ONE).clamp(0, ONE)
    second = hidden(_chosen(torch.cat([squares, clipped], 1), scaled("weight2"), scaled("bias2"), stacks))
    raw = _chosen(second, scaled("weight3"), scaled("bias3"), stacks).squeeze(1)
    return raw + sums[:, arch.hidden1] if arch.shortcut else raw


def _chosen(values: Tensor, weight: Tensor, bias: Tensor, stacks: Tensor) -> Tensor:
    """A layer of the stack of each position; weight [stacks][outputs][inputs], bias [stacks][outputs].

    All stacks are computed: one product of large matrices is faster than many of small ones.
    """
    count, outputs, _ = weight.shape
    found = functional.linear(values, weight.flatten(0, 1), bias.flatten())
    if count == 1:
        return found
    places = stacks[:, None, None].expand(-1, 1, outputs)
    return found.reshape(-1, count, outputs).gather(1, places).squeeze(1)
