"""Facts of a network: sizes, ranges, units at the ends of theirs, and how far its integers are from floating point."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lab.training.batches import batches_of
from lab.training.corpus import Records
from lab.training.features import RowTables, row_tables
from lab.training.kernels import evaluate_records, piece_codes, sum_rows
from lab.training.weights import LAYER_ONE, LAYERS, ONE, SCALES, FloatNet, snapped
from worker.nnue import Network, NnueState
from worker.nnue.format import NetworkFile
from worker.nnue.network import DEFAULT_FV_SCALE
from worker.shogi.state import new_record

_BATCH: Final = 4096


def file_facts(network: NetworkFile, data: bytes) -> dict[str, Any]:
    """All that the file says, as plain values.

    Args:
        data: the file's bytes.
    """
    arch = network.architecture
    layers = [_layer(LAYERS[0], network.transformer_weight, network.transformer_bias)]
    for name, weight, bias in zip(LAYERS[1:], network.weights, network.biases, strict=True):
        layers.append(_layer(name, weight, bias))
    return {
        "architecture": str(arch),
        "features": arch.features.name,
        "inputs": arch.features.dimensions,
        "unused_inputs": int(np.count_nonzero(~network.transformer_weight.any(axis=1))),
        "width": arch.width,
        "hidden": [arch.hidden1, arch.hidden2],
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "parameters": sum(layer["weights"] + layer["biases"] for layer in layers),
        "fv_scale": arch.fv_scale or DEFAULT_FV_SCALE,
        "fv_scale_named": arch.fv_scale is not None,
        "layers": layers,
    }


def _layer(name: str, weight: npt.NDArray[Any], bias: npt.NDArray[Any]) -> dict[str, Any]:
    info = np.iinfo(weight.dtype)
    ends = np.count_nonzero((weight >= info.max) | (weight <= -info.max))
    return {
        "name": name,
        "inputs": int(weight.shape[1] if name != LAYERS[0] else weight.shape[0]),
        "outputs": int(weight.shape[0] if name != LAYERS[0] else weight.shape[1]),
        "weights": int(weight.size),
        "biases": int(bias.size),
        "type": str(weight.dtype),
        "least": int(weight.min()),
        "most": int(weight.max()),
        "deviation": float(weight.std()),
        "zeros": float(np.count_nonzero(weight == 0) / weight.size),
        "at_the_ends": float(ends / weight.size),
        "bias_least": int(bias.min()),
        "bias_most": int(bias.max()),
    }


def activation_facts(network: NetworkFile, records: Records) -> list[dict[str, Any]]:
    """Facts of each layer's units over positions: the share at 0 and at 127, and the units that are always there."""
    tables = row_tables(network.architecture.features)
    weight = network.transformer_weight.astype(np.float32)
    bias = network.transformer_bias.astype(np.float32)
    width = network.architecture.width
    counts = [
        [np.zeros(size), np.zeros(size)]
        for size in (2 * width, network.architecture.hidden1, network.architecture.hidden2)
    ]
    for batch in batches_of(tables, records, _BATCH):
        values = np.empty((len(batch), 2 * width), np.float32)
        for side, rows in enumerate((batch.own, batch.enemy)):
            sum_rows(weight, bias, rows, values, side * width, np.float32(ONE), 0, len(batch))
        for layer, count in enumerate(counts):
            if layer:
                sums = values @ network.weights[layer - 1].T.astype(np.float32) + network.biases[layer - 1]
                values = np.floor(sums / 64).clip(0, ONE).astype(np.float32)
            count[0] += np.count_nonzero(values == 0, axis=0)
            count[1] += np.count_nonzero(values == ONE, axis=0)
    # A unit of the transformer is the same for both sides.
    counts[0] = [(part[:width] + part[width:]) / 2 for part in counts[0]]
    total = len(records)
    return [
        {
            "name": name,
            "units": len(zero),
            "at_0": float(zero.mean() / total),
            "at_127": float(full.mean() / total),
            "always_0": int(np.count_nonzero(zero == total)),
            "always_127": int(np.count_nonzero(full == total)),
        }
        for name, (zero, full) in zip(LAYERS, counts, strict=False)
    ]


Values = npt.NDArray[np.float64]


def evaluator_raw(network: NetworkFile, records: Records) -> npt.NDArray[np.int64]:
    """The raw output of the player's own evaluator for each record."""
    state = NnueState(Network(network))
    position = new_record()
    codes = piece_codes()
    out = np.zeros(len(records), np.int64)
    evaluate_records(position, state.record, records.ctypes.data, len(records), codes.ctypes.data, out.ctypes.data)
    return out


def float_raw(net: FloatNet, tables: RowTables, records: Records, *, rounded: tuple[bool, ...] = ()) -> Values:
    """The raw output in floating point.

    Args:
        rounded: by hidden layer, whether its activations are whole numbers, as the evaluator's are.
    """
    arrays: dict[str, Any] = {name: (values * np.float32(SCALES[name])) for name, values in net.by_name().items()}
    width = len(net.transformer_bias)
    parts = []
    for batch in batches_of(tables, records, _BATCH):
        values = np.empty((len(batch), 2 * width), np.float32)
        for side, rows in enumerate((batch.own, batch.enemy)):
            sum_rows(
                arrays["transformer_weight"], arrays["transformer_bias"], rows, values, side * width, np.float32(ONE),
                0, len(batch),
            )  # fmt: skip
        for layer in (1, 2):
            values = (values @ arrays[f"weight{layer}"].T + arrays[f"bias{layer}"]) / np.float32(LAYER_ONE)
            if rounded and rounded[layer - 1]:
                values = np.floor(values + np.float32(0.5))
            values = values.clip(0, ONE)
        parts.append((values @ arrays["weight3"].T + arrays["bias3"])[:, 0].astype(np.float64))
    return np.concatenate(parts) if parts else np.zeros(0)


@dataclass(frozen=True, slots=True)
class Exactness:
    """The distance of a quantised net from its twin in floating point, in centipawns."""

    rms: float
    layers: tuple[tuple[str, float], ...]
    """The difference that the integers of one layer alone make: name, rms."""

    @property
    def worst(self) -> str:
        """The layer that changes most."""
        return max(self.layers, key=lambda one: one[1])[0]


def measure(net: FloatNet, network: NetworkFile, records: Records, fv_scale: int) -> Exactness:
    """Compare the evaluator on ``network`` with ``net`` in floating point, on the positions of records."""
    rows = row_tables(network.architecture.features)
    exact = float_raw(net, rows, records)

    def rms(other: Any) -> float:
        return float(np.sqrt(np.mean(((other - exact) / fv_scale) ** 2)))

    layers = []
    for layer, name in enumerate(LAYERS):
        rounded = (layer == 1, layer == 2)
        layers.append((name, rms(float_raw(snapped(net, layer=layer), rows, records, rounded=rounded))))
    return Exactness(rms(evaluator_raw(network, records)), tuple(layers))
