"""The single engine's session, its threads and its engine."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest

from tests.usi_gui import Gui
from worker.clock.gui_clock import Turn
from worker.search.engine import NumbaEngine
from worker.usi import loop
from worker.warm import warm_up


@pytest.fixture(autouse=True, scope="module")
def warm() -> None:
    """Everything compiled: no test waits for a compiler here."""
    warm_up()


def test_the_former_engine_is_gone_before_the_next_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables of both may not fit into memory."""
    made: list[weakref.ref[NumbaEngine]] = []
    alive: list[int] = []

    class Counted(NumbaEngine):
        def __init__(self, *plan: Any) -> None:
            gc.collect()
            alive.append(sum(one() is not None for one in made))
            super().__init__(*plan)
            made.append(weakref.ref(self))

    monkeypatch.setattr(loop, "NumbaEngine", Counted)
    gui = Gui()
    gui.send("isready", "position startpos", "go nodes 100")
    gui.until("bestmove")
    gui.send("setoption name USI_Hash value 2", "isready", "usinewgame", "position startpos", "go nodes 100")
    gui.until("bestmove")
    gui.send("quit")
    gui.end()
    assert alive == [0, 0]


def test_it_is_ready_when_its_table_is_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, clear = threading.Event(), threading.Event()

    def new_game(_engine: NumbaEngine) -> None:
        begun.set()
        assert clear.wait(60)

    gui = Gui()
    gui.send("setoption name USI_Hash value 1", "isready")
    gui.until("readyok")
    monkeypatch.setattr(NumbaEngine, "new_game", new_game)
    gui.send("usinewgame")
    assert begun.wait(60)
    gui.send("isready")
    assert gui.silent(0.3)
    clear.set()
    gui.send("quit")
    assert gui.end().count("readyok") == 1


def test_a_search_that_need_not_go_on_ends_when_that_begins_to_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Turn, "goes_on", lambda *_: False)
    monkeypatch.setattr(Turn, "free_until_ms", lambda _turn, now_ms: now_ms + 100)
    gui = Gui()
    gui.send("setoption name USI_Hash value 1", "isready", "position startpos", "go btime 7200000 wtime 7200000")
    gui.until("bestmove")  # its hard limit is minutes away
    gui.send("quit")
    gui.end()


@pytest.mark.parametrize(("go", "answer"), [("go infinite", "bestmove"), ("go mate infinite", "checkmate")])
@pytest.mark.parametrize("end", ["quit", None])
def test_requests_before_the_end_are_answered(go: str, answer: str, end: str | None) -> None:
    gui = Gui()
    gui.send("setoption name USI_Hash value 1", "isready", "position sfen 8k/9/8P/9/9/9/9/9/9 b G 1", go, end)
    answers = [line.split()[0] for line in gui.end() if line.startswith(("readyok", "checkmate", "bestmove"))]
    assert answers == ["readyok", answer]
    assert gui.code == 0


def test_a_gui_that_is_gone_ends_it() -> None:
    gui = Gui()
    gui.deaf = True
    gui.send("setoption name USI_Hash value 1", "isready")
    gui.end()
    assert gui.code == 0
