"""The feature transformer on a CPU: sums of rows, clipped, and what their slopes add to the rows. Compiled.

A product with a sparse matrix or a bag of embeddings does the same more slowly; on a GPU they are what is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lab.jit import jit


@jit()
def sum_rows(weight: Any, bias: Any, rows: Any, out: Any, column: int, top: Any, first: int, last: int) -> None:
    """Write the clipped sums of the positions from ``first`` to before ``last``.

    Args:
        weight: float32 [features][width]; ``bias``: float32 [width].
        rows: int32 [positions][active].
        out: float32 [positions][more]; of each position ``width`` values from ``column`` on are written.
        top: float32; sums are clipped to 0 … top.
    """
    width = weight.shape[1]
    active = rows.shape[1]
    total = np.empty(width, np.float32)
    zero = np.float32(0)
    for i in range(first, last):
        for c in range(width):
            total[c] = bias[c]
        for k in range(active):
            row = weight[rows[i, k]]
            for c in range(width):
                total[c] += row[c]
        target = out[i]
        for c in range(width):
            target[column + c] = min(max(total[c], zero), top)


@jit()
def add_slopes(rows: Any, out: Any, slopes: Any, column: int, top: Any, into: Any, bias: Any, a: int, b: int) -> None:
    """Add what the sums' slopes are for the rows and the bias; of sums that are clipped they are 0.

    Args:
        rows, out, column, top: as `sum_rows` had and wrote them.
        slopes: of ``out``.
        into: float32 [features][width]; ``bias``: float32 [width]. Only the columns from ``a`` to before ``b``, so that
            threads with columns of their own do not meet, and the sums do not depend on how many there are.
    """
    width = b - a
    active = rows.shape[1]
    slope = np.empty(width, np.float32)
    zero = np.float32(0)
    for i in range(rows.shape[0]):
        value = out[i, column + a : column + b]
        given = slopes[i, column + a : column + b]
        for c in range(width):
            slope[c] = given[c] if value[c] > zero and value[c] < top else zero
        for c in range(width):
            bias[a + c] += slope[c]
        for k in range(active):
            target = into[rows[i, k], a:b]
            for c in range(width):
                target[c] += slope[c]
