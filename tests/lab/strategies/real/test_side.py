"""A player's process, one node without a fleet: what it answers, and what becomes of it when something dies."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from cluster.api import FleetError, SearchRequest
from cluster.coordination.strategies import SINGLE
from cluster.engine_spec import EngineSpec
from lab.strategies.real import side as module
from lab.strategies.real.side import Side, SideLost, SideSpec
from worker.engine import EngineError
from worker.shogi import STARTPOS

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm")]
CORE = min(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Broken(EngineSpec):
    """Cannot be built, in whatever process."""

    def build(self, *_: object) -> None:  # type: ignore[override]
        raise EngineError("no such net: x.bin")


def spec(engine: EngineSpec | None = None) -> SideSpec:
    return SideSpec(SINGLE, 0, engine or EngineSpec(hash_mb=1), (CORE,))


@pytest.fixture
def side() -> Iterator[Side]:
    opened = Side(spec(), threading.Event())
    yield opened
    opened.close()


def test_it_searches_on_its_core_and_ends(side: Side) -> None:
    assert os.sched_getaffinity(side.pid) == {CORE}
    side.new_game()
    found = side.search(SearchRequest(1, STARTPOS, ("7g7f",), 30, 1030))
    assert found.decision is not None
    assert (found.lost, found.starved) == ((), 0)
    assert found.decision.nodes > 0
    assert found.decision.source == "vote"
    side.close()
    with pytest.raises(ProcessLookupError):
        os.kill(side.pid, 0)
    side.close()


def test_a_process_that_dies_is_told(side: Side) -> None:
    os.kill(side.pid, signal.SIGKILL)
    with pytest.raises(SideLost, match=r"the player's process died \(-9\)"):
        side.search(SearchRequest(1, STARTPOS, (), 30, 1030))


def test_a_process_that_hangs_is_ended(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_HANGS_S", 0.5)
    os.kill(side.pid, signal.SIGSTOP)
    with pytest.raises(SideLost, match="has not answered for 2 s"):
        side.search(SearchRequest(1, STARTPOS, (), 30, 1030))


def test_it_ends_with_the_laboratory() -> None:
    ended = threading.Event()
    side = Side(spec(), ended)
    threading.Timer(0.3, ended.set).start()
    began = time.monotonic()
    with pytest.raises(SideLost, match="the laboratory ends"):
        side.search(SearchRequest(1, STARTPOS, (), 20_000, 21_000))
    side.close()
    assert time.monotonic() - began < 15, "a search of 20 s is not waited for"


def test_an_engine_that_cannot_be_made() -> None:
    with pytest.raises(FleetError, match=r"the engine cannot be made: no such net: x\.bin"):
        Side(spec(Broken()), threading.Event())
