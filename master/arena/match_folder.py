"""The folder of a match: settings, openings, a line and a record for each game. A later run goes on with it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cluster.lab.folder import sources
from master.arena.contestants import SettingsError
from master.arena.schedule import PlayedGame
from master.arena.settings import FREE, MatchSettings
from master.records.csa import GameRecord
from worker.run_folder import held


class MatchFolder:
    """A folder with ``match.json``, ``openings.txt``, ``games.jsonl``, ``records/`` and ``result.json``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings = path / "match.json"
        self.openings = path / "openings.txt"
        self.games = path / "games.jsonl"
        self.records = path / "records"
        self.result = path / "result.json"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make the folder, and keep it from other processes.

        Raises:
            SettingsError: another process is at work in it, or it cannot be made.
        """
        try:
            self.records.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(f"{self.path} cannot be made: {error.strerror}") from error
        with held(self.path, "gougi match", SettingsError):
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
        now = {"sources": sources()} if ours else {}
        known: dict[str, Any] = {}
        if not self.games.exists():
            if any(self.records.iterdir()):
                raise SettingsError(f"{self.records} holds other records: choose another folder")
            self.openings.unlink(missing_ok=True)
        else:
            known = self._known()
            changed = [
                name for key in wanted if key not in FREE for name in _differences(key, known.get(key), wanted[key])
            ]
            if changed:
                raise SettingsError(
                    f"{self.path} holds a match with other settings ({', '.join(changed)}): "
                    "repeat its settings to go on with it, or choose another folder"
                )
        _write(self.settings, json.dumps(wanted | now, indent=2, ensure_ascii=False) + "\n")
        if ours and known and known.get("sources") != now["sources"]:
            return f"{self.path}: our sources are not those it was begun with: games of both are counted together"
        return ""

    def _known(self) -> dict[str, Any]:
        try:
            return dict(json.loads(self.settings.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise SettingsError(f"{self.settings}: not readable: {error}") from error

    def read(self) -> list[PlayedGame]:
        """The games played.

        A last line without its end, as a crash or a full disk leaves it, is cut off: its game is played again.

        Raises:
            SettingsError: another line is damaged, or a game is there twice.
            OSError: the file cannot be read, or not be mended.
        """
        if not self.games.exists():
            return []
        data = self.games.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            os.truncate(self.games, len(whole))
        games: dict[int, PlayedGame] = {}
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                game = PlayedGame.from_line(line.decode("utf-8"))
                if game.number in games:
                    raise ValueError(f"game {game.number} again")
            except ValueError as error:
                raise SettingsError(f"{self.games}, line {number}: {error}") from error
            games[game.number] = game
        return list(games.values())

    def add(self, game: PlayedGame, record: GameRecord) -> None:
        """Keep a game: its record first, so that a game that counts has one.

        Raises:
            OSError: the disk refuses. The game does not count then, and is played again.
        """
        path = self.records / f"game-{game.number:04d}.csa"
        try:
            _write(path, record.to_csa())
            length = self.games.stat().st_size if self.games.exists() else 0
            try:
                with self.games.open("a", encoding="utf-8") as file:
                    file.write(game.to_line() + "\n")
            except OSError:
                if self.games.exists():
                    os.truncate(self.games, length)
                raise
        except OSError as error:
            raise OSError(f"{self.path}: game {game.number} cannot be kept: {error.strerror or error}") from error

    def keep_result(self, facts: dict[str, Any]) -> None:
        """Write the result. Raises OSError."""
        _write(self.result, json.dumps(facts, indent=2, ensure_ascii=False) + "\n")


def _differences(name: str, known: Any, wanted: Any) -> list[str]:
    """The names of what differs, such as ``players.a.options.Threads``."""
    if name == "players" and isinstance(known, list):
        known, wanted = dict(zip("ab", known, strict=False)), dict(zip("ab", wanted, strict=False))
    if isinstance(known, dict) and isinstance(wanted, dict):
        keys = sorted(known.keys() | wanted.keys())
        return [found for key in keys for found in _differences(f"{name}.{key}", known.get(key), wanted.get(key))]
    return [] if known == wanted else [name]


def _write(path: Path, text: str) -> None:
    """Replace a file as a whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
