"""An SFNN network in memory, and a thread's data for evaluating with it: the ``sf`` Record.

The accumulators are those of every network (`worker.nnue.state`); this module has the layers after them. All stacks are
in one buffer, each with its three layers at the same offsets.
"""

from __future__ import annotations

import hashlib
from types import ModuleType
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import from_dtype

from worker.jit import HAS_AVX2
from worker.jit.memory import CACHE_LINE, aligned_zeros
from worker.nnue.features import PIECE_NUMBERS
from worker.nnue.sfnn import portable, vector
from worker.nnue.sfnn.architecture import SfnnArchitecture
from worker.nnue.sfnn.file import SfnnFile
from worker.nnue.sfnn.reference import seen_inputs
from worker.nnue.sfnn.stacks import HAND_POINTS, HAND_RULES, HAND_ZONES, KING_RULES, progress_thresholds
from worker.shogi.pieces import SQUARES

kernels: Final[ModuleType] = vector if HAS_AVX2 else portable
"""The layers for this CPU; both have the same interface."""

SF_DTYPE: Final = np.dtype(
    [
        # Shape, as the kernels compute it.
        ("half", np.int64),  # products of one side
        ("sums", np.int64),  # of the first layer
        ("hidden2", np.int64),
        ("shortcut", np.int64),  # number of the sum that goes straight to the output, -1 for none
        # The stacks: the address of the first, bytes of each, and the offsets of its layers.
        ("stacks", np.int64),
        ("stack_bytes", np.int64),
        ("bias1", np.int64),
        ("weight1", np.int64),
        ("bias2", np.int64),
        ("weight2", np.int64),
        ("bias3", np.int64),
        ("weight3", np.int64),
        # The selection of the stack.
        ("hand_classes", np.int64),  # of one side, 1 for none
        ("hand_zones", np.int64),  # 1: points are counted
        ("hand_worth", np.int64, (16,)),  # by piece type: bits, or points
        ("king_classes", np.int64),  # of one side, 1 for none
        ("king_class", np.int64),  # address of int8 [colour 2][square 81]
        ("progress", np.int64),  # classes, 1 for none
        ("progress_bias", np.int64),
        ("progress_weights", np.int64),  # address of int32 [own king's square from its side's view 81][number 1548]
        ("thresholds", np.int64, (32,)),  # sums at which the next class begins
        # Addresses of the thread's own buffers.
        ("products", np.int64),
        ("sums_at", np.int64),
        ("values1", np.int64),
        ("values2", np.int64),
    ],
    align=True,
)
SF: Final = from_dtype(SF_DTYPE)
"""The numba type."""


