"""What holds for every test."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# A test's outcome must not depend on how busy the machine is. In CI the same cases come each time, so that a change is
# judged by itself; new ones are looked for at every other run, and by `benchmarks.fuzz`.
settings.register_profile("gougi", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("gougi")


@pytest.fixture(scope="module", autouse=True)
def own_environment() -> Iterator[None]:
    """Each file finds the environment as the suite began with: Ray's driver, opened in this process, leaves its own
    variables there (a token's file, time limits), and the next file's Ray would take them.
    """
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys() - {"PYTEST_CURRENT_TEST"}:
        del os.environ[name]
    os.environ.update({name: value for name, value in before.items() if name != "PYTEST_CURRENT_TEST"})
