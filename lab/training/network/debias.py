"""What all searches of a network misjudge: a correction of its scores by the later course of the games.

A score comes from a search, and a search inherits the errors of the evaluation at its leaves. The scores of later moves
show a part of these errors: other positions are evaluated then. A network that learns from late scores learns their
chance by heart. A table cannot: a value for each piece on each square or in hand, for the side to move and against the
other side, so that score plus table predicts the later scores best.
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

AHEAD: Final = 32.0
"""Mean number of plies by which the scores that the table has to predict look ahead. The results of the games lie
farther ahead, but have more chance in them: tables fitted to either are equally good, these with a smaller error."""
_PENALTY: Final = 3_000.0
"""Nats, over all positions, for the sum of the squared values, so that what few games show counts little."""
_FLATTEST: Final = 0.2
"""The least steepness by which the table is divided, for scores that predict nothing."""
_STEPS: Final = 30
_BLOCK: Final = 1 << 17


def piece_corrections(
    parts: Sequence[tuple[Records, Records]], tables: RowTables, scale: float, positions: int
) -> npt.NDArray[np.float32]:
    """Fit the table of a network.

    Args:
        parts: positions with its scores, and the same positions with scores that look `AHEAD`.
        tables: of K+P.
        scale: centipawns per logistic unit of the scores.
        positions: of which these are a sample.

    Returns:
        Centipawns by number of K+P, float32 [1710]; a position's correction is the sum over its pieces as the side to
        move sees them, minus that as the other side sees them.
    """
    steepness = torch.ones(1, dtype=torch.float64, requires_grad=True)
    values = torch.zeros(len(tables.flip), dtype=torch.float64, requires_grad=True)
    total = sum(len(now) for now, _ in parts)
    optimizer = torch.optim.LBFGS([steepness, values], max_iter=_STEPS, history_size=10, line_search_fn="strong_wolfe")

    def misfit() -> float:
        optimizer.zero_grad()
        loss = 0.0
        for now, later in parts:
            for first in range(0, len(now), _BLOCK):
                # Made anew in each step: a million positions as tensors take 650 MB.
                one = _tensors(now[first : first + _BLOCK], later[first : first + _BLOCK], tables, scale)
                chance = one[0] * steepness + values[one[1]].sum(1) - values[one[2]].sum(1)
                block = functional.binary_cross_entropy_with_logits(chance, one[3], reduction="sum") / total
                block.backward()  # type: ignore[no-untyped-call,unused-ignore]
                loss += block.item()
        penalty = _PENALTY / positions * values.square().sum()
        penalty.backward()  # type: ignore[no-untyped-call,unused-ignore]
        return loss + penalty.item()

    optimizer.step(misfit)  # type: ignore[no-untyped-call,unused-ignore]
    return (values.detach().numpy() * scale / max(steepness.item(), _FLATTEST)).astype(np.float32)


def _tensors(now: Any, later: Any, tables: RowTables, scale: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Scores in logistic units, the pieces as either side sees them, and the side to move's later chances to win."""
    pieces = np.ascontiguousarray(now["pieces"])
    own, other = (torch.from_numpy(numbers.astype(np.int64)) for numbers in (pieces, tables.flip[pieces]))
    scores, ahead = (torch.from_numpy(one["score"].astype(np.float64) / scale) for one in (now, later))
    return scores, own, other, torch.sigmoid(ahead)