def memory_width(arch: SfnnArchitecture) -> int:
    """Number of neurons of an accumulator in memory, where its halves are padded."""
    step: int = kernels.HALF_STEP
    return 2 * (-(-arch.width // 2 // step) * step)


def in_halves(array: npt.NDArray[Any], width: int, order: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """Reorder the last axis within each of its two halves, and pad it with zeros to a total of ``width``."""
    half = array.shape[-1] // 2
    out = np.zeros((*array.shape[:-1], 2, width // 2), array.dtype)
    for part in range(2):
        out[..., part, :half] = array[..., part * half + order]
    return out.reshape(*array.shape[:-1], width)


class Stacks:
    """The layers after the accumulators, for any number of threads.

    Attributes:
        digest: a hash of the weights, the same on every CPU.
    """

    def __init__(self, source: SfnnFile, order: npt.NDArray[np.intp]) -> None:
        """Arrange the stacks of a network whose products are in another order than in the file.

        Args:
            order: numbers of the products in the file, int [width / 2].
        """
        arch = source.architecture
        progress = () if source.progress is None else (source.progress.weights,)
        digest = hashlib.sha256()
        for array in (*source.biases, *source.weights, *progress):
            digest.update(np.ascontiguousarray(array).data)
        self.digest: Final = digest.digest()
        self._fields = np.zeros(1, SF_DTYPE)
        half = memory_width(arch) // 2
        sums, hidden2 = kernels.padded_sums(arch.sums), kernels.padded_hidden(arch.hidden2)
        first = source.weights[0] * seen_inputs(arch) if arch.sharing is not None else source.weights[0]
        layers = (
            (sums, kernels.arrange_first(_rows(in_halves(first, 2 * half, order), sums))),
            (hidden2, kernels.arrange_second(_rows(_second(arch, source.weights[1], sums), hidden2))),
            (1, kernels.arrange_third(source.weights[2])),
        )
        size = 0
        for number, (outputs, weights) in enumerate(layers, 1):
            for name, length in ((f"bias{number}", 4 * outputs), (f"weight{number}", weights.shape[1])):
                self._fields[name] = size
                size += -(-length // CACHE_LINE) * CACHE_LINE
        count = arch.stacks.count
        self._memory = aligned_zeros(count * size + kernels.TAIL, np.uint8)
        by_stack = self._memory[: count * size].reshape(count, size)
        for number, ((outputs, weights), biases) in enumerate(zip(layers, source.biases, strict=True), 1):
            full = np.zeros((count, outputs), np.int32)
            full[:, : biases.shape[1]] = biases
            at = int(self._fields[f"bias{number}"][0])
            by_stack[:, at : at + 4 * outputs] = full.view(np.uint8)
            at = int(self._fields[f"weight{number}"][0])
            by_stack[:, at : at + weights.shape[1]] = weights.view(np.uint8)
        self._fields["half"], self._fields["sums"], self._fields["hidden2"] = half, sums, hidden2
        self._fields["shortcut"] = arch.hidden1 if arch.shortcut else -1
        self._fields["stacks"], self._fields["stack_bytes"] = self._memory.ctypes.data, size
        self._set_rule(source)

    def _set_rule(self, source: SfnnFile) -> None:
        rule, fields = source.architecture.stacks, self._fields
        fields["hand_classes"], fields["hand_zones"] = rule.hand_classes, rule.hand == HAND_ZONES
        if rule.hand == HAND_ZONES:
            for kind, points in HAND_POINTS.items():
                fields["hand_worth"][0, kind] = points
        for bit, kinds in enumerate(HAND_RULES.get(rule.hand, ())):
            fields["hand_worth"][0, list(kinds)] = 1 << bit
        self._king_class = np.zeros((2, SQUARES), np.int8)
        if rule.king:
            self._king_class[0] = KING_RULES[rule.king]
            self._king_class[1] = self._king_class[0, ::-1]
        fields["king_classes"], fields["king_class"] = rule.king_classes, self._king_class.ctypes.data
        fields["progress"] = rule.progress
        if source.progress is not None:
            self._progress = aligned_zeros((SQUARES, PIECE_NUMBERS), np.int32)
            self._progress[:] = source.progress.weights
            fields["progress_bias"], fields["progress_weights"] = source.progress.bias, self._progress.ctypes.data
            fields["thresholds"][0, : rule.progress - 1] = progress_thresholds(rule.progress)

    def for_thread(self) -> SfnnState:
        """The Record for one thread."""
        return SfnnState(self, self._fields)


def _rows(weights: npt.NDArray[np.int8], outputs: int) -> npt.NDArray[np.int8]:
    """[stacks, rows, inputs] with rows of zeros added up to ``outputs``."""
    full = np.zeros((weights.shape[0], outputs, weights.shape[2]), np.int8)
    full[:, : weights.shape[1]] = weights
    return full


def _second(arch: SfnnArchitecture, weights: npt.NDArray[np.int8], sums: int) -> npt.NDArray[np.int8]:
    """The second layer's columns in the order in which the kernels leave its inputs."""
    places = kernels.second_inputs(sums)
    clipped, number = np.divmod(places, sums)
    used = (places >= 0) & (number < arch.hidden1)
    columns = np.zeros((*weights.shape[:2], len(places)), np.int8)
    columns[..., used] = weights[..., (clipped * arch.hidden1 + number)[used]]
    return columns


class SfnnState:
    """One thread's data.

    Attributes:
        output: the address of the function for ``nn.output``.
        memory: the Record, in an array of one (`SF_DTYPE`).
    """

    def __init__(self, stacks: Stacks, fields: npt.NDArray[Any]) -> None:
        # Imported here: without such a network none of it is compiled.
        from worker.nnue.sfnn.kernel import output_address

        self.output: Final = output_address()
        self._stacks = stacks  # keeps the memory at these addresses alive
        self.memory: Final = aligned_zeros(1, SF_DTYPE)
        self.memory[:] = fields
        sizes = kernels.buffer_bytes(*(int(fields[name][0]) for name in ("half", "sums", "hidden2")))
        rounded = [-(-size // CACHE_LINE) * CACHE_LINE for size in sizes]
        self._buffer = aligned_zeros(sum(rounded), np.uint8)
        address = self._buffer.ctypes.data
        for name, size in zip(("products", "sums_at", "values1", "values2"), rounded, strict=True):
            self.memory[name] = address
            address += size
