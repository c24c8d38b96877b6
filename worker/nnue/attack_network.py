"""Attack networks: a small network whose inputs are attacks, beside one whose inputs do not show them.

`INPUTS` numbers about attacks (`worker.nnue.attack_inputs`) -> 64 -> 32 -> 1, in the arithmetic of the layers of other
networks, and its output is added to theirs. ``gougi net attacks`` trains it. A network file has it in its architecture
string, which other programs skip.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from worker.jit import jit
from worker.nnue.attack_inputs import EVALUATION, INPUTS, MOST, write_inputs
from worker.nnue.kernels import kernels

HIDDEN1: Final = 64
HIDDEN2: Final = 32
"""Outputs of the hidden layers."""
SHAPES: Final = ((HIDDEN1, INPUTS), (HIDDEN2, HIDDEN1), (1, HIDDEN2))
"""(outputs, inputs) of the layers."""
EVALUATION_SHIFT: Final = 9
"""An evaluation is shifted right by it for its input, and 0 stands in the middle."""
OUTPUT_SHIFT: Final = 2
"""The output is shifted right by it: corrections are small, and so their weights are finer than a network's."""
_BYTES: Final = sum(outputs * (4 + inputs) for outputs, inputs in SHAPES)


@dataclass(frozen=True)
class AttackNetwork:
    """The weights.

    Attributes:
        biases: of the three layers, int32 [outputs].
        weights: of the three layers, int8 [outputs, inputs].
    """

    biases: tuple[npt.NDArray[np.int32], ...]
    weights: tuple[npt.NDArray[np.int8], ...]

    def __post_init__(self) -> None:
        found = [f"{one.dtype} {one.shape}" for one in self.biases] + [
            f"{one.dtype} {one.shape}" for one in self.weights
        ]
        expected = [f"int32 {shape[:1]}" for shape in SHAPES] + [f"int8 {shape}" for shape in SHAPES]
        if found != expected:
            raise ValueError(f"an attack network of {', '.join(found)}; expected {', '.join(expected)}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AttackNetwork) and self.to_text() == other.to_text()

    def __hash__(self) -> int:
        return hash(self.to_text())

    def to_text(self) -> str:
        """Base64 of all biases (little endian), then all weights."""
        biases = [one.astype("<i4").tobytes() for one in self.biases]
        return base64.b64encode(b"".join(biases + [one.tobytes() for one in self.weights])).decode("ascii")

    @classmethod
    def from_text(cls, text: str) -> AttackNetwork:
        """Raises ValueError: it is not what `to_text` returns."""
        try:
            data = base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise ValueError(str(error)) from None
        if len(data) != _BYTES:
            raise ValueError(f"{len(data)} bytes, expected {_BYTES}")
        at, biases, weights = 0, [], []
        for outputs, _ in SHAPES:
            biases.append(np.frombuffer(data, "<i4", outputs, at).astype(np.int32))
            at += 4 * outputs
        for shape in SHAPES:
            weights.append(np.frombuffer(data, np.int8, shape[0] * shape[1], at).reshape(shape))
            at += shape[0] * shape[1]
        return cls(tuple(biases), tuple(weights))


@jit()
def attack_value(pos: Any, nn: Any, evaluation: int) -> Any:
    """The output for the side to move, int64 in raw units of the network beside it; 0 if a king is missing.

    ``evaluation`` is that of the network beside it, in the same units. This overwrites buffers that the layers of that
    network use.
    """
    if not write_inputs(pos, nn.activations):
        return np.int64(0)
    kernels.put(nn.activations, EVALUATION, max(0, min(MOST, (evaluation >> EVALUATION_SHIFT) + (MOST + 1) // 2)))
    kernels.put_layer(nn.activations, INPUTS, nn.attack_bias1, nn.attack_weight1, HIDDEN1, nn.attack_values)
    kernels.hidden_layer(nn.attack_values, HIDDEN1, nn.attack_bias2, nn.attack_weight2, HIDDEN2, nn.values2)
    return kernels.output_layer(nn.values2, HIDDEN2, nn.attack_bias3, nn.attack_weight3) >> OUTPUT_SHIFT
