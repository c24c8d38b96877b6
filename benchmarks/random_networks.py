"""Networks of random weights: for tests, and for measuring speed.

    python -m benchmarks.random_networks NAME FILE [--seed N]      # halfkp_512x2-8-64, SFNN_halfka2_1024_7_64_k3k3

A trained network is a little faster: fewer of its neurons are active, and the first layer skips the others.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from worker.nnue.architecture import Architecture, named
from worker.nnue.attack_network import SHAPES, AttackNetwork
from worker.nnue.features import HALF_KP, PIECE_NUMBERS, FeatureSet
from worker.nnue.format import NetworkFile, serialise_network
from worker.nnue.sfnn.architecture import SfnnArchitecture, is_sfnn_name, parse_sfnn_name
from worker.nnue.sfnn.file import Progress, SfnnFile, serialise_sfnn
from worker.shogi.pieces import SQUARES

HALF_KP_256: Final = Architecture(HALF_KP, width=256, hidden1=32, hidden2=32)
_ROWS: Final = 256


def _fill(
    weight: npt.NDArray[np.int16], features: FeatureSet, values: npt.NDArray[np.int16], draw: Callable[..., Any]
) -> None:
    """Draw a transformer's weights from ``values`` by random bytes, some rows at a time: HalfKP has 32 million weights
    and more. Rows of further classes of attacks are those of the first, each for another piece."""
    size = features.class_rows if features.attack_classes > 1 else len(weight)
    for start in range(0, size, _ROWS):
        rows = weight[start : min(start + _ROWS, size)]
        np.take(values, draw(rows.shape, np.uint8), out=rows, mode="clip")
    for start in range(size, len(weight), size):
        weight[start : start + size] = np.roll(weight[:size], 997 * start // size, axis=0)


def random_network(architecture: Architecture, seed: int = 0) -> NetworkFile:
    """A network whose activations spread over their range, as a trained one's do. The same for the same arguments."""
    generator = np.random.default_rng(seed)
    transformer_weight = np.empty((architecture.features.dimensions, architecture.width), np.int16)
    values = np.rint(generator.normal(0, 12, 256)).astype(np.int16)
    _fill(transformer_weight, architecture.features, values, partial(generator.integers, 0, 256))
    transformer_bias = np.rint(generator.normal(30, 20, architecture.width)).astype(np.int16)
    biases, weights = [], []
    for outputs, inputs in architecture.layers:
        biases.append(np.rint(generator.normal(2000, 2000, outputs)).astype(np.int32))
        weight = generator.normal(0, 200 / np.sqrt(inputs), (outputs, inputs))
        weights.append(np.rint(weight).clip(-128, 127).astype(np.int8))
    return NetworkFile(architecture, transformer_bias, transformer_weight, tuple(biases), tuple(weights))


def random_attack_network(seed: int = 0) -> AttackNetwork:
    """An attack network, in the same way."""
    generator = np.random.default_rng(seed)
    biases = [np.rint(generator.normal(2000, 2000, outputs)).astype(np.int32) for outputs, _ in SHAPES]
    weights = [np.rint(generator.normal(0, 200 / np.sqrt(shape[1]), shape)) for shape in SHAPES]
    return AttackNetwork(tuple(biases), tuple(one.clip(-128, 127).astype(np.int8) for one in weights))


def random_sfnn(architecture: SfnnArchitecture, seed: int = 0) -> SfnnFile:
    """The same for the SFNN family. No two stacks are alike.

    numpy guarantees the output of this old generator forever: other programs' values for these networks are kept in
    ``tests/fixtures``.
    """
    generator = np.random.RandomState(seed)
    values = np.rint(generator.normal(0, 12, 256)).astype(np.int16)
    transformer_weight = np.empty((architecture.inputs.rows, architecture.width), np.int16)
    _fill(transformer_weight, architecture.features, values, partial(generator.randint, 0, 256))
    transformer_bias = np.rint(generator.normal(30, 20, architecture.width)).astype(np.int16)
    stacks, biases, weights = architecture.stacks, [], []
    for (outputs, inputs), strength in zip(architecture.layers, (300, 300, 100), strict=True):
        biases.append(np.rint(generator.normal(0, 1500, (stacks.count, outputs))).astype(np.int32))
        table = np.rint(generator.normal(0, strength / np.sqrt(inputs), 256)).clip(-128, 127).astype(np.int8)
        weights.append(table[generator.randint(0, 256, (stacks.count, outputs, inputs), np.uint8)])
    progress = None
    if stacks.progress > 1:
        bias = 0 if stacks.outside else int(generator.randint(-30_000, 30_000))
        progress = Progress(bias, np.rint(generator.normal(0, 12_000, (SQUARES, PIECE_NUMBERS))).astype(np.int32))
    return SfnnFile(architecture, transformer_bias, transformer_weight, tuple(biases), tuple(weights), progress)


def main() -> None:
    """Write a network to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="short name of the architecture")
    parser.add_argument("file", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if is_sfnn_name(options.name):
        data = serialise_sfnn(random_sfnn(parse_sfnn_name(options.name), options.seed))
    elif (architecture := named(options.name)) is not None:
        data = serialise_network(random_network(architecture, options.seed))
    else:
        parser.error(f"{options.name!r} is not known, expected such as halfkp_256x2-32-32")
    options.file.write_bytes(data)


if __name__ == "__main__":
    main()
