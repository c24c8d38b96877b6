"""Openings for the games of a command: made before they begin, read, or those that travel with the package."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from lab.match.openings import DEFAULT_MARGIN_CP, DEFAULT_PLIES, NATURAL, natural_openings, read_openings
from master.commands.common import compile_searcher, interruptible

if TYPE_CHECKING:
    from worker.engine import Engine


def named_openings(option: Path | None) -> str | None:
    """The value of ``--openings`` as settings keep it: `NATURAL`, or a whole path; None: none was given."""
    return None if option is None else NATURAL if str(option) == NATURAL else str(option.resolve())


def openings_of(name: str, seed: int) -> list[str]:
    """The openings of a name that `named_openings` gave; natural ones in the seed's order. Raises OpeningError."""
    return natural_openings(seed) if name == NATURAL else read_openings(Path(name))


def made_openings(
    count: int,
    seed: int,
    engine: Callable[[], Engine],
    plies: int = DEFAULT_PLIES,
    margin_cp: int = DEFAULT_MARGIN_CP,
    best: int = 0,
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
            return make_openings(count, seed, engine(), plies, margin_cp, bar.show, best)

    return interruptible(make)
