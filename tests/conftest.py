"""Settings and fixtures of all tests."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvloop
from hypothesis import settings

# A test's outcome must not depend on how busy the machine is. In CI the same cases come each time, so that a change is
# judged by itself. Every other run looks for new ones, and `benchmarks.fuzz` does so by the thousand.
settings.register_profile("gougi", deadline=None, derandomize="CI" in os.environ, max_examples=40)
settings.load_profile("gougi")


LONG = (
    "lab/match/test_match_command.py",
    "lab/training/test_network.py",
    "master/test_cli.py",
    "master/test_full_disk.py",
    "worker/clock/test_games.py",
    "worker/mate/test_solver.py",
    "worker/nnue/test_exact.py",
)
"""Files that take half a minute although hardly any of their tests are slow."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Bring the files with slow tests to the front, the longest of them first: with several files at a time, no long
    one is left over for the end. The order within a file stays."""
    longest = {Path(__file__).parent / name: 1.0 for name in LONG}
    for item in items:
        if item.get_closest_marker("slow"):
            limit = item.get_closest_marker("timeout")
            longest[item.path] = max(longest.get(item.path, 2.0), limit.args[0] if limit else 2.0)
    items.sort(key=lambda item: -longest.get(item.path, 0.0))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine on a new loop of the kind that `gougi play` has. It gets less time than
    pytest-timeout allows: uvloop does not let that one's signal end the test (the test would hang)."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    limit = pyfuncitem.get_closest_marker("timeout")
    seconds = float(limit.args[0] if limit else pyfuncitem.config.getini("timeout"))
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    uvloop.run(asyncio.wait_for(pyfuncitem.obj(**arguments), 0.8 * seconds))
    return True


@pytest.fixture(scope="module", autouse=True)
def own_environment() -> Iterator[None]:
    """Each file gets the environment with which the suite began. Ray's driver, opened in this process, leaves its own
    variables there (a token's file, time limits), and the next file's Ray would take them."""
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys() - {"PYTEST_CURRENT_TEST"}:
        del os.environ[name]
    os.environ.update({name: value for name, value in before.items() if name != "PYTEST_CURRENT_TEST"})


@pytest.fixture(scope="session")
def warm() -> None:
    """Everything compiled, so that a test's own processes and times are not those of a compiler."""
    from cluster.coordination.root import prepare_rules
    from worker.warm import warm_up

    warm_up()
    prepare_rules()
