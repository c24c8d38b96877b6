"""Weighted mean of networks of one shape: of nets trained from one start it is often better than each of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lab.training.weights import FloatNet, from_file, to_file
from worker.nnue.format import NetworkFile


class BlendError(ValueError):
    """Networks have no mean; the text says why."""


def blend(networks: Sequence[NetworkFile], shares: Sequence[float]) -> NetworkFile:
    """The mean of all weights, rounded to the nearest integers.

    Args:
        shares: of each network, from 0 (no part in it) to 1 (the mean is this network); together 1.

    Raises:
        BlendError: the shapes differ.
        ValueError: the shares are out of their range, or not as many as networks.
    """
    if len(shares) != len(networks) or min(shares) < 0 or abs(sum(shares) - 1) > 1e-9:
        raise ValueError(f"shares are {shares}: expected {len(networks)}, together 1")
    architecture = networks[0].architecture
    for one in networks:
        if one.architecture != architecture:
            raise BlendError(f"{architecture} and {one.architecture} have different shapes")
    sums: dict[str, np.ndarray] = {}
    for network, share in zip(networks, shares, strict=True):
        for name, values in from_file(network).by_name().items():
            # In float64: a share of 1 gives the net itself back.
            sums[name] = sums.get(name, 0.0) + share * values.astype(np.float64)
    return to_file(FloatNet(**{name: values.astype(np.float32) for name, values in sums.items()}), architecture)
