"""``usi`` is answered before the engine is there, and no other line is lost or out of order."""

from __future__ import annotations

import queue
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.master.command import ROOT
from worker.usi.gui_reader import GuiReader


class Gui:
    """A GUI's end of the line."""

    def __init__(self) -> None:
        self.lines: queue.Queue[str | BaseException | None] = queue.Queue()
        self.heard: queue.Queue[str] = queue.Queue()
        self.forwarded: queue.Queue[str | None] = queue.Queue()
        """The lines that come through the reader."""
        self.reader = GuiReader(self._lines(), self.heard.put, "id name x\nusiok")

    def _lines(self) -> Iterator[str]:
        while (line := self.lines.get()) is not None:
            if isinstance(line, BaseException):
                raise line
            yield line + "\n"

    def send(self, *lines: str | BaseException | None) -> None:
        for line in lines:
            self.lines.put(line)

    def comes(self) -> list[str | None]:
        """The lines that come through the reader, to the end."""
        lines: list[str | None] = []
        while not lines or lines[-1] is not None:
            lines.append(self.forwarded.get(timeout=20))
        return lines


def test_usi_is_answered_though_nobody_serves() -> None:
    gui = Gui()
    gui.send("\ufeffsetoption name A value b", " usi ", "isready", "\ufeffusi")
    assert [gui.heard.get(timeout=20) for _ in range(2)] == ["id name x\nusiok"] * 2
    gui.reader.forward(gui.forwarded.put)
    gui.send("usinewgame", " quit", None)
    assert gui.comes() == ["setoption name A value b", "isready", "usinewgame", " quit", None]


def test_a_line_comes_as_soon_as_it_is_read() -> None:
    gui = Gui()
    gui.reader.forward(gui.forwarded.put)
    for line in ("isready", "quit"):
        gui.send(line)
        assert gui.forwarded.get(timeout=20) == line


@pytest.mark.parametrize("error", [OSError("gone"), ValueError("closed")])
def test_unreadable_input_is_the_end(error: Exception) -> None:
    gui = Gui()
    gui.send("isready", error)
    gui.reader.forward(gui.forwarded.put)
    assert gui.comes() == ["isready", None]


def test_nothing_compiled_is_loaded_for_the_answer_to_usi() -> None:
    script = (
        "import sys, worker.usi.gui_reader, worker.usi.options, master.usi.options;"
        "print(*({'numba', 'llvmlite', 'numpy', 'ray'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == ""
