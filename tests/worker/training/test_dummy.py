"""Networks of random weights, of any architecture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from worker.nnue.features import FEATURE_SETS, FeatureSet
from worker.nnue.format import Architecture, read_network
from worker.training import dummy


@pytest.mark.parametrize("features", FEATURE_SETS.values(), ids=lambda features: features.name)
def test_the_command_writes_what_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, features: FeatureSet
) -> None:
    path = tmp_path / "nn.bin"
    architecture = Architecture(features, width=128, hidden1=8, hidden2=32)
    monkeypatch.setattr("sys.argv", ["dummy", "--output", str(path), "--architecture", str(architecture)])
    dummy.main()
    network = read_network(path)
    assert network.architecture == architecture
    assert np.unique(network.transformer_weight[-1]).size > 10
