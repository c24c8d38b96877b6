"""Weighted mean of two networks of one shape: of a run's last nets it is often better than each of them."""

from __future__ import annotations

from worker.nnue.format import NetworkFile
from worker.training.weights import FloatNet, from_file, to_file


class BlendError(ValueError):
    """Two networks have no mean; the text says why."""


def blend(first: NetworkFile, second: NetworkFile, share: float) -> NetworkFile:
    """The mean of all weights, rounded to the nearest integers.

    Args:
        share: of ``second``, from 0 (``first`` as it is) to 1.

    Raises:
        BlendError: the shapes differ.
        ValueError: ``share`` is out of its range.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share is {share:g}, expected 0 to 1")
    if first.architecture != second.architecture:
        raise BlendError(f"{first.architecture} and {second.architecture} have different shapes")
    a, b = from_file(first).by_name(), from_file(second).by_name()
    # In float64 by way of float32 inputs: a share of 0 or 1 gives the net itself back.
    mean = {name: ((1 - share) * a[name] + share * b[name]).astype(a[name].dtype) for name in a}
    return to_file(FloatNet(**mean), first.architecture)
