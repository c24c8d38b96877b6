"""Rich's console, for text from others; `master.ui.terminal` explains why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import rich.console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from master.ui.terminal import clean


class Console(rich.console.Console):
    """A console that sends the terminal no control characters except its own, and treats no text as markup
    (``[red]``)."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "emoji": False, **options})

    def say(self, line: str) -> None:
        """A line of text unchanged, of any length."""
        self.print(line, highlight=False, soft_wrap=True)

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError, an OSError like any other: rich would end the process, in the middle of a game."""
        raise

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            # Nearly all are clean; each part of a screen passes here once for each part that contains it.
            text = segment.text if segment.control else clean(segment.text)
            yield segment if text == segment.text else Segment(text, segment.style)
