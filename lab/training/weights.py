"""A net in floating point, and the exact conversion to the integers of a file, and back.

The units are those usual in computer shogi. An activation of 1 is 127 in integers; a weight of 1 is 127 in the
transformer, 64 in the layers, and 9,600 in the output. The evaluator (`worker.nnue`) rounds the sums of hidden layers
down (``>> 6``); an extra half step in their biases turns that into rounding to the nearest. Of an SFNN network only the
second layer gets it: the sums of the first are also squared, and added to the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from worker.nnue.architecture import Architecture
from worker.nnue.beside import read_beside
from worker.nnue.format import NetworkFile
from worker.nnue.network import read_any
from worker.nnue.sfnn.architecture import SfnnArchitecture
from worker.nnue.sfnn.file import SfnnFile

Shape = Architecture | SfnnArchitecture
AnyFile = NetworkFile | SfnnFile

ONE: Final = 127
"""An activation of 1."""
LAYER_ONE: Final = 64
"""A weight of 1 in a hidden layer."""
OUTPUT_ONE: Final = 9600
"""An output of 1: with FV_SCALE 16 it is 600 centipawns."""
HALF_STEP: Final = LAYER_ONE // 2
"""Added to the bias of a hidden layer."""

LAYER_LIMIT: Final = 127 / LAYER_ONE
"""Weights of hidden layers are within ± this, those of the output within ± `OUTPUT_LIMIT`: they are int8."""
OUTPUT_LIMIT: Final = 127 * ONE / OUTPUT_ONE
TRANSFORMER_LIMIT: Final = 5.2
"""With a factor of `FACTOR_LIMIT`, 40 rows and a bias of `TRANSFORMER_BIAS_LIMIT`, no sum exceeds int16."""
SFNN_TRANSFORMER_LIMIT: Final = 2.0
"""The same of an SFNN network, whose evaluator doubles the sums."""
FACTOR_LIMIT: Final = 1.0
TRANSFORMER_BIAS_LIMIT: Final = 9.0
HIDDEN_BIAS_LIMIT: Final = 500.0
"""With this limit every sum of a layer is exact in float32, which holds integers up to 2^24."""
OUTPUT_BIAS_LIMIT: Final = 400.0

LAYERS: Final = ("feature transformer", "layer 1", "layer 2", "output")
"""Their names for users."""

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class FloatNet:
    """Weights in floating point; shapes as in `worker.nnue.format.NetworkFile` or `worker.nnue.sfnn.file.SfnnFile`."""

    transformer_weight: Floats
    transformer_bias: Floats
    weight1: Floats
    bias1: Floats
    weight2: Floats
    bias2: Floats
    weight3: Floats
    bias3: Floats

    def by_name(self) -> dict[str, Floats]:
        """Its arrays by their names."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


SCALES: Final = {
    "transformer_weight": ONE,
    "transformer_bias": ONE,
    "weight1": LAYER_ONE,
    "bias1": LAYER_ONE * ONE,
    "weight2": LAYER_ONE,
    "bias2": LAYER_ONE * ONE,
    "weight3": OUTPUT_ONE / ONE,
    "bias3": OUTPUT_ONE,
}
"""By array: the integer that represents 1."""
LIMITS: Final = {
    "transformer_weight": TRANSFORMER_LIMIT,
    "transformer_bias": TRANSFORMER_BIAS_LIMIT,
    "weight1": LAYER_LIMIT,
    "bias1": HIDDEN_BIAS_LIMIT,
    "weight2": LAYER_LIMIT,
    "bias2": HIDDEN_BIAS_LIMIT,
    "weight3": OUTPUT_LIMIT,
    "bias3": OUTPUT_BIAS_LIMIT,
}
"""By array: its values are within ± this."""


def limits_of(architecture: Shape) -> dict[str, float]:
    """`LIMITS` for a shape."""
    if isinstance(architecture, SfnnArchitecture):
        return LIMITS | {"transformer_weight": SFNN_TRANSFORMER_LIMIT}
    return LIMITS


def _half_steps(architecture: Shape) -> dict[str, int]:
    if isinstance(architecture, SfnnArchitecture):
        return {"bias2": HALF_STEP}
    return {"bias1": HALF_STEP, "bias2": HALF_STEP}


