"""The log of a command that plays or searches."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from master.commands.common import EndsOn

if TYPE_CHECKING:
    from master.config import Config
    from master.logs.about import About


@contextlib.contextmanager
def logged(settings: Config, warn: Callable[[str], None], tell_line: Callable[[str], None]) -> Iterator[About]:
    """The log of a command that plays or searches; ``warn`` gets what a person is to hear of it at once, ``tell_line``
    in the end where it lies. It gives what is to hear of the games, so that the lines say which one they are about."""
    from master.logs.about import About
    from master.logs.log import LogError, open_log
    from master.ui.texts import say

    log, about = settings.log, About()
    opened = open_log(Path(settings.records.folder), console=warn, about=about, **log.options())
    with EndsOn(LogError), opened as path:
        try:
            yield about
        finally:
            tell_line(say("log: {path}", path=path))
