"""The memory that a thread needs to evaluate: the ``nn`` Record for compiled code, and the buffers it points to.

The Record holds addresses of the network's weights (shared) and of the thread's own buffers. Accumulators are in a ring
of `SLOTS` plies. Each has the zobrist key of the position for which it was computed; if that equals the key on the
position's stack, the accumulator is valid. So moves, unmoves and new positions need no work here. A slot that two plies
share may have to be recomputed, but is never mistaken for the other ply's.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit.memory import CACHE_LINE, aligned_zeros
from worker.nnue.attack_network import HIDDEN1
from worker.nnue.kernels import kernels
from worker.nnue.network import Network
from worker.nnue.record import ATTACKS_BYTES, BOARD_BYTES, HANDS_BYTES, MAX_ACTIVE, NN_DTYPE, SLOTS
from worker.shogi.pieces import SQUARES

_UNUSED_KEY: Final = (1 << 64) - 1


class NnueState:
    """One thread's evaluation of one network.

    Attributes:
        network: its weights, shared with other threads.
        memory: the Record, in an array of one (`NN_DTYPE`).
        record: the same for compiled code (``np.record``). Valid as long as this object lives.
    """

    def __init__(self, network: Network) -> None:
        self.network: Final = network
        features, width = network.architecture.features, len(network.transformer_bias)
        attacks_bytes = ATTACKS_BYTES if features.attack_classes > 1 else 0
        kept_bytes = -(-(2 * width + BOARD_BYTES + HANDS_BYTES + attacks_bytes) // CACHE_LINE) * CACHE_LINE
        sizes = {
            "accumulators": SLOTS * 2 * 2 * width,
            "keys": SLOTS * 2 * 8,
            "kept": 2 * SQUARES * kept_bytes,
            "rows": 2 * MAX_ACTIVE * 8,
        }
        if network.stacks is None:
            hidden1, hidden2 = (kernels.padded_outputs(len(bias)) for bias, _ in network.layers[:2])
            sizes |= {
                "activations": kernels.activation_bytes(width),
                "values1": kernels.values_bytes(hidden1),
                "values2": kernels.values_bytes(hidden2),
                "attack_values": kernels.values_bytes(HIDDEN1),
            }
        rounded = {name: -(-size // CACHE_LINE) * CACHE_LINE for name, size in sizes.items()}
        self._buffer = aligned_zeros(sum(rounded.values()), np.uint8)
        self.memory: Final = aligned_zeros(1, NN_DTYPE)
        self.record: Final[Any] = self.memory.view(np.recarray)[0]
        address = self._buffer.ctypes.data
        for name, size in rounded.items():
            self.record[name] = address
            address += size
        keys_at = rounded["accumulators"]
        self._buffer[keys_at : keys_at + sizes["keys"]].view(np.uint64)[:] = _UNUSED_KEY
        # An empty board with empty hands: only the bias.
        kept_at = self.record.kept - self._buffer.ctypes.data
        kept = self._buffer[kept_at : kept_at + sizes["kept"]].reshape(-1, kept_bytes)
        kept[:, : 2 * width] = network.transformer_bias.view(np.uint8)
        self.record.kept_bytes = kept_bytes

        self.record.tables = network.tables.ctypes.data
        self.record.transformer_bias = network.transformer_bias.ctypes.data
        self.record.transformer_weight = network.transformer_weight.ctypes.data
        self.record.width = width
        self.record.row_bytes = 2 * width
        self.record.king_rows = features.king_rows
        if features.attack_classes > 1:
            # Imported here: without such a network none of it is compiled.
            from worker.nnue.attacked import accumulators_address

            self.record.attacked, self.record.class_bytes = accumulators_address(), features.class_rows * 2 * width
        if network.stacks is None:
            for number, (bias, weight) in enumerate(network.layers, 1):
                self.record[f"bias{number}"] = bias.ctypes.data
                self.record[f"weight{number}"] = weight.ctypes.data
            self.record.hidden1, self.record.hidden2 = hidden1, hidden2
            for number, (bias, weight) in enumerate(network.attack_layers, 1):
                self.record[f"attack_bias{number}"] = bias.ctypes.data
                self.record[f"attack_weight{number}"] = weight.ctypes.data
        else:
            self._stacks = network.stacks.for_thread()
            self.record.output, self.record.sfnn = self._stacks.output, self._stacks.memory.ctypes.data
        self.record.fv_scale = network.fv_scale
