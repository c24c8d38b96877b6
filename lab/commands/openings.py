"""Openings for the games of a command, made before they begin."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lab.match.openings import DEFAULT_MARGIN_CP, DEFAULT_PLIES
from master.commands.common import compile_searcher, interruptible

if TYPE_CHECKING:
    from worker.engine import Engine


def made_openings(
    count: int,
    seed: int,
    engine: Callable[[], Engine],
    plies: int = DEFAULT_PLIES,
    margin_cp: int = DEFAULT_MARGIN_CP,
) -> list[str]:
    """`lab.match.openings.make_openings`, with its progress on stderr.

    Args:
        engine: makes the engine that judges them, once the searcher is compiled.

    Raises:
        OpeningError: as there.
    """
    from lab.match.openings import make_openings
    from master.ui.progress import Bars

    compile_searcher()

    def make() -> list[str]:
        with Bars("openings", stays=False) as bars:
            bars.tell(f"making {count} openings")
            bar = bars.bar("making openings", count)
            bar.begin()
            return make_openings(count, seed, engine(), plies, margin_cp, bar.show)

    return interruptible(make)
