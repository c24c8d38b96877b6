"""Lines about something that goes on although they fail: a full disk behind the screen ends no game."""

from __future__ import annotations

from collections.abc import Callable

import structlog


class SteadyWriter:
    """Writes lines about something that must go on, even where writing fails; any thread.

    Args:
        write: gets each line; an OSError of it is logged once, and raised in the end by `settle`.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._trouble: OSError | None = None

    def __call__(self, line: str) -> None:
        self.attempt(lambda: self._write(line))

    def attempt(self, step: Callable[[], None]) -> None:
        """Take a step whose OSError is one of the lines'."""
        try:
            step()
        except OSError as error:
            if self._trouble is None:
                self._trouble = error
                structlog.get_logger("output").error("output_lost", error=str(error))

    def settle(self) -> None:
        """Raise the first OSError that there was."""
        if self._trouble is not None:
            raise self._trouble
