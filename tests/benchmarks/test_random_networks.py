"""Networks of random weights, of any architecture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.random_networks import random_network
from worker.nnue.features import FEATURE_SETS, FeatureSet
from worker.nnue.format import Architecture, read_network, write_network


@pytest.mark.parametrize("features", FEATURE_SETS.values(), ids=lambda features: features.name)
def test_a_file_of_every_architecture(tmp_path: Path, features: FeatureSet) -> None:
    architecture = Architecture(features, width=128, hidden1=8, hidden2=32)
    write_network(tmp_path / "nn.bin", random_network(architecture))
    network = read_network(tmp_path / "nn.bin")
    assert network.architecture == architecture
    assert np.unique(network.transformer_weight[-1]).size > 10