def random_net(architecture: Shape, seed: int) -> FloatNet:
    """An initial net: most activations are within their range. The same arguments give the same net."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed & (1 << 64) - 1, 0x6E6E])))

    def normal(deviation: float, *shape: int) -> Floats:
        values: Floats = (rng.standard_normal(shape, np.float32) * np.float32(deviation)).astype(np.float32)
        return values

    def centred(weight: Floats, middle: float = 0.5) -> Floats:
        """The bias with which inputs in the middle of their range give an output in the middle, so that no unit begins
        at an end."""
        bias: Floats = np.float32(0.5) - np.float32(middle) * weight.sum(axis=1)
        return bias

    arch = architecture
    transformer = normal(0.04, arch.features.dimensions, arch.width)
    transformer[arch.features.zero_rows] = 0
    layers = [normal(1 / np.sqrt(inputs), outputs, inputs) for outputs, inputs in arch.layers]
    layers[2] = (layers[2] * 2).clip(-OUTPUT_LIMIT, OUTPUT_LIMIT)
    biases = [centred(layer) for layer in layers]
    biases[2] -= np.float32(0.5)
    if isinstance(arch, SfnnArchitecture):
        biases[0] = centred(layers[0], 0.25)  # products of two activations
        layers[0][arch.hidden1 :] = biases[0][arch.hidden1 :] = 0  # the shortcut
        # All stacks begin alike.
        layers, biases = ([np.stack([one] * arch.stacks.count) for one in ones] for ones in (layers, biases))
    return FloatNet(
        transformer,
        np.full(arch.width, 0.5, np.float32),
        layers[0],
        biases[0],
        layers[1],
        biases[1],
        layers[2],
        biases[2],
    )


def read_with_beside(file: Path) -> AnyFile:
    """A network whose architecture has the FV_SCALE that stands beside its file, if there is one.

    Raises:
        NetworkFileError: it is broken or of an unknown kind.
        OSError: it cannot be read.
    """
    beside = read_beside(file)
    network: Any = read_any(file, architecture=beside.architecture)
    fv_scale = beside.fv_scale or network.architecture.fv_scale
    found: AnyFile = replace(network, architecture=replace(network.architecture, fv_scale=fv_scale))
    return found


def from_file(network: AnyFile) -> FloatNet:
    """The floating-point version of a network: `to_file` returns the same integers, if limits are respected."""
    integers: dict[str, npt.NDArray[Any]] = {
        "transformer_weight": network.transformer_weight,
        "transformer_bias": network.transformer_bias,
        **{f"weight{number}": weight for number, weight in enumerate(network.weights, 1)},
        **{f"bias{number}": bias for number, bias in enumerate(network.biases, 1)},
    }

    half_steps = _half_steps(network.architecture)

    def floats(name: str, values: npt.NDArray[Any]) -> Floats:
        return ((values.astype(np.float64) - half_steps.get(name, 0)) / SCALES[name]).astype(np.float32)

    return FloatNet(**{name: floats(name, values) for name, values in integers.items()})


def to_file(net: FloatNet, architecture: Shape) -> AnyFile:
    """The integers of a net, as the evaluator reads them.

    Raises:
        ValueError: a value does not fit into its integers, or is not a number; the text names the layer.
    """

    half_steps = _half_steps(architecture)

    def integers(name: str, dtype: type, layer: str) -> npt.NDArray[Any]:
        values: Floats = getattr(net, name)
        # In float32, as in training: a product on the edge between two integers is rounded the same way.
        scaled = np.rint(values * np.float32(SCALES[name]))
        info = np.iinfo(dtype)
        if not np.isfinite(scaled).all():
            raise ValueError(f"{layer}: a weight is no number")
        if scaled.max() > info.max or scaled.min() < info.min:
            raise ValueError(f"{layer}: a weight does not fit into {np.dtype(dtype)}")
        whole: npt.NDArray[Any] = (scaled.astype(np.int64) + half_steps.get(name, 0)).astype(dtype)
        return whole

    bias, weight = (integers(f"transformer_{name}", np.int16, LAYERS[0]) for name in ("bias", "weight"))
    biases = tuple(integers(f"bias{number}", np.int32, LAYERS[number]) for number in (1, 2, 3))
    weights = tuple(integers(f"weight{number}", np.int8, LAYERS[number]) for number in (1, 2, 3))
    if isinstance(architecture, SfnnArchitecture):
        return SfnnFile(architecture, bias, weight, biases, weights)
    return NetworkFile(architecture, bias, weight, biases, weights)


def snapped(net: FloatNet) -> FloatNet:
    """The net with its weights rounded to values that its integers can hold."""
    rounded = {
        name: (np.rint(values * np.float32(SCALES[name])) / SCALES[name]).astype(np.float32)
        for name, values in net.by_name().items()
    }
    return FloatNet(**rounded)


class BlendError(ValueError):
    """The mean of networks is not defined; the text gives the reason."""


def blend(networks: Sequence[AnyFile], shares: Sequence[float]) -> AnyFile:
    """The mean of all weights, rounded to the nearest integers, with the attack network that all have.

    Args:
        shares: of each network, from 0 (no part in it) to 1 (the mean is this network); their sum is 1.

    Raises:
        BlendError: the shapes differ, the FV_SCALEs, or the attack networks.
        ValueError: the shares are out of range, or there are not as many as networks.
    """
    if len(shares) != len(networks) or min(shares) < 0 or abs(sum(shares) - 1) > 1e-9:
        raise ValueError(f"shares are {shares}: expected {len(networks)}, together 1")
    architecture = networks[0].architecture
    for one in networks:
        if one.architecture != architecture:
            raise BlendError(f"{architecture} and {one.architecture} differ in shape or FV_SCALE")
    sums: dict[str, np.ndarray] = {}
    for network, share in zip(networks, shares, strict=True):
        for name, values in from_file(network).by_name().items():
            # In float64: a share of 1 returns the net unchanged.
            sums[name] = sums.get(name, 0.0) + share * values.astype(np.float64)
    mean = to_file(FloatNet(**{name: values.astype(np.float32) for name, values in sums.items()}), architecture)
    attacks = [None if isinstance(one, SfnnFile) else one.attack_network for one in networks]
    if any(one != attacks[0] for one in attacks):
        raise BlendError("their attack networks differ")
    if isinstance(mean, NetworkFile):
        mean = replace(mean, attack_network=attacks[0])
    return mean
