"""The engine that several files use."""

from __future__ import annotations

import pytest

from worker.search.engine import NumbaEngine


@pytest.fixture(scope="module")
def engine() -> NumbaEngine:
    return NumbaEngine(hash_mb=16)
