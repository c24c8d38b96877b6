"""Reader and writer of the field's network files (``nn.bin``), as YaneuraOu and its family define them.

Little endian::

    u32 version (0x7AF32F16), u32 hash, u32 length, architecture string
    u32 hash, int16 bias[width], int16 weight[features][width]                       feature transformer
    u32 hash, then for each of three layers: int32 bias[outputs], int8 weight[outputs][inputs rounded up to 32]

The architecture string decides what the file holds. The hashes are written as the field computes them and are not
compared when reading: trainers differ in them, and YaneuraOu itself only warns.
"""

from __future__ import annotations

import os
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from worker.files import replace_file
from worker.nnue.features import FEATURE_SETS, FeatureSet

VERSION: Final = 0x7AF32F16
INPUT_PADDING: Final = 32
"""In the file, the rows of a layer's weights are padded with zeros to a multiple of this."""

_MASK32: Final = 0xFFFFFFFF
_HASH_INPUT: Final = 0xEC42E90D
_HASH_AFFINE: Final = 0xCC03DAE4
_HASH_CLIPPED_RELU: Final = 0x538D24C7

_HEADER: Final = struct.Struct("<III")
_WORD: Final = struct.Struct("<I")
_MAX_STRING: Final = 4096
_WIDTH_STEP: Final = 128
_MAX_WIDTH: Final = 4096
_MAX_HIDDEN: Final = 1024
_FV_SCALES: Final = range(1, 129)


class NetworkFileError(ValueError):
    """A file that is no network this program can use: names the file, the offset in it and what was expected."""

    def __init__(self, file: str, offset: int, problem: str) -> None:
        super().__init__(f"{file}: byte {offset}: {problem}")


@dataclass(frozen=True)
class Architecture:
    """The shape of a network: ``features -> width x 2 -> hidden1 -> hidden2 -> 1``.

    Attributes:
        fv_scale: by what the output is to be divided, where the file names it (some trainers do), else None.
    """

    features: FeatureSet
    width: int
    hidden1: int
    hidden2: int
    fv_scale: int | None = None

    @property
    def layers(self) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """(outputs, inputs) of the three layers after the feature transformer."""
        return (self.hidden1, 2 * self.width), (self.hidden2, self.hidden1), (1, self.hidden2)

    def __str__(self) -> str:
        """The architecture string of the field."""
        w, h1, h2 = 2 * self.width, self.hidden1, self.hidden2
        network = f"AffineTransform[{h1}<-{w}](InputSlice[{w}(0:{w})])"
        network = f"AffineTransform[{h2}<-{h1}](ClippedReLU[{h1}]({network}))"
        network = f"AffineTransform[1<-{h2}](ClippedReLU[{h2}]({network}))"
        scale = "" if self.fv_scale is None else f",fv_scale={self.fv_scale}"
        return f"Features={self.features.name}[{self.features.dimensions}->{self.width}x2],Network={network}{scale}"

    @property
    def transformer_hash(self) -> int:
        """The word before the feature transformer."""
        return self.features.hash ^ 2 * self.width

    @property
    def network_hash(self) -> int:
        """The word before the layers."""
        value = _HASH_INPUT ^ 2 * self.width
        for outputs, _ in self.layers:
            layer = (_HASH_AFFINE + outputs) & _MASK32
            layer ^= value >> 1 ^ (value << 31 & _MASK32)
            value = layer if outputs == 1 else (layer + _HASH_CLIPPED_RELU) & _MASK32
        return value


@dataclass(frozen=True)
class NetworkFile:
    """A network as the file holds it, without padding.

    Attributes:
        transformer_bias: int16 [width].
        transformer_weight: int16 [features.dimensions, width].
        biases: of the three layers, int32 [outputs].
        weights: of the three layers, int8 [outputs, inputs]; the input of the first is the side to move's accumulator,
            then the other's.
    """

    architecture: Architecture
    transformer_bias: npt.NDArray[np.int16]
    transformer_weight: npt.NDArray[np.int16]
    biases: tuple[npt.NDArray[np.int32], ...]
    weights: tuple[npt.NDArray[np.int8], ...]

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


