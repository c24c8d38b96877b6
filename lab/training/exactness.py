"""A quantised net against its twin in floating point: their difference, and the part of each layer's integers in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lab.training.batches import batches_of
from lab.training.corpus import Records
from lab.training.evaluate import evaluate_records, piece_codes
from lab.training.features import RowTables, row_tables
from lab.training.sparse import sum_rows
from lab.training.weights import LAYER_ONE, LAYERS, ONE, SCALES, FloatNet, snapped
from worker.nnue import Network, NnueState
from worker.nnue.format import NetworkFile
from worker.shogi.state import new_record

_BATCH = 8192

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
