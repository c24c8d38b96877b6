"""The folder of games: openings, and a line for each result. A later run continues from the last result."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec

from lab.match.openings import OpeningError, read_openings, write_openings
from lab.match.results import PlayedGame
from lab.match.settings import FREE, MatchSettings, SettingsError
from lab.run_folder import RunFolder
from master.analysis.strength import network_hash
from master.records.record import GameRecord
from worker.files import append_text, reason, replace_file
from worker.nnue.architecture import NetworkFileError
from worker.nnue.beside import read_beside
from worker.nnue.format import network_path

_SEARCH_VARIABLES: Final = ("GOUGI_WITHOUT", "GOUGI_PARAMETERS")
"""Variables that change the search (`worker.jit.options`)."""


Result = TypeVar("Result")


def to_line(result: Any) -> str:
    """A result, a dataclass, as a line of JSON without its end."""
    return json.dumps(asdict(result), ensure_ascii=False)


def from_line(line: bytes | str, kind: type[Result]) -> Result:
    """Read the output of `to_line`. Raises ValueError: it is not a result of that kind."""
    try:
        return msgspec.json.decode(line, type=kind)
    except msgspec.MsgspecError as error:
        raise ValueError(f"not the line of a game: {error}") from error


class GamesFolder(RunFolder, Generic[Result]):
    """A folder with settings, ``openings.txt``, and a file to which every game, or pair of games, adds its line.

    Args:
        settings: name of the file of the settings.
        results: name of the file of the games.
        kind: type of the results: a dataclass whose str is its name; two of the same name are an error.
    """

    def __init__(self, path: Path, settings: str, results: str, kind: type[Result]) -> None:
        super().__init__(path)
        self.settings = path / settings
        self.openings = path / "openings.txt"
        self.results = path / results
        self._kind = kind

    def comparable(self, facts: dict[str, Any]) -> dict[str, Any]:
        """The settings in a form in which a difference names its subject."""
        return facts

    def begin(self, settings: dict[str, Any], version: str, free: Collection[str] = ()) -> str:
        """Store the settings if no game was played yet; otherwise check that the games were played with them.

        Args:
            version: of the sources.
            free: settings that may differ.

        Returns:
            A notice for the user, or nothing: games of another version of the sources are in the folder.

        Raises:
            refused: the folder was begun with other settings, which the text names, or by another command.
            OSError: it cannot be read or written.
        """
        if not self.results.exists():
            if self.openings.exists() and not self.settings.exists():
                raise self.refused(f"{self.path} belongs to another command: choose another folder")
            self.openings.unlink(missing_ok=True)  # it may belong to another seed
            self.keep_facts(self.settings, {"sources": version, **settings})
            return ""
        known = self.known_facts(self.settings)
        wanted = {key: value for key, value in settings.items() if key not in free}
        self.check_settings(self.comparable(known), self.comparable(wanted))
        if free:
            self.keep_facts(self.settings, {"sources": version, **settings})
        if known.get("sources") == version:
            return ""
        return f"{self.path}: the sources are not those it was begun with: games of both are counted together"

    def known_openings(self) -> list[str]:
        """The SFENs of the openings; none if there is no file yet. Raises ``refused``: the file is damaged."""
        try:
            return read_openings(self.openings) if self.openings.exists() else []
        except OpeningError as error:
            raise self.refused(str(error)) from error

    def keep_openings(self, openings: list[str]) -> None:
        """Write the openings. Raises OSError."""
        write_openings(self.openings, openings)

    def append(self, result: Result) -> None:
        """Add a result: a complete line, or none. Raises OSError that names the file."""
        append_text(self.results, to_line(result) + "\n")

    def read(self, *, mend: bool = True) -> tuple[list[Result], str]:
        """The results, and a notice for the user (or nothing).

        Args:
            mend: cut off a damaged last line, left by a crash: its games are played again. Otherwise it is skipped.

        Raises:
            refused: another line is damaged, or a result occurs twice; the text names it.
            OSError: the file cannot be read, or not be repaired.
        """
        data = self.results.read_bytes() if self.results.exists() else b""
        found: dict[str, Result] = {}
        lines = data.splitlines(keepends=True)
        for number, line in enumerate(lines, start=1):
            try:
                if not line.endswith(b"\n"):
                    raise ValueError("the line has no end")
                result = from_line(line, self._kind)
            except ValueError as error:
                if number < len(lines):
                    raise self.refused(f"{self.results}, line {number}: {reason(error)}") from error
                if mend:
                    os.truncate(self.results, len(data) - len(line))
                notice = f"{self.results}: the last line was damaged and is dropped ({reason(error)})"
                return list(found.values()), notice
            name = str(result)
            if name in found:
                raise self.refused(f"{self.results}, line {number}: {name} again")
            found[name] = result
        return list(found.values()), ""


def sources() -> str:
    """A hash of everything except the networks that decides a game.

    These are the sources of searcher, cluster and laboratory, and the variables that change the search.
    """
    digest = hashlib.sha256()
    for package in ("worker", "cluster", "lab"):
        root = Path(__file__).parents[2] / package
        for path in sorted(root.rglob("*.py")):
            digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    digest.update(repr([os.environ.get(name, "") for name in _SEARCH_VARIABLES]).encode())
    return digest.hexdigest()[:16]


class MatchFolder(GamesFolder[PlayedGame]):
    """A folder with ``match.json``, ``openings.txt``, ``games.jsonl``, ``records/`` and ``result.json``."""

    command = "gougi match"
    refused = SettingsError

    def __init__(self, path: Path) -> None:
        super().__init__(path, "match.json", "games.jsonl", PlayedGame)
        self.records = path / "records"
        self.result = path / "result.json"

    @contextmanager
    def held(self) -> Iterator[None]:
        """As `RunFolder.held`. Raises SettingsError if the folder cannot be made, too."""
        try:
            self.records.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(f"{self.path} cannot be made: {error.strerror}") from error
        with super().held():
            yield

    def comparable(self, facts: dict[str, Any]) -> dict[str, Any]:
        """The settings with the players under ``a`` and ``b``, so that a difference names its player."""
        return {**facts, "players": dict(zip("ab", facts["players"], strict=True))} if "players" in facts else facts

    def claim(self, settings: MatchSettings) -> str:
        """As `begin`; version and networks are those of our own searcher, if it plays.

        Raises:
            SettingsError: the folder holds another match.
            OSError: it cannot be read or written.
        """
        if not self.results.exists() and not self.settings.exists() and any(self.records.iterdir()):
            raise SettingsError(f"{self.records} holds other records: choose another folder")
        ours = any(player.is_ours for player in settings.players)
        return self.begin({**settings.to_json(), "nets": _nets(settings)}, sources() if ours else "", FREE)

    def add(self, game: PlayedGame, record: GameRecord) -> None:
        """Store a game: its record first, so that a game that counts has one.

        Raises:
            OSError: writing to disk failed. The game does not count then, and is played again.
        """
        path = self.records / f"game-{game.number:04d}.csa"
        try:
            replace_file(path, record.to_csa().encode())
            self.append(game)
        except OSError as error:
            raise OSError(f"{self.path}: game {game.number} cannot be kept: {error.strerror or error}") from error


def _nets(settings: MatchSettings) -> list[str]:
    """The network of each side, as `master.analysis.strength.network_hash` returns it, with the FV_SCALE beside it, if
    there is one; empty: it is not our searcher, or has no network, which it will report itself."""
    found = []
    for player in settings.players:
        folder, file = player.options.get("EvalDir", ""), player.options.get("EvalFile", "")
        file = str(Path(player.folder, folder, file)) if folder or file else ""
        try:
            net = network_hash(file) if player.is_ours else ""
            scale = read_beside(network_path(file)).fv_scale if net and file else None
            found.append(f"{net}, FV_SCALE {scale}" if scale and "FV_SCALE" not in player.options else net)
        except (NetworkFileError, OSError):
            found.append("")
    return found
