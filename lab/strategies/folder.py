"""The folder of a laboratory: settings, openings, a line for each game. A later run goes on where one ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lab.match.folder import GamesFolder, sources
from lab.strategies.records import GameResult
from lab.strategies.settings import LabError, LabSettings
from worker.files import replace_file


class LabFolder(GamesFolder[GameResult]):
    """A folder with ``lab.json``, ``openings.txt``, ``games.jsonl``, and at the end ``result.json`` and ``elo.svg``."""

    command = "gougi lab"
    refused = LabError

    def __init__(self, path: Path) -> None:
        super().__init__(path, "games.jsonl", GameResult.from_line, lambda record: str(record.game))
        self.settings = path / "lab.json"
        self.result = path / "result.json"
        self.plot = path / "elo.svg"

    def claim(self, settings: LabSettings) -> list[str]:
        """Note the settings in a new folder, or check that those of an old one are the same.

        Returns:
            What the user should know: games of an earlier version of the sources are in the folder.

        Raises:
            LabError: the folder was begun with other settings; the text names them.
            OSError: it cannot be read or written.
        """
        wanted, now = settings.plain(), sources()
        if not self.settings.exists():
            self.keep_facts(self.settings, {"settings": wanted, "sources": now})
            return []
        notices: list[str] = []
        known = self.known_facts(self.settings)
        try:
            before, version = dict(known["settings"]), known.get("sources")
        except (KeyError, TypeError, ValueError) as error:
            raise LabError(f"{self.settings}: not readable: {error!r}") from error
        self.check_settings(before, wanted)
        if version != now:
            notices.append(
                f"{self.path}: the sources are not those it was begun with: games of both are counted together"
            )
        return notices

    def keep_openings(self, openings: list[str]) -> None:
        """Write a longer list. Raises LabError: it does not begin with the openings that games were played from."""
        known = self.known_openings()
        if openings[: len(known)] != known:
            raise LabError(
                f"{self.openings}: the openings that these sources make are others: choose another folder, or no more "
                f"than {2 * len(known)} games"
            )
        super().keep_openings(openings)

    def keep_result(self, facts: dict[str, Any], plot: str) -> None:
        """Write the result and the plot. Raises OSError."""
        self.keep_facts(self.result, facts)
        replace_file(self.plot, plot.encode())
