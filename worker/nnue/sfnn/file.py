"""Reader and writer of SFNN network files, as YaneuraOu defines them.

Little endian::

    u32 version (0x7AF32F16), u32 hash, u32 length, architecture string
    u32 hash, int16 bias[width], int16 weight[rows][width]        feature transformer
    u32 hash, int32 bias, int32 weight[81][1548]                  progress, if the stacks need it
    for each stack: u32 hash, then for each of three layers
        int32 bias[outputs], int8 weight[outputs][inputs rounded up to 32]

The feature transformer is usually packed: the word ``COMPRESSED_LEB128``, the number of bytes (u32) and the bytes,
once for its bias and once for its weights (`worker.nnue.sfnn.leb128`).

Trainers write headers that are not true. The bytes decide: the packed feature transformer determines its width and so
its features; the hashes before the stacks determine their size, and so their number. The header, or the user, decides
between the remaining shapes (`worker.nnue.sfnn.shape`). Sizes are checked against the file's before memory is taken.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from worker.nnue.architecture import NetworkFileError, padded
from worker.nnue.features import PIECE_NUMBERS
from worker.nnue.sfnn import leb128
from worker.nnue.sfnn.architecture import SfnnArchitecture, parse_sfnn_name
from worker.nnue.sfnn.shape import NETWORK_HASH, PROGRESS_BYTES, PROGRESS_HASH, Sections, find_shape, stack_bytes
from worker.nnue.shape import HEADER, PACKED, VERSION, WORD, Head
from worker.shogi.pieces import SQUARES

_FILE_HASH: Final = 0x3C203B32
_TRANSFORMER_HASH: Final = 0x5F134AB8
_BLOCK: Final = struct.Struct(f"<{len(PACKED)}sI")
PROGRESS_FILE_BYTES: Final = SQUARES * PIECE_NUMBERS * 8
"""Bytes of a file ``progress.bin``."""


@dataclass(frozen=True)
class Progress:
    """The weights of game progress, with 16 fractional bits.

    Attributes:
        bias: added to every sum.
        weights: int32 [own king's square 81][number of a piece 1548].
    """

    bias: int
    weights: npt.NDArray[np.int32]


@dataclass(frozen=True)
class SfnnFile:
    """A network as the file holds it, without padding.

    Attributes:
        transformer_bias: int16 [width].
        transformer_weight: int16 [inputs.rows, width].
        biases: of the three layers, int32 [stacks, outputs].
        weights: of the three layers, int8 [stacks, outputs, inputs]. The first layer's inputs are the products of the
            side to move, then the other's; the second's, the squared sums, then the clipped ones.
        progress: None: the stacks do not need it.
    """

    architecture: SfnnArchitecture
    transformer_bias: npt.NDArray[np.int16]
    transformer_weight: npt.NDArray[np.int16]
    biases: tuple[npt.NDArray[np.int32], ...]
    weights: tuple[npt.NDArray[np.int8], ...]
    progress: Progress | None = None

    def __post_init__(self) -> None:
        arch = self.architecture
        stacks = arch.stacks.count
        expected: list[tuple[str, npt.NDArray[Any], type, tuple[int, ...]]] = [
            ("transformer_bias", self.transformer_bias, np.int16, (arch.width,)),
            ("transformer_weight", self.transformer_weight, np.int16, (arch.inputs.rows, arch.width)),
        ]
        for layer, (outputs, inputs) in enumerate(arch.layers):
            expected.append((f"biases[{layer}]", self.biases[layer], np.int32, (stacks, outputs)))
            expected.append((f"weights[{layer}]", self.weights[layer], np.int8, (stacks, outputs, inputs)))
        if self.progress is not None:
            expected.append(("progress.weights", self.progress.weights, np.int32, (SQUARES, PIECE_NUMBERS)))
        for name, array, dtype, shape in expected:
            if array.dtype != dtype or array.shape != shape:
                raise ValueError(f"{name}: {array.dtype} {array.shape}, expected {np.dtype(dtype)} {shape} for {arch}")
        if (arch.stacks.progress > 1) != (self.progress is not None):
            raise ValueError(f"progress is {'missing' if self.progress is None else 'given'} for {arch}")


class _Reader:
    def __init__(self, head: Head) -> None:
        self.data = head.data
        self.file = head.file
        self.at = head.body

    def error(self, problem: str, at: int | None = None) -> NetworkFileError:
        return NetworkFileError(self.file, self.at if at is None else at, problem)

    def take(self, size: int, what: str) -> int:
        """Move past ``size`` bytes and return the offset of the first one."""
        start = self.at
        if start + size > len(self.data):
            raise self.error(f"file ends inside {what}: expected {size} bytes from byte {start}", len(self.data))
        self.at += size
        return start

    def array(self, dtype: str, count: int, what: str) -> npt.NDArray[Any]:
        kind = np.dtype(dtype)
        return np.frombuffer(self.data, kind, count, self.take(count * kind.itemsize, what))

    def packed(self, what: str) -> tuple[int, npt.NDArray[np.uint8]]:
        """The offset of a LEB128 block's bytes, and the bytes."""
        start = self.take(_BLOCK.size, what)
        magic, size = _BLOCK.unpack_from(self.data, start)
        if magic != PACKED:
            raise self.error(f"{what}: expected the word {PACKED.decode()}", start)
        return self.at, self.array("u1", size, what)


def sfnn_shape(head: Head, *, architecture: str | None = None, outside: bool = False) -> SfnnArchitecture:
    """The architecture of a file.

    Args:
        head: of the file.
        architecture: its short name, if the user gives it; the file's sizes must fit it.
        outside: there is a file ``progress.bin`` next to it (`stacks.KPABS`). Then nine stacks are classes of progress,
            unless the user's architecture says otherwise.

    Raises:
        NetworkFileError: the file ends too early, or no shape fits, or more than one does.
    """
    return _open(_Reader(head), head, architecture, outside)[0]


_Packed = tuple[int, npt.NDArray[np.uint8]]


def _open(
    reader: _Reader, head: Head, architecture: str | None, outside: bool
) -> tuple[SfnnArchitecture, tuple[_Packed, _Packed] | None]:
    """The architecture, and the packed bias and weights of the feature transformer, None if they are not packed.

    If they are packed, the reader stands after them, else before them.
    """
    reader.take(WORD.size, "the feature transformer's hash")
    transformer = reader.at
    packed = None
    if head.data[transformer : transformer + len(PACKED)] == PACKED:
        packed = reader.packed("the feature transformer's bias"), reader.packed("the feature transformer's weights")
    counts = (0, 0) if packed is None else tuple(leb128.count_numbers(block) for _, block in packed)
    try:
        said = parse_sfnn_name(architecture) if architecture else None
        found = find_shape(Sections(head.text, counts[0], counts[1], reader.at, head.data), said, outside=outside)
    except ValueError as problem:
        raise reader.error(str(problem), HEADER.size) from None
    return replace(found, fv_scale=head.fv_scale), packed


def parse_sfnn(head: Head, *, architecture: str | None = None, progress: bytes | None = None) -> SfnnFile:
    """Read a network; arguments as in `sfnn_shape`.

    Args:
        progress: the content of the file ``progress.bin``.

    Raises:
        NetworkFileError: broken, too short or too long, or no shape fits, or more than one does.
    """
    reader = _Reader(head)
    arch, packed = _open(reader, head, architecture, progress is not None)
    counts = arch.width, arch.inputs.rows * arch.width
    names = "the feature transformer's bias", "the feature transformer's weights"
    if packed is None:
        bias, weight = (reader.array("<i2", count, name) for count, name in zip(counts, names, strict=True))
    else:
        bias, weight = (
            _unpacked(reader, block, count, name) for block, count, name in zip(packed, counts, names, strict=True)
        )
    weights_of_progress = _read_progress(reader, arch, progress)
    biases, weights = _read_stacks(reader, arch)
    if reader.at != len(head.data):
        raise reader.error(f"{len(head.data) - reader.at} more bytes, expected the end of {arch}")
    return SfnnFile(arch, bias, weight.reshape(arch.inputs.rows, arch.width), biases, weights, weights_of_progress)


def _unpacked(reader: _Reader, packed: _Packed, count: int, what: str) -> npt.NDArray[np.int16]:
    at, block = packed
    try:
        return leb128.decode(block, count)
    except ValueError as problem:
        raise reader.error(f"{what}: {problem}", at) from None


def _read_progress(reader: _Reader, arch: SfnnArchitecture, outside: bytes | None) -> Progress | None:
    if arch.stacks.outside:
        if outside is None:
            raise reader.error(f"{arch} needs a file progress.bin beside it")
        return parse_progress(outside)
    if not arch.has_progress:
        return None
    found = int(reader.array("<u4", 1, "the progress's hash")[0])
    if found != PROGRESS_HASH:
        raise reader.error(f"the progress's hash is 0x{found:08X}, expected 0x{PROGRESS_HASH:08X}", reader.at - 4)
    bias = int(reader.array("<i4", 1, "the progress's bias")[0])
    weights = reader.array("<i4", SQUARES * PIECE_NUMBERS, "the progress's weights")
    return Progress(bias, weights.reshape(SQUARES, PIECE_NUMBERS))


def parse_progress(data: bytes, *, file: str = "progress.bin") -> Progress:
    """Read the progress's weights from a separate file: double [81][1548].

    Raises:
        NetworkFileError: wrong size, or a value that is not a number.
    """
    if len(data) != PROGRESS_FILE_BYTES:
        raise NetworkFileError(file, len(data), f"{len(data)} bytes, expected {PROGRESS_FILE_BYTES}")
    values = np.frombuffer(data, "<f8").reshape(SQUARES, PIECE_NUMBERS)
    if not np.isfinite(values).all():
        raise NetworkFileError(file, int(np.argmin(np.isfinite(values))) * 8, "a weight that is no number")
    scaled = np.copysign(np.floor(np.abs(values) * 65536 + 0.5), values)
    return Progress(0, scaled.clip(-(1 << 31), (1 << 31) - 1).astype(np.int32))


def _layers_dtype(arch: SfnnArchitecture) -> np.dtype[Any]:
    """The numpy type of one stack."""
    fields: list[tuple[str, str, tuple[int, ...]]] = [("hash", "<u4", ())]
    for number, (outputs, inputs) in enumerate(arch.layers):
        fields.append((f"bias{number}", "<i4", (outputs,)))
        fields.append((f"weight{number}", "i1", (outputs, padded(inputs))))
    return np.dtype(fields)


def _read_stacks(
    reader: _Reader, arch: SfnnArchitecture
) -> tuple[tuple[npt.NDArray[np.int32], ...], tuple[npt.NDArray[np.int8], ...]]:
    kind = _layers_dtype(arch)
    assert kind.itemsize == stack_bytes(arch)
    start = reader.take(arch.stacks.count * kind.itemsize, f"the {arch.stacks.count} stacks of {arch}")
    stacks = np.frombuffer(reader.data, kind, arch.stacks.count, start)
    biases = tuple(stacks[f"bias{number}"] for number in range(len(arch.layers)))
    weights = tuple(stacks[f"weight{number}"][:, :, :inputs] for number, (_outputs, inputs) in enumerate(arch.layers))
    return biases, weights


def serialise_sfnn(network: SfnnFile) -> bytes:
    """The bytes of a network file. Progress weights from a separate file are left out."""
    arch = network.architecture
    text = arch.header.encode("ascii")
    file_hash = _FILE_HASH ^ (PROGRESS_HASH if arch.has_progress else 0)
    packed = [leb128.encode(numbers) for numbers in (network.transformer_bias, network.transformer_weight)]
    parts = [
        HEADER.pack(VERSION, file_hash, len(text)),
        text,
        WORD.pack(_TRANSFORMER_HASH),
        *(_BLOCK.pack(PACKED, len(block)) + block for block in packed),
    ]
    if arch.has_progress and network.progress is not None:
        parts.append(struct.pack("<Ii", PROGRESS_HASH, network.progress.bias))
        parts.append(network.progress.weights.astype("<i4").tobytes())
        assert sum(map(len, parts[-2:])) == PROGRESS_BYTES
    stacks = np.zeros(arch.stacks.count, _layers_dtype(arch))
    stacks["hash"] = NETWORK_HASH
    for number, (_outputs, inputs) in enumerate(arch.layers):
        stacks[f"bias{number}"] = network.biases[number]
        stacks[f"weight{number}"][:, :, :inputs] = network.weights[number]
    return b"".join((*parts, stacks.tobytes()))
