"""The GUI's side of a USI engine: reads its lines, and answers ``usi``, before the engine is loaded.

Nothing compiled is imported here. Loading takes at least half a second, and many seconds on a busy or new machine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from worker.usi.options import Option


def introduction(name: str, options: Mapping[str, Option]) -> str:
    """The answer to ``usi``, as lines of text."""
    lines = [f"id name {name}", "id author the Gougi developers"]
    return "\n".join([*lines, *(option.line(word) for word, option in options.items()), "usiok"])


class GuiReader:
    """Reads the GUI's lines on its own thread: answers ``usi``, and passes on all others, in order.

    Args:
        lines: the GUI's lines.
        write: writes one line, or several with line ends between them; called from this thread too.
        introduction: the answer to ``usi``.
    """

    def __init__(self, lines: Iterable[str], write: Callable[[str], None], introduction: str) -> None:
        self._write = write
        self._introduction = introduction
        self._lock = threading.Lock()
        self._kept: list[str | None] = []
        self._take = self._kept.append
        threading.Thread(target=self._serve, args=(lines,), name="gui-reader", daemon=True).start()

    def forward(self, take: Callable[[str | None], None]) -> None:
        """Pass on the lines without their ends, and None at the end: earlier lines at once, later ones as they arrive,
        on this reader's thread.
        """
        with self._lock:
            for line in self._kept:
                take(line)
            self._take = take

    def _serve(self, lines: Iterable[str]) -> None:
        try:
            for text in lines:
                line = text.removeprefix("\ufeff")  # Windows editors write a byte order mark
                if line.strip() == "usi":
                    self._write(self._introduction)
                else:
                    self._hand_on(line.rstrip("\r\n"))
        except (OSError, ValueError) as error:  # the stream is broken or closed
            import logging

            logging.getLogger(__name__).warning("the GUI cannot be read: %s", error)
        self._hand_on(None)

    def _hand_on(self, line: str | None) -> None:
        with self._lock:
            self._take(line)
