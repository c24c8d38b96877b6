"""The ``nn`` Record: the part of a thread's evaluation that compiled code sees (`worker.nnue.state`)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import from_dtype

from worker.score import MAX_PLY

SLOTS: Final = 1 << (MAX_PLY - 1).bit_length()
"""Number of plies whose accumulators are stored. A power of two, so that the low bits of a ply are its slot."""
MAX_ACTIVE: Final = 128
"""Capacity for the rows that a position activates: 40 with a full set, and never more than squares and hands hold."""
BOARD_BYTES: Final = 88
"""Bytes of a stored board: one per piece, rounded up to whole words of eight."""
HANDS_BYTES: Final = 16
"""Bytes of the stored hands."""
ATTACKS_BYTES: Final = 64
"""Bytes of the stored attacks (`worker.nnue.attacked`)."""

NN_DTYPE: Final = np.dtype(
    [
        # Addresses in the network.
        ("tables", np.int64),
        ("transformer_bias", np.int64),
        ("transformer_weight", np.int64),
        ("bias1", np.int64),
        ("weight1", np.int64),
        ("bias2", np.int64),
        ("weight2", np.int64),
        ("bias3", np.int64),
        ("weight3", np.int64),
        # Addresses in its attack network (`worker.nnue.attack_network`); 0: it has none.
        ("attack_bias1", np.int64),
        ("attack_weight1", np.int64),
        ("attack_bias2", np.int64),
        ("attack_weight2", np.int64),
        ("attack_bias3", np.int64),
        ("attack_weight3", np.int64),
        # Its shape.
        ("width", np.int64),
        ("row_bytes", np.int64),  # of an accumulator, and of a row of the transformer's weights
        ("hidden1", np.int64),  # number of outputs that the kernels compute
        ("hidden2", np.int64),
        ("king_rows", np.int64),  # 1: a move of the own king changes every row
        ("fv_scale", np.int64),  # raw output per centipawn; may be changed between searches
        # If rows depend on attacks: the address of the function that computes both accumulators, else 0, and the bytes
        # from the rows of one class of attacks to those of the next.
        ("attacked", np.int64),  # int64 (int64 address of the position's Record, int64 address of this Record)
        ("class_bytes", np.int64),
        # If other layers follow the accumulators: the address of their function, else 0, and of its data.
        ("output", np.int64),  # int64 (int64 address of the position's Record, int64 address of this Record)
        ("sfnn", np.int64),  # `worker.nnue.sfnn.state.SF_DTYPE`
        # Addresses of the thread's own buffers.
        ("accumulators", np.int64),  # int16 [SLOTS][perspective 2][width]
        ("keys", np.int64),  # uint64 [SLOTS][perspective 2]
        ("kept", np.int64),  # [perspective 2][own king's square]: int16 [width], board, hands, attacks
        ("kept_bytes", np.int64),  # of one of these
        ("rows", np.int64),  # int64 [2][MAX_ACTIVE]: addresses of the rows that a refresh adds and subtracts
        ("activations", np.int64),  # clipped accumulators
        ("values1", np.int64),  # activations of the hidden layers
        ("values2", np.int64),
        ("attack_values", np.int64),  # of the first hidden layer of the attack network
        # Counted for benchmarks and tests.
        ("updates", np.int64),
        ("refreshes", np.int64),
    ],
    align=True,
)
NN: Final = from_dtype(NN_DTYPE)
"""The numba type, for explicit signatures."""