def _padded(inputs: int) -> int:
    return -(-inputs // INPUT_PADDING) * INPUT_PADDING


# ---- The architecture string

_NUMBER: Final = r"(\d{1,9})"
_AFFINE: Final = rf"AffineTransform(?:SparseInput)?\[{_NUMBER}<-{_NUMBER}\]\("
_RELU: Final = rf"ClippedReLU\[{_NUMBER}\]\("
_GRAMMAR: Final = (
    (r"Features=", "'Features='"),
    (r"([A-Za-z0-9_+^\-]+(?:\([A-Za-z]*\))?)", "the name of a feature set"),
    (rf"\[{_NUMBER}->{_NUMBER}x2\]", "'[features->widthx2]'"),
    (r",Network=", "',Network='"),
    (_AFFINE, "'AffineTransform[1<-hidden2]('"),
    (_RELU, "'ClippedReLU[hidden2]('"),
    (_AFFINE, "'AffineTransform[hidden2<-hidden1]('"),
    (_RELU, "'ClippedReLU[hidden1]('"),
    (_AFFINE, "'AffineTransform[hidden1<-2*width]('"),
    (rf"InputSlice\[{_NUMBER}\(0:{_NUMBER}\)\]", "'InputSlice[2*width(0:2*width)]'"),
    (r"\){5}", "five closing brackets"),
    (rf"(?:,fv_scale={_NUMBER})?\Z", "the end, or ',fv_scale=N'"),
)


def parse_architecture(text: str, *, file: str = "architecture string", offset: int = 0) -> Architecture:
    """Read an architecture string.

    Args:
        file: named in errors.
        offset: of the string in the file, for errors.

    Raises:
        NetworkFileError: it does not follow the field's grammar, contradicts itself, or names features or sizes that
            this program does not know.
    """
    at = 0
    found: list[tuple[str, int]] = []
    for pattern, expected in _GRAMMAR:
        match = re.compile(pattern).match(text, at)
        if match is None:
            raise NetworkFileError(
                file, offset + at, f"architecture string: expected {expected}, found {text[at : at + 40]!r}"
            )
        found += [(value, match.start(i + 1)) for i, value in enumerate(match.groups()) if value is not None]
        at = match.end()

    name, name_at = found[0]
    features = FEATURE_SETS.get(name)
    if features is None:
        raise NetworkFileError(
            file, offset + name_at, f"unknown features {name!r}, expected one of {', '.join(FEATURE_SETS)}"
        )

    numbers = [int(value) for value, _ in found[1:]]
    places = [place for _, place in found[1:]]

    def check(index: int, allowed: range | tuple[int, ...], what: str) -> int:
        if numbers[index] not in allowed:
            expected = allowed[0] if len(allowed) == 1 else f"{allowed[0]}..{allowed[-1]}"
            if isinstance(allowed, range) and allowed.step > 1:
                expected = f"{expected} in steps of {allowed.step}"
            raise NetworkFileError(file, offset + places[index], f"{what} is {numbers[index]}, expected {expected}")
        return numbers[index]

    check(0, (features.dimensions,), f"the number of features of {name}")
    width = check(1, range(_WIDTH_STEP, _MAX_WIDTH + 1, _WIDTH_STEP), "the width of the feature transformer")
    check(2, (1,), "the number of outputs")
    hidden2 = check(3, range(1, _MAX_HIDDEN + 1), "the second hidden layer's width")
    check(4, (hidden2,), "the second ClippedReLU's width")
    check(5, (hidden2,), "the second hidden layer's width")
    hidden1 = check(6, range(1, _MAX_HIDDEN + 1), "the first hidden layer's width")
    check(7, (hidden1,), "the first ClippedReLU's width")
    check(8, (hidden1,), "the first hidden layer's width")
    for index in (9, 10, 11):
        check(index, (2 * width,), "the first hidden layer's input")
    fv_scale = check(12, _FV_SCALES, "fv_scale") if len(numbers) > 12 else None
    return Architecture(features, width, hidden1, hidden2, fv_scale)


# ---- Reading


class _Reader:
    def __init__(self, data: bytes, file: str) -> None:
        self.data = data
        self.file = file
        self.at = 0

    def take(self, size: int, what: str) -> int:
        """Move past ``size`` bytes and give where they start."""
        start = self.at
        if start + size > len(self.data):
            raise NetworkFileError(
                self.file, len(self.data), f"file ends inside {what}: expected {size} bytes from byte {start}"
            )
        self.at += size
        return start

    def array(self, dtype: str, shape: tuple[int, ...], what: str) -> npt.NDArray[Any]:
        kind = np.dtype(dtype)
        count = int(np.prod(shape))
        start = self.take(count * kind.itemsize, what)
        return np.frombuffer(self.data, kind, count, start).reshape(shape)


def parse_network(data: bytes, *, file: str = "network") -> NetworkFile:
    """Read a network from the bytes of a file. The arrays are read-only views of ``data``.

    Raises:
        NetworkFileError: broken, too short, too long, or of an architecture that is not known here.
    """
    reader = _Reader(data, file)
    version, _, length = _HEADER.unpack_from(data, reader.take(_HEADER.size, "the header"))
    if version != VERSION:
        raise NetworkFileError(file, 0, f"version word 0x{version:08X}, expected 0x{VERSION:08X}: no NNUE network file")
    if not 0 < length <= _MAX_STRING:
        raise NetworkFileError(file, 8, f"architecture string of {length} bytes, expected 1..{_MAX_STRING}")
    start = reader.take(length, "the architecture string")
    try:
        text = data[start : start + length].decode("ascii")
    except UnicodeDecodeError as error:
        raise NetworkFileError(file, start + error.start, "the architecture string is not ASCII") from None
    arch = parse_architecture(text, file=file, offset=start)
    reader.take(_WORD.size, "the feature transformer's hash")
    transformer_bias = reader.array("<i2", (arch.width,), "the feature transformer's bias")
    transformer_weight = reader.array(
        "<i2", (arch.features.dimensions, arch.width), "the feature transformer's weights"
    )
    reader.take(_WORD.size, "the network's hash")
    biases, weights = [], []
    for number, (outputs, inputs) in enumerate(arch.layers, 1):
        biases.append(reader.array("<i4", (outputs,), f"layer {number}'s bias"))
        weights.append(reader.array("<i1", (outputs, _padded(inputs)), f"layer {number}'s weights")[:, :inputs])
    if reader.at != len(data):
        raise NetworkFileError(file, reader.at, f"{len(data) - reader.at} more bytes, expected the end of {arch}")
    return NetworkFile(arch, transformer_bias, transformer_weight, tuple(biases), tuple(weights))


def read_network(path: str | os.PathLike[str]) -> NetworkFile:
    """Read a network file.

    Raises:
        NetworkFileError: see `parse_network`.
        OSError: the file cannot be read.
    """
    return parse_network(Path(path).read_bytes(), file=os.fspath(path))


# ---- Writing


def serialise_network(network: NetworkFile) -> bytes:
    """The bytes of a network file."""
    arch = network.architecture
    text = str(arch).encode("ascii")
    parts = [
        _HEADER.pack(VERSION, arch.transformer_hash ^ arch.network_hash, len(text)),
        text,
        _WORD.pack(arch.transformer_hash),
        network.transformer_bias.astype("<i2").tobytes(),
        network.transformer_weight.astype("<i2").tobytes(),
        _WORD.pack(arch.network_hash),
    ]
    for bias, weight in zip(network.biases, network.weights, strict=True):
        padding = _padded(weight.shape[1]) - weight.shape[1]
        parts.append(bias.astype("<i4").tobytes())
        parts.append(np.pad(weight, ((0, 0), (0, padding))).tobytes())
    return b"".join(parts)


def write_network(path: str | os.PathLike[str], network: NetworkFile) -> None:
    """Write a network file. It appears complete under its name or not at all.

    Raises:
        OSError: it cannot be written; what stood under the name is left as it was.
    """
    replace_file(Path(path), serialise_network(network), to_disk=True)
