"""Fixtures that several of the fleet's tests need."""

from __future__ import annotations

import pytest

from worker.warm import warm_up


@pytest.fixture(scope="session")
def warm() -> None:
    """Everything compiled, so that a test's own processes and times are not those of a compiler."""
    warm_up()
