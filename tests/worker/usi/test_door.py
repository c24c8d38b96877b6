"""The door: ``usi`` is answered before the engine is there, and nothing else is lost or turned around."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from tests.master.command import ROOT
from worker.usi.door import Door


class Gui:
    """A GUI's end of the line."""

    def __init__(self) -> None:
        self.lines: queue.Queue[str | BaseException | None] = queue.Queue()
        self.heard: queue.Queue[str] = queue.Queue()
        self.door = Door(self._lines(), self.heard.put, "id name x\nusiok")

    def _lines(self) -> Iterator[str]:
        while (line := self.lines.get()) is not None:
            if isinstance(line, BaseException):
                raise line
            yield line + "\n"

    def send(self, *lines: str | BaseException | None) -> None:
        for line in lines:
            self.lines.put(line)


def test_usi_is_answered_though_nobody_serves() -> None:
    gui = Gui()
    gui.send("setoption name A value b", " usi ", "isready", "usi")
    assert [gui.heard.get(timeout=20) for _ in range(2)] == ["id name x\nusiok"] * 2
    gui.send("usinewgame", None)
    assert [line.strip() for line in gui.door] == ["setoption name A value b", "isready", "usinewgame"]


@pytest.mark.parametrize("early", [True, False])
def test_quit_is_known_at_once_and_handed_on_in_its_turn(early: bool) -> None:
    gui, known = Gui(), threading.Event()
    if early:
        gui.door.on_quit(known.set)
    gui.send("isready", "quit", None)
    if not early:
        assert list(gui.door) == ["isready\n", "quit\n"]
        gui.door.on_quit(known.set)
    assert known.wait(20)
    if early:
        assert list(gui.door) == ["isready\n", "quit\n"]


def test_what_reading_raised_is_raised() -> None:
    gui = Gui()
    gui.send("isready", OSError("gone"), None)
    served = iter(gui.door)
    assert next(served) == "isready\n"
    with pytest.raises(OSError, match="gone"):
        next(served)


@pytest.mark.parametrize("module", ["worker.usi.door", "worker.usi.options", "master.usi.options"])
def test_nothing_compiled_is_loaded_for_the_answer_to_usi(module: str) -> None:
    script = f"import sys, {module}; print(*({{'numba', 'llvmlite', 'numpy', 'ray'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == ""
