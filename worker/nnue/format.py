"""Reader and writer of network files (``nn.bin``), as YaneuraOu and related programs define them.

Little endian::

    u32 version (0x7AF32F16), u32 hash, u32 length, architecture string
    u32 hash, int16 bias[width], int16 weight[features][width]                       feature transformer
    u32 hash, then for each of three layers: int32 bias[outputs], int8 weight[outputs][inputs rounded up to 32]

The architecture string may end with an attack network (`worker.nnue.attack_network`): ``,attacks=`` and base64.
`worker.nnue.shape` finds out which architecture the file has.
"""

from __future__ import annotations

import mmap
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from worker.nnue.architecture import Architecture, NetworkFileError, padded
from worker.nnue.attack_network import AttackNetwork
from worker.nnue.shape import HEADER, VERSION, WORD, Head, choose, is_sfnn, read_head

NETWORK_NAME: Final = "nn.bin"
"""The usual file name of a network in a folder."""
_MOST_BYTES: Final = 1 << 32


@dataclass(frozen=True)
class NetworkFile:
    """A network as the file holds it, without padding.

    Attributes:
        transformer_bias: int16 [width].
        transformer_weight: int16 [features.dimensions, width].
        biases: of the three layers, int32 [outputs].
        weights: of the three layers, int8 [outputs, inputs]; the input of the first is the side to move's accumulator,
            then the other's.
        attack_network: its output is added, or None.
    """

    architecture: Architecture
    transformer_bias: npt.NDArray[np.int16]
    transformer_weight: npt.NDArray[np.int16]
    biases: tuple[npt.NDArray[np.int32], ...]
    weights: tuple[npt.NDArray[np.int8], ...]
    attack_network: AttackNetwork | None = None

    def __post_init__(self) -> None:
        arch = self.architecture
        expected: list[tuple[str, npt.NDArray[Any], type, tuple[int, ...]]] = [
            ("transformer_bias", self.transformer_bias, np.int16, (arch.width,)),
            ("transformer_weight", self.transformer_weight, np.int16, (arch.features.dimensions, arch.width)),
        ]
        for name, arrays in (("biases", self.biases), ("weights", self.weights)):
            if len(arrays) != len(arch.layers):
                raise ValueError(f"{name}: {len(arrays)} arrays, expected {len(arch.layers)}")
        for layer, shape in enumerate(arch.layers):
            expected.append((f"biases[{layer}]", self.biases[layer], np.int32, shape[:1]))
            expected.append((f"weights[{layer}]", self.weights[layer], np.int8, shape))
        for name, array, dtype, shape_wanted in expected:
            if array.dtype != dtype or array.shape != shape_wanted:
                raise ValueError(
                    f"{name}: {array.dtype} {array.shape}, expected {np.dtype(dtype)} {shape_wanted} for {arch}"
                )


# ---- Reading


def parse_network(data: bytes | mmap.mmap, *, file: str = "network", architecture: str | None = None) -> NetworkFile:
    """Read a network from the bytes of a file. The arrays are read-only views of ``data``.

    Args:
        architecture: its short name, which overrides the file's header (`worker.nnue.shape.choose`).

    Raises:
        NetworkFileError: broken, too short, too long, or of an unknown architecture.
    """
    head = read_head(data, file)
    if is_sfnn(head):
        raise NetworkFileError(file, HEADER.size, "an SFNN network, which this command does not take")
    arch = choose(head, architecture)  # its file has exactly these bytes
    at = head.body

    def array(dtype: str, *shape: int) -> npt.NDArray[Any]:
        nonlocal at
        found = np.frombuffer(data, dtype, int(np.prod(shape)), at).reshape(shape)
        at += found.nbytes
        return found

    at += WORD.size
    transformer_bias = array("<i2", arch.width)
    transformer_weight = array("<i2", arch.features.dimensions, arch.width)
    at += WORD.size
    biases, weights = [], []
    for outputs, inputs in arch.layers:
        biases.append(array("<i4", outputs))
        weights.append(array("<i1", outputs, padded(inputs))[:, :inputs])
    return NetworkFile(arch, transformer_bias, transformer_weight, tuple(biases), tuple(weights), _attack_network(head))


def _attack_network(head: Head) -> AttackNetwork | None:
    found = re.search(r",attacks=(.*)", head.text, re.DOTALL)
    if found is None:
        return None
    try:
        return AttackNetwork.from_text(found[1])
    except ValueError as error:
        raise NetworkFileError(head.file, HEADER.size, f"its attacks=… are no attack network: {error}") from None


def network_path(path: str | os.PathLike[str]) -> Path:
    """The network file for a path. For a folder it is its ``nn.bin``, or the only other network in it.

    Raises:
        OSError: the folder has none, or several; the message names the folder.
    """
    given = Path(path)
    if not given.is_dir() or (given / NETWORK_NAME).exists():
        return given / NETWORK_NAME if given.is_dir() else given
    found = sorted(file for file in given.iterdir() if file.suffix in (".bin", ".nnue") and file.is_file())
    if len(found) == 1:
        return found[0]
    names = f"several networks: {', '.join(file.name for file in found)}" if found else "no network"
    raise FileNotFoundError(None, f"the folder has no {NETWORK_NAME} and {names}", str(given))


def read_network(path: str | os.PathLike[str], *, architecture: str | None = None) -> NetworkFile:
    """Read a network file, or that of a folder (`network_path`).

    Raises:
        NetworkFileError: see `parse_network`.
        OSError: the file cannot be read.
    """
    head = read_file(path)
    return parse_network(head.data, file=head.file, architecture=architecture)


def read_file(path: str | os.PathLike[str], *, mapped: bool = False) -> Head:
    """The bytes of a network file, or of that of a folder, and its head.

    Args:
        mapped: map it into memory; it must not be overwritten while any part of it is in use.

    Raises:
        NetworkFileError: it is not a network file.
        OSError: it cannot be read.
    """
    file = network_path(path)
    size = file.stat().st_size
    if size > _MOST_BYTES:
        raise NetworkFileError(os.fspath(file), 0, f"more than {_MOST_BYTES >> 30} GB: no network")
    with file.open("rb") as opened:
        # An empty file cannot be mapped.
        data = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) if mapped and size else opened.read()
    return read_head(data, os.fspath(file))


# ---- Writing


def serialise_network(network: NetworkFile) -> bytes:
    """The bytes of a network file."""
    arch = network.architecture
    text = str(arch)
    if network.attack_network is not None:
        text += f",attacks={network.attack_network.to_text()}"
    parts = [
        HEADER.pack(VERSION, arch.transformer_hash ^ arch.network_hash, len(text)),
        text.encode("ascii"),
        WORD.pack(arch.transformer_hash),
        network.transformer_bias.astype("<i2").tobytes(),
        network.transformer_weight.astype("<i2").tobytes(),
        WORD.pack(arch.network_hash),
    ]
    for bias, weight in zip(network.biases, network.weights, strict=True):
        padding = padded(weight.shape[1]) - weight.shape[1]
        parts.append(bias.astype("<i4").tobytes())
        parts.append(np.pad(weight, ((0, 0), (0, padding))).tobytes())
    return b"".join(parts)
