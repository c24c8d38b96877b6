"""The folder of games: openings, and a line for each result. A later run goes on where one ended."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

import cluster
import lab
import worker
from lab.match.contestants import SettingsError
from lab.match.openings import OpeningError, read_openings, write_openings
from lab.match.results import PlayedGame
from lab.match.settings import FREE, MatchSettings
from lab.run_folder import RunFolder
from master.analysis.strength import network_hash
from master.records.record import GameRecord
from worker.files import append_text, reason, replace_file
from worker.usi.options import NETWORK_NAME

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


class MatchFolder(GamesFolder[PlayedGame]):
    """A folder with ``match.json``, ``openings.txt``, ``games.jsonl``, ``records/`` and ``result.json``."""

    command = "gougi match"
    refused = SettingsError

    def __init__(self, path: Path) -> None:
        super().__init__(path, "games.jsonl", PlayedGame.from_line, lambda game: f"game {game.number}")
        self.settings = path / "match.json"
        self.records = path / "records"
        self.result = path / "result.json"

    @contextmanager
    def held(self) -> Iterator[None]:
        """As `RunFolder.held`. Raises SettingsError where the folder cannot be made, too."""
        try:
            self.records.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(f"{self.path} cannot be made: {error.strerror}") from error
        with super().held():
            yield

    def claim(self, settings: MatchSettings) -> str:
        """Note the settings, where no game was played yet; else check that they are those that games were played with.

        Returns:
            What the user should know, or nothing: our own searcher plays, and its sources are not those of the games
            that are there.

        Raises:
            SettingsError: the folder holds another match.
            OSError: it cannot be read or written.
        """
        wanted = settings.to_json()
        ours = any(player.is_ours for player in settings.players)
        now = {"sources": sources(), "nets": _nets(settings)} if ours else {}
        known: dict[str, Any] = {}
        if not self.results.exists():
            if any(self.records.iterdir()) and not self.settings.exists():
                raise SettingsError(f"{self.records} holds other records: choose another folder")
            self.openings.unlink(missing_ok=True)
        else:
            known = self.known_facts(self.settings)
            self.check_settings(_by_side(known), _by_side({key: wanted[key] for key in wanted if key not in FREE}))
            if known.get("nets") and ours:  # begun by a version that notes them
                self.check_settings({"nets": known["nets"]}, {"nets": now["nets"]})
        self.keep_facts(self.settings, wanted | now)
        if ours and known and known.get("sources") != now["sources"]:
            return f"{self.path}: our sources are not those it was begun with: games of both are counted together"
        return ""

    def add(self, game: PlayedGame, record: GameRecord) -> None:
        """Keep a game: its record first, so that a game that counts has one.

        Raises:
            OSError: the disk refuses. The game does not count then, and is played again.
        """
        path = self.records / f"game-{game.number:04d}.csa"
        try:
            replace_file(path, record.to_csa().encode())
            self.append(game)
        except OSError as error:
            raise OSError(f"{self.path}: game {game.number} cannot be kept: {error.strerror or error}") from error

    def keep_result(self, facts: dict[str, Any]) -> None:
        """Write the result. Raises OSError."""
        self.keep_facts(self.result, facts)


def _nets(settings: MatchSettings) -> list[str]:
    """The network of each side, as `master.analysis.strength.network_hash` has it; empty: it is no searcher of ours, or
    has no network, as it will say itself."""
    found = []
    for player in settings.players:
        folder, file = player.options.get("EvalDir", ""), player.options.get("EvalFile", "")
        file = str(Path(player.folder, folder, file or NETWORK_NAME)) if folder or file else ""
        try:
            found.append(network_hash(file) if player.is_ours else "")
        except OSError:
            found.append("")
    return found


def _by_side(facts: dict[str, Any]) -> dict[str, Any]:
    """The settings with the players under ``a`` and ``b``, so that a difference says whose it is."""
    players = facts.get("players")
    return {**facts, "players": dict(zip("ab", players, strict=False)) if isinstance(players, list) else players}
