"""The folder of games: openings, and a line for each result. A later run goes on where one ended."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

import cluster
import lab
import worker
from lab.match.openings import OpeningError, read_openings, write_openings
from lab.run_folder import RunFolder
from worker.files import append_text, reason

_SEARCH_VARIABLES: Final = ("GOUGI_WITHOUT", "GOUGI_PARAMETERS")
"""Variables that change the search (`worker.jit.options`)."""


class HasLine(Protocol):
    """A result that can be kept."""

    def to_line(self) -> str:
        """One line of JSON, without its end."""
        ...


Result = TypeVar("Result", bound=HasLine)


class GamesFolder(RunFolder, Generic[Result]):
    """A folder with ``openings.txt``, and a file to which every game, or pair of games, adds its line when it is over.

    Args:
        results: the file's name.
        parse: reads a line; raises ValueError, or the folder's own error.
        words: names a result, for people; two of one name are an error.
    """

    def __init__(
        self, path: Path, results: str, parse: Callable[[str], Result], words: Callable[[Result], str]
    ) -> None:
        super().__init__(path)
        self.openings = path / "openings.txt"
        self.results = path / results
        self._parse = parse
        self._words = words

    def known_openings(self) -> list[str]:
        """The SFENs of the openings; none where there is no file yet. Raises ``refused``: the file is damaged."""
        try:
            return read_openings(self.openings) if self.openings.exists() else []
        except OpeningError as error:
            raise self.refused(str(error)) from error

    def keep_openings(self, openings: list[str]) -> None:
        """Write the openings. Raises OSError."""
        write_openings(self.openings, openings)

    def append(self, result: Result) -> None:
        """Add a result: a whole line, or none. Raises OSError that names the file."""
        append_text(self.results, result.to_line() + "\n")

    def read(self, *, mend: bool = True) -> tuple[list[Result], str]:
        """The results, and what the user should know (or nothing).

        Args:
            mend: cut off a last line that is damaged, as a crash leaves it: its games are played again. Else it is
                passed over.

        Raises:
            refused: another line is damaged, or a result is there twice; the text names it.
            OSError: the file cannot be read, or not be mended.
        """
        data = self.results.read_bytes() if self.results.exists() else b""
        found: dict[str, Result] = {}
        lines = data.splitlines(keepends=True)
        for number, line in enumerate(lines, start=1):
            try:
                if not line.endswith(b"\n"):
                    raise ValueError("the line has no end")
                result = self._parse(line.decode("utf-8"))
            except (ValueError, self.refused) as error:
                if number < len(lines):
                    raise self.refused(f"{self.results}, line {number}: {reason(error)}") from error
                if mend:
                    os.truncate(self.results, len(data) - len(line))
                notice = f"{self.results}: the last line was damaged and is dropped ({reason(error)})"
                return list(found.values()), notice
            name = self._words(result)
            if name in found:
                raise self.refused(f"{self.results}, line {number}: {name} again")
            found[name] = result
        return list(found.values()), ""


def sources() -> str:
    """A hash of all that decides a game beside the networks.

    These are the sources of searcher, cluster and laboratory, the table of mode ``auto``, and the variables that change
    the search.
    """
    digest = hashlib.sha256()
    for package in (worker, cluster, lab):
        root = Path(package.__path__[0])
        for path in sorted((*root.rglob("*.py"), *root.glob("measured.json"))):
            digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    digest.update(repr([os.environ.get(name, "") for name in _SEARCH_VARIABLES]).encode())
    return digest.hexdigest()[:16]
