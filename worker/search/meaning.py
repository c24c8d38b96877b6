"""What table entries and histories mean, as a digest: only engines with the same one can use each other's."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from worker.engine import MOVES_MEANING
from worker.nnue import Network
from worker.rules import Rules
from worker.search import correction, state, tt
from worker.shogi import Position


def meaning(network: str, fv_scale: int, rules: Rules) -> str:
    """See `worker.engine.SharesTable.entries_meaning`: the layouts and keys, the network and the rules.

    Numbers that come with each search (`Rules.of_search`) are left out: they are the same on every node of a fleet.

    Args:
        network: see `network_digest`.
    """
    rules = replace(rules, max_moves=0, draw_black=0, draw_white=0)
    # The sources stand for the layouts, so no version number has to be maintained.
    layout = hashlib.sha256(Path(tt.__file__).read_bytes() + repr(Position.startpos().key).encode()).hexdigest()
    histories = hashlib.sha256(Path(state.__file__).read_bytes() + Path(correction.__file__).read_bytes()).digest()
    evaluation = hashlib.sha256(repr((network, fv_scale, rules, histories)).encode()).hexdigest()
    return layout[:MOVES_MEANING] + evaluation[:MOVES_MEANING]


def network_digest(network: Network) -> str:
    """64 hexadecimal digits, the same on every CPU."""
    digest = hashlib.sha256(str(network.architecture).encode())
    for array in (network.transformer_bias, network.transformer_weight):
        digest.update(array.data)
    for array in (array for layer in network.layers for array in layer):
        # The memory layout of a layer, and its number of padding zeros, depend on the CPU.
        digest.update(np.sort(array[array != 0]).astype(np.int64).data)
    if network.stacks is not None:
        digest.update(network.stacks.digest)
    return digest.hexdigest()
