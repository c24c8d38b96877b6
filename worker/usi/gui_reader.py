"""The GUI's side of a USI engine: its lines are read, and ``usi`` is answered, before the engine is loaded.

Nothing compiled is imported here. Loading takes half a second at best, and many on a busy or new machine.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from worker.usi.options import Option

_log = logging.getLogger(__name__)


def introduction(name: str, options: Mapping[str, Option]) -> str:
    """The answer to ``usi``, lines and all."""
    lines = [f"id name {name}", "id author the Gougi developers"]
    return "\n".join([*lines, *(option.line(word) for word, option in options.items()), "usiok"])


class GuiReader:
    """Reads the GUI's lines on a thread of its own: answers ``usi``, and hands on all others, in their order.

    Args:
        lines: of the GUI.
        write: writes one line, or several with line ends between them; called from this thread too.
        introduction: what ``usi`` is answered by.
    """

    def __init__(self, lines: Iterable[str], write: Callable[[str], None], introduction: str) -> None:
        self._write = write
        self._introduction = introduction
        self._lock = threading.Lock()
        self._kept: list[str | None] = []
        self._take = self._kept.append
        threading.Thread(target=self._serve, args=(lines,), name="gui-reader", daemon=True).start()

    def forward(self, take: Callable[[str | None], None]) -> None:
        """Hand on the lines, each without its end, at last None: those so far at once, the others as they come, on
        this reader's thread."""
        with self._lock:
            for line in self._kept:
                take(line)
            self._take = take

    def _serve(self, lines: Iterable[str]) -> None:
        try:
            for text in lines:
                line = text.removeprefix("\ufeff")  # a script that an editor of Windows wrote begins so
                if line.strip() == "usi":
                    self._write(self._introduction)
                else:
                    self._hand_on(line.rstrip("\r\n"))
        except (OSError, ValueError) as error:  # a stream is broken or closed
            _log.warning("the GUI cannot be read: %s", error)
        self._hand_on(None)

    def _hand_on(self, line: str | None) -> None:
        with self._lock:
            self._take(line)
