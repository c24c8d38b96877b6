"""The folder of a match: settings, openings, a line and a record for each game. A later run goes on with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab.match.contestants import SettingsError
from lab.match.folder import GamesFolder, sources
from lab.match.schedule import PlayedGame
from lab.match.settings import FREE, MatchSettings
from master.analysis.strength import network_hash
from master.records.record import GameRecord
from worker.files import replace_file
from worker.usi.options import NETWORK_NAME


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
