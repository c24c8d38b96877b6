"""The fuzz targets: all that they begin with is read."""

from __future__ import annotations

import pytest

from benchmarks.fuzz.__main__ import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_read(name: str) -> None:
    target = TARGETS[name]()
    seeds = list(target.seeds())
    assert seeds
    for seed in seeds:
        target.one(seed)
        target.one(seed[: len(seed) // 2])
