"""The GUI's side of a USI engine: its lines are read, and ``usi`` is answered, before the engine is loaded.

Nothing compiled is imported here. Loading takes half a second at best, and many on a busy or new machine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from worker.usi.options import Option


def introduction(name: str, options: Mapping[str, Option]) -> str:
    """The answer to ``usi``, lines and all."""
    lines = [f"id name {name}", "id author the Gougi developers"]
    return "\n".join([*lines, *(option.line(word) for word, option in options.items()), "usiok"])


class Door:
    """Reads the GUI's lines on a thread of its own: answers ``usi``, and hands on all others, in their order.

    Iterate over it, once, for those; it raises what the reading raised.

    Args:
        lines: of the GUI.
        write: writes one line, or several with line ends between them; called from this thread too.
        introduction: what ``usi`` is answered by.
    """

    def __init__(self, lines: Iterable[str], write: Callable[[str], None], introduction: str) -> None:
        self._write = write
        self._introduction = introduction
        self._read: SimpleQueue[str | BaseException | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._quits = False
        self._on_quit: Callable[[], None] | None = None
        threading.Thread(target=self._serve, args=(lines,), name="gui-door", daemon=True).start()

    def __iter__(self) -> Iterator[str]:
        while (line := self._read.get()) is not None:
            if isinstance(line, BaseException):
                raise line
            yield line

    def on_quit(self, call: Callable[[], None]) -> None:
        """Have ``call`` made as soon as ``quit`` is read, whatever is still before it; at once where it was already."""
        with self._lock:
            self._on_quit = call
            if self._quits:
                call()

    def _serve(self, lines: Iterable[str]) -> None:
        try:
            for line in lines:
                word = line.strip()
                if word == "usi":
                    self._write(self._introduction)
                    continue
                if word == "quit":
                    self._quit()
                self._read.put(line)
        except BaseException as error:
            self._read.put(error)
        self._read.put(None)

    def _quit(self) -> None:
        with self._lock:
            self._quits = True
            if self._on_quit is not None:
                self._on_quit()
