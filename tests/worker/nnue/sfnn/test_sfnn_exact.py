"""The compiled evaluation of the SFNN family equals the numpy reference bit for bit, and that YaneuraOu's.

A part of it runs once more in the portable build: `tests.worker.test_portable`.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.random_networks import random_network, random_sfnn
from tests.worker.nnue.playouts import GAMES, compare, expected
from worker.nnue.architecture import named
from worker.nnue.format import NetworkFile
from worker.nnue.sfnn.architecture import INPUTS, parse_sfnn_name
from worker.nnue.sfnn.file import SfnnFile
from worker.shogi import Position

VALUES = Path(__file__).parents[3] / "fixtures" / "yaneuraou_values.txt"
"""Positions and YaneuraOu's raw values of them, for networks of `benchmarks.random_networks`; a line
``# NAME SEED SHA256`` before those of each network. Made on 2026-11-27 and 28 with YaneuraOu at 33ccf1f9, built outside
of this repository."""

NAMES = (
    "SFNN_ka2_1024_7_64_k3k3",
    "SFNN_kp_1536_15_32_k3k3",
    "SFNN_kp_64_8_32",
    "SFNN_kp_192_31_40_k9k9",
    "SFNN_ka2_128_40_96_hand4_k9k9z",
    "SFNN_kp_64_7_8_k13k13z",
    "SFNN_kp_64_8_8_hand16_k21k21",
    "SFNN_ka2_64_8_8_k29k29",
    "SFNN_kp_128_16_32_hand64_progress2",
    "SFNN_kp_64_8_8_hand64z_k3k3_progress3",
    "SFNN_kp_64_8_8_hand256",
    "SFNN_kp_64_7_8_hand1024",
    "SFNN_ka2_256_15_64_progress8kpabs",
    "SFNN_ka2_768_15_64_c256_s64x8_k3k3_progress32",
)


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_stacks_and_layers(name: str) -> None:
    number = NAMES.index(name)
    assert compare(random_sfnn(parse_sfnn_name(name)), games=GAMES[number::45], walks=2, seed=number) >= 250


@pytest.mark.parametrize("key", INPUTS)
def test_every_kind_of_features(key: str) -> None:
    network = random_sfnn(parse_sfnn_name(f"SFNN_{key}_64_7_8_k3k3"), seed=3)
    assert compare(network, games=GAMES[20:21], walks=2) >= 100


def test_extreme_weights() -> None:
    """Accumulators and sums that wrap around, layers of the largest weights: nothing saturates on the way."""
    rng = np.random.default_rng(5)
    for name in ("SFNN_ka2_256_15_32_k3k3", "SFNN_kp_256_8_64_hand4_progress2"):
        plain = random_sfnn(parse_sfnn_name(name))
        network = replace(
            plain,
            transformer_weight=rng.integers(-(1 << 15), 1 << 15, plain.transformer_weight.shape, np.int16),
            biases=tuple(rng.integers(-(1 << 31), 1 << 31, bias.shape).astype(np.int32) for bias in plain.biases),
            weights=tuple(rng.choice(np.array([-128, -1, 0, 127], np.int8), one.shape) for one in plain.weights),
        )
        assert compare(network, games=GAMES[:1], walks=2) >= 100


def test_few_products() -> None:
    """The first layer skips inputs that are 0: even if one side has many more active ones, or none."""
    network = random_sfnn(parse_sfnn_name("SFNN_kp_1024_15_32_k3k3"))
    for lower in (60, 150, 5000):
        bias = (network.transformer_bias - lower).astype(np.int16)
        assert compare(replace(network, transformer_bias=bias), games=GAMES[:1], walks=1) >= 100


def test_without_such_a_network_nothing_of_it_is_compiled() -> None:
    """Nor imports the file with the kernels' caller."""
    script = (
        "import sys; from worker.nnue import NnueState, default_network; NnueState(default_network());"
        "assert not {'worker.nnue.sfnn.kernel', 'worker.nnue.attacked'} & set(sys.modules);"
        "from worker.nnue.sfnn import vector, portable;"
        "assert not vector.forward.overloads and not portable.forward.overloads"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


# ---- YaneuraOu


def _digest(network: SfnnFile | NetworkFile) -> str:
    return hashlib.sha256(np.ascontiguousarray(network.transformer_weight[-1]).data).hexdigest()[:16]


def _values() -> dict[str, list[str]]:
    by_network: dict[str, list[str]] = {}
    for line in VALUES.read_text("ascii").splitlines():
        if line.startswith("# "):
            lines = by_network.setdefault(line[2:], [])
        else:
            lines.append(line)
    return by_network


@pytest.mark.parametrize(
    "heading",
    [
        pytest.param(heading, id=heading.split()[0], marks=[pytest.mark.slow] if "half" in heading else [])
        for heading in _values()
    ],
)
def test_yaneuraou_gives_the_same_values(heading: str) -> None:
    name, seed, digest = heading.split()
    classic = named(name)
    network = random_network(classic, int(seed)) if classic else random_sfnn(parse_sfnn_name(name), int(seed))
    assert _digest(network) == digest, "numpy gives another network for this seed"
    for line in _values()[heading]:
        value, sfen = line.split(" ", 1)
        assert expected(network, Position.from_sfen(sfen)) == int(value), sfen
