"""A GUI's end of the line, and on a thread of its own the engine with which it talks."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from worker.usi.gui_reader import GuiReader, introduction
from worker.usi.loop import UsiLoop
from worker.usi.options import OPTIONS

Write = Callable[[str], None]


def single(write: Write) -> Callable[[GuiReader], int]:
    """The single engine."""
    return UsiLoop(write).run


class Gui:
    """A GUI.

    Args:
        engine: makes an engine that writes its lines as told; the result runs it and returns its exit code.
    """

    def __init__(self, engine: Callable[[Write], Callable[[GuiReader], int]] = single) -> None:
        self._in: queue.Queue[str | None] = queue.Queue()
        self._out: queue.Queue[str] = queue.Queue()
        self.deaf = False
        self.code: int | None = None
        self._thread = threading.Thread(target=self._run, args=(engine(self._hear),), daemon=True)
        self._thread.start()

    def _run(self, run: Callable[[GuiReader], int]) -> None:
        self.code = run(GuiReader(iter(self._in.get, None), self._hear, introduction("Gougi test", OPTIONS)))

    def _hear(self, lines: str) -> None:
        if self.deaf:
            raise BrokenPipeError
        for line in lines.splitlines():
            self._out.put(line)

    def send(self, *lines: str | None) -> None:
        """Send lines; None is the end of the input."""
        for line in lines:
            self._in.put(line)

    def until(self, word: str) -> list[str]:
        """The lines up to the first that begins with ``word``."""
        seen = []
        while True:
            seen.append(self._out.get(timeout=60))
            if seen[-1].startswith(word):
                return seen

    def silent(self, seconds: float) -> bool:
        """Whether neither ``bestmove`` nor ``readyok`` comes within ``seconds``."""
        try:
            while True:
                if self._out.get(timeout=seconds).startswith(("bestmove", "readyok")):
                    return False
        except queue.Empty:
            return True

    def end(self) -> list[str]:
        """Wait for the engine's end; returns the lines that were not read."""
        self._thread.join(60)
        assert not self._thread.is_alive()
        return [self._out.get() for _ in range(self._out.qsize())]

    def quit(self) -> int | None:
        """End the input; returns the exit code."""
        self.send(None)
        self.end()
        return self.code


def best(lines: list[str]) -> str:
    return lines[-1].split()[1]
