"""A GUI that talks to the single engine in this process."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator

from worker.usi.gui_reader import GuiReader, introduction
from worker.usi.loop import UsiLoop
from worker.usi.options import OPTIONS


class Gui:
    """A GUI's end of the line."""

    def __init__(self) -> None:
        self._in: queue.Queue[str | None] = queue.Queue()
        self._out: queue.Queue[str] = queue.Queue()
        self.error = ""
        """The reason why it ended by itself."""
        self._thread = threading.Thread(target=self._run, args=(UsiLoop(self._out.put),), daemon=True)
        self._thread.start()

    def _run(self, loop: UsiLoop) -> None:
        gui = GuiReader(self._lines(), self._say, introduction("Gougi test", OPTIONS))
        loop.run(gui)
        self.error = loop.error

    def _say(self, lines: str) -> None:
        for line in lines.splitlines():
            self._out.put(line)

    def _lines(self) -> Iterator[str]:
        while (line := self._in.get()) is not None:
            yield line

    def send(self, *lines: str) -> None:
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

    def quit(self) -> None:
        self._in.put(None)
        self._thread.join(30)
        assert not self._thread.is_alive()


def best(lines: list[str]) -> str:
    return lines[-1].split()[1]


BAD_NUMBERS = [
    ("go btime abc wtime abc", "btime needs a whole number"),
    ("go btime 1e3 byoyomi 100", "btime needs a whole number"),
    ("go btime", "btime needs a whole number"),
    ("go btime wtime 1000", "btime needs a whole number"),
    ("go movetime ²", "movetime needs a whole number"),
    ("go depth deep", "depth needs a whole number"),
    ("go nodes -", "nodes needs a whole number"),
    ("go sideways depth 1", "unknown: sideways"),
]
