"""Settings and fixtures of all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# A test's outcome must not depend on how busy the machine is. In CI the same cases come each time, so that a change is
# judged by itself; new ones are looked for at every other run, and by `benchmarks.fuzz`.
settings.register_profile("gougi", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("gougi")


# Files that take a minute or more begin first: with several files at a time, no long one is left over for the end.
LONG = (
    "master/cloud/test_end_to_end.py",
    "lab/tuning/test_ray_tasks.py",
    "master/cloud/test_machines.py",
    "worker/nnue/test_paths.py",
    "master/test_cli.py",
    "master/test_full_disk.py",
    "worker/test_portable.py",
    "cluster/drivers/test_fleet_driver.py",
    "master/practice/test_embedded.py",
    "master/commands/test_train_command.py",
    "cluster/drivers/test_ray_hosts.py",
    "master/commands/test_learn_command.py",
    "master/test_lab_real.py",
    "worker/mate/test_solver.py",
    "master/commands/test_tune_command.py",
    "worker/clock/test_games.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Bring the tests of long files to the front; the order within a file stays."""
    places = {Path(__file__).parent / name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path, len(LONG)))


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
