"""What all searches of a network misjudge: a correction of the labels by the results of the games.

A label is a score of a search, and a search inherits the errors of the evaluation at its leaves. The results do not.
They are too few to teach a network, but enough for a table: a value for each piece on each square or in hand, for the
side to move and against the other side, so that score plus table predicts the results best.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from lab.training.corpus import Records
from lab.training.features import RowTables

_PENALTY: Final = 0.01
"""Nats for the sum of the squared values, so that what few games show counts little."""
_STEPS: Final = 30
_BLOCK: Final = 1 << 17
_LEAST: Final = 0.2
"""The least share of a score that must be left when it predicts results: otherwise scores and results do not agree."""


def piece_corrections(parts: Sequence[Records], tables: RowTables, scale: float) -> npt.NDArray[np.float32] | None:
    """Fit the table.

    Args:
        parts: positions with their scores and results.
        tables: of K+P.
        scale: centipawns per logistic unit of the scores.

    Returns:
        Centipawns by number of K+P, float32 [1710]; a position's correction is the sum over its pieces as the side to
        move sees them, minus that as the other side sees them. None: the results do not fit the scores.
    """
    steepness = torch.ones(1, dtype=torch.float64, requires_grad=True)
    values = torch.zeros(len(tables.flip), dtype=torch.float64, requires_grad=True)
    total = sum(map(len, parts))
    optimizer = torch.optim.LBFGS([steepness, values], max_iter=_STEPS, history_size=10, line_search_fn="strong_wolfe")

    def misfit() -> float:
        optimizer.zero_grad()
        loss = 0.0
        for part in parts:
            for first in range(0, len(part), _BLOCK):
                # Made anew in each step: a million positions as tensors take 650 MB.
                one = _tensors(part[first : first + _BLOCK], tables, scale)
                chance = one[0] * steepness + values[one[1]].sum(1) - values[one[2]].sum(1)
                block = functional.binary_cross_entropy_with_logits(chance, one[3], reduction="sum") / total
                block.backward()  # type: ignore[no-untyped-call,unused-ignore]
                loss += block.item()
        penalty = _PENALTY * values.square().sum()
        penalty.backward()  # type: ignore[no-untyped-call,unused-ignore]
        return loss + penalty.item()

    optimizer.step(misfit)  # type: ignore[no-untyped-call,unused-ignore]
    share = steepness.item()
    if not share >= _LEAST:
        return None
    return (values.detach().numpy() * scale / share).astype(np.float32)


def _tensors(records: Any, tables: RowTables, scale: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Scores in logistic units, the pieces as either side sees them, and the points of the side to move."""
    pieces = np.ascontiguousarray(records["pieces"])
    own, other = (torch.from_numpy(numbers.astype(np.int64)) for numbers in (pieces, tables.flip[pieces]))
    scores = torch.from_numpy(records["score"].astype(np.float64) / scale)
    return scores, own, other, torch.from_numpy((records["result"].astype(np.float64) + 1) / 2)
