"""A network in memory, arranged for the compiled evaluation. Read-only: any number of threads may share one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from worker.jit.memory import aligned_zeros
from worker.nnue.features import tables
from worker.nnue.format import Architecture, NetworkFile, parse_network, read_network
from worker.nnue.kernels import kernels
from worker.nnue.sparsity import by_activity, in_order
from worker.nnue.variation import NONE, Variation, vary

DEFAULT_FV_SCALE: Final = 16
"""Raw output to a centipawn: the field's usual value. A network or its user may name another one."""


class Network:
    """Weights and feature tables in 64-byte aligned memory.

    Attributes:
        architecture: its shape.
        fv_scale: raw output to a centipawn.
        name: where it came from, for logs.
    """

    def __init__(
        self,
        source: NetworkFile,
        *,
        fv_scale: int | None = None,
        name: str = "network",
        variation: Variation = NONE,
    ) -> None:
        """Arrange the weights of a network file.

        Args:
            fv_scale: 1 or more; None: what the file names, else `DEFAULT_FV_SCALE`.
            variation: the change of the network's weights.

        Raises:
            ValueError: ``fv_scale`` below 1.
        """
        arch = source.architecture
        if fv_scale is None:
            fv_scale = arch.fv_scale or DEFAULT_FV_SCALE
        if fv_scale < 1:
            raise ValueError(f"FV_SCALE is {fv_scale}, expected 1 or more")
        source = vary(source, variation, fv_scale)
        source = in_order(source, by_activity(source))
        self.architecture: Final[Architecture] = arch
        self.fv_scale: Final = fv_scale
        self.name: Final = name
        self.tables: Final = tables(arch.features)
        self.transformer_bias: Final = _aligned(source.transformer_bias)
        self.transformer_weight: Final = aligned_zeros((arch.features.rows, arch.width), np.int16)
        self.transformer_weight[: arch.features.dimensions] = source.transformer_weight
        self.transformer_weight[arch.features.zero_rows] = 0
        self.layers: Final[tuple[tuple[npt.NDArray[Any], npt.NDArray[Any]], ...]] = tuple(
            (_aligned(bias), _aligned(weight))
            for bias, weight in (
                kernels.arrange_layer(bias, weight, layer)
                for layer, (bias, weight) in enumerate(zip(source.biases, source.weights, strict=True))
            )
        )


def _aligned(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    copy = aligned_zeros(array.shape, array.dtype.newbyteorder("="))
    copy[...] = array
    return copy


DEFAULT_NETWORK: Final = "gougi.bin"
"""The network that comes with the package: what `gougi learn` promoted last (docs/nets.md)."""


def default_file() -> Path:
    """The file of the network that comes with the package."""
    return Path(__file__).parent / "data" / DEFAULT_NETWORK


def load_network(
    path: str | os.PathLike[str] | None, *, fv_scale: int | None = None, variation: Variation = NONE
) -> Network:
    """Read a network file of the field (``nn.bin``); None: the one that comes with the package.

    Raises:
        NetworkFileError: it is broken or of an unknown kind.
        ValueError: ``fv_scale`` below 1.
        OSError: it cannot be read.
    """
    if path is not None:
        return Network(read_network(path), fv_scale=fv_scale, name=os.fspath(path), variation=variation)
    source = parse_network(default_file().read_bytes(), file=DEFAULT_NETWORK)
    return Network(source, fv_scale=fv_scale, name=f"<{DEFAULT_NETWORK}>", variation=variation)


def default_network() -> Network:
    """The network that comes with the package."""
    return load_network(None)
