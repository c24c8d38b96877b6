"""The single engine's session, its threads and its engine."""

from __future__ import annotations

import queue
import threading
import time

import pytest

from worker.clock.gui_clock import Turn
from worker.search.engine import NumbaEngine
from worker.usi.gui_reader import GuiReader
from worker.usi.loop import UsiLoop
from worker.warm import warm_up


@pytest.fixture(autouse=True, scope="module")
def warm() -> None:
    """Everything compiled: no test waits for a compiler here."""
    warm_up()


class Session:
    """A loop whose GUI's lines are given to `send`."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.is_deaf = False
        self._lines: queue.Queue[str | None] = queue.Queue()
        self.code: int | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self.code = UsiLoop(self._hear).run(GuiReader(iter(self._lines.get, None), self._hear, ""))

    def _hear(self, line: str) -> None:
        if self.is_deaf:
            raise BrokenPipeError
        self.said.append(line)

    def send(self, *lines: str | None) -> None:
        for line in lines:
            self._lines.put(line)

    def until(self, word: str) -> None:
        """Wait for a line that begins with this."""
        deadline = time.monotonic() + 60
        while not any(line.startswith(word) for line in self.said):
            assert time.monotonic() < deadline, self.said
            time.sleep(0.01)

    def end(self) -> list[str]:
        """Wait for its end; returns its output."""
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self.said


def test_it_is_ready_when_its_table_is_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, clear = threading.Event(), threading.Event()

    def new_game(_engine: NumbaEngine) -> None:
        begun.set()
        assert clear.wait(60)

    session = Session()
    session.send("setoption name USI_Hash value 1", "isready")
    session.until("readyok")
    monkeypatch.setattr(NumbaEngine, "new_game", new_game)
    session.send("usinewgame")
    assert begun.wait(60)
    session.send("isready")
    time.sleep(0.3)
    assert session.said.count("readyok") == 1
    clear.set()
    session.send("quit")
    assert session.end().count("readyok") == 2


def test_a_search_that_need_not_go_on_ends_when_that_begins_to_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Turn, "goes_on", lambda *_: False)
    monkeypatch.setattr(Turn, "free_until_ms", lambda _turn, now_ms: now_ms + 100)
    session = Session()
    session.send("setoption name USI_Hash value 1", "isready", "position startpos", "go btime 7200000 wtime 7200000")
    session.until("bestmove")  # its hard limit is minutes away
    session.send("quit")
    session.end()


@pytest.mark.parametrize(("go", "answer"), [("go infinite", "bestmove"), ("go mate infinite", "checkmate")])
@pytest.mark.parametrize("end", ["quit", None])
def test_requests_before_the_end_are_answered(go: str, answer: str, end: str | None) -> None:
    session = Session()
    session.send("setoption name USI_Hash value 1", "isready", "position sfen 8k/9/8P/9/9/9/9/9/9 b G 1", go, end)
    answers = [line.split()[0] for line in session.end() if line.startswith(("readyok", "checkmate", "bestmove"))]
    assert answers == ["readyok", answer]
    assert session.code == 0


def test_a_gui_that_is_gone_ends_it() -> None:
    session = Session()
    session.is_deaf = True
    session.send("setoption name USI_Hash value 1", "isready")
    session.end()
    assert session.code == 0
