"""Searched positions in a file: an interrupted analysis continues, and with ``--reuse`` none searches a position again.

A key names everything on which a search depends (network, effort, fleet), so other settings find nothing, and earlier
results stay beside the new ones. The file is SQLite: each result is safe at once, and several analyses may use it.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from master.analysis.plan import Evaluation
from worker.shogi import Position

_VERSION: Final = 1
_FORM: Final = "evaluation"
"""Part of the keys. Rows that older versions wrote in another form have other keys, and are not found."""
_TABLE: Final = "CREATE TABLE IF NOT EXISTS positions (key BLOB PRIMARY KEY, found BLOB NOT NULL) WITHOUT ROWID"


def shared_path() -> Path:
    """The file of all analyses of this user: ``$XDG_DATA_HOME/gougi/positions.db`` (``~/.local/share``)."""
    home = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(home).expanduser() / "gougi" / "positions.db"


class PositionStore:
    """The file, open for a block.

    Args:
        path: the file; it is made with its folder if it does not exist.
        histories: whether a position with other moves before it is another one. If not, effects of repetition are
            ignored.

    Raises:
        OSError: it cannot be read or written, or is not ours; the text names it.
    """

    def __init__(self, path: Path, histories: bool = True) -> None:
        self.path = path
        self._histories = histories

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._base = sqlite3.connect(self.path, timeout=30, isolation_level=None)
            (version,) = self._base.execute("PRAGMA user_version").fetchone()
            if version not in (0, _VERSION):
                raise OSError(f"{self.path}: of another version of Gougi ({version}, not {_VERSION})")
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute(_TABLE)
            self._base.execute(f"PRAGMA user_version = {_VERSION}")
        except sqlite3.Error as error:
            raise self._failed(error) from error
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self._base.close()

    def get(self, settings: str, start_sfen: str, moves: tuple[str, ...]) -> Evaluation | None:
        """The evaluation of the position after ``moves``; None: unknown or damaged."""
        try:
            key = self._key(settings, start_sfen, moves)
            found = self._base.execute("SELECT found FROM positions WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            raise self._failed(error) from error
        try:
            return None if found is None else msgspec.json.decode(found[0], type=Evaluation)
        except (msgspec.MsgspecError, RecursionError):
            return None

    def add(self, settings: str, start_sfen: str, moves: tuple[str, ...], found: Evaluation) -> None:
        """Store it."""
        row = (self._key(settings, start_sfen, moves), msgspec.json.encode(found))
        try:
            self._base.execute("INSERT OR REPLACE INTO positions VALUES (?, ?)", row)
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def _failed(self, error: sqlite3.Error) -> OSError:
        return OSError(f"{self.path}: {error}")

    def _key(self, settings: str, start_sfen: str, moves: tuple[str, ...]) -> bytes:
        if self._histories:
            return _hash(_FORM, settings, start_sfen, *moves)
        position = Position.from_sfen(start_sfen)
        for move in moves:
            position.push_usi(move)
        return _hash(_FORM, settings, *position.sfen().split()[:3])


def _hash(*parts: str) -> bytes:
    return hashlib.sha256("\n".join(parts).encode()).digest()[:16]
