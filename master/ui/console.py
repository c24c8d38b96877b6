"""Rich's console, for text that others wrote: `master.ui.terminal` says why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Any

import rich.console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from master.ui.terminal import clean, raw


class Console(rich.console.Console):
    """A console that sends the terminal no control characters but its own, and takes no text for markup (``[red]``)."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "emoji": False, **options})

    def say(self, line: str) -> None:
        """A line of text as it is, however long."""
        self.print(line, highlight=False, soft_wrap=True)

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError, an OSError as any other: rich would end the process, in the middle of a game."""
        raise

    @property
    def file(self) -> IO[str]:
        """The stream itself, past what cleans the text that is printed."""
        return raw(super().file)  # type: ignore[arg-type]

    @file.setter
    def file(self, new: IO[str]) -> None:
        self._file = new

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            # Nearly all are clean; each part of a screen comes by here once for each that it is a part of.
            text = segment.text if segment.control else clean(segment.text)
            yield segment if text == segment.text else Segment(text, segment.style)
