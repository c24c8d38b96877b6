"""The folder of a laboratory: settings, openings, a line for each game. A later run goes on where one ended."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cluster
import worker
from cluster.lab.errors import LabError
from cluster.lab.records import GameRecord
from cluster.lab.schedule import Game
from cluster.lab.settings import LabSettings
from worker.arena.openings import OpeningError, read_openings, write_openings
from worker.files import append_text, replace_file
from worker.run_folder import check_settings, held


class LabFolder:
    """A folder with ``lab.json``, ``openings.txt``, ``games.jsonl``, and at the end ``result.json`` and ``elo.svg``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings = path / "lab.json"
        self.openings = path / "openings.txt"
        self.games = path / "games.jsonl"
        self.result = path / "result.json"
        self.plot = path / "elo.svg"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make the folder, and keep it from other processes.

        Raises:
            LabError: another process is at work in it.
            OSError: it cannot be made.
        """
        with held(self.path, "gougi lab", LabError):
            yield

    def claim(self, settings: LabSettings, machine: dict[str, Any] | None = None) -> list[str]:
        """Note the settings in a new folder, or check that those of an old one are the same.

        Args:
            machine: where games are in real time, what they are played on (`cluster.lab.real.machine.about`).

        Returns:
            What the user should know: games of an earlier version of the sources, or of another machine, are in the
            folder.

        Raises:
            LabError: the folder was begun with other settings, or in the other kind of time; the text names them.
            OSError: it cannot be read or written.
        """
        wanted, now = settings.plain(), sources()
        if not self.settings.exists():
            begun = {"settings": wanted, "sources": now} | ({} if machine is None else {"machine": machine})
            replace_file(self.settings, (json.dumps(begun, indent=2) + "\n").encode())
            return []
        notices: list[str] = []
        try:
            known = json.loads(self.settings.read_text(encoding="utf-8"))
            before, version, place = dict(known["settings"]), known.get("sources"), known.get("machine")
            cpu = None if place is None else str(place["cpu"])
        except (ValueError, KeyError, TypeError) as error:
            raise LabError(f"{self.settings}: not readable: {error!r}") from error
        if ("ms" in before) != ("ms" in wanted):
            theirs, ours = ("in real time", "virtual ones") if "ms" in before else ("virtual", "in real time (--real)")
            raise LabError(f"{self.path}: its games are {theirs}, these would be {ours}: choose another folder")
        check_settings(self.path, before, wanted, LabError)
        if machine is not None and machine["cpu"] != cpu:
            notices.append(
                f"{self.path} was begun on another machine ({cpu}): its games are counted together with ours"
            )
        if version != now:
            notices.append(
                f"{self.path}: the sources are not those it was begun with: games of both are counted together"
            )
        return notices

    def known_openings(self) -> list[str]:
        """The SFENs of the openings; none where there is no file yet. Raises LabError: the file is damaged."""
        try:
            return read_openings(self.openings) if self.openings.exists() else []
        except OpeningError as error:
            raise LabError(str(error)) from error

    def keep_openings(self, openings: list[str]) -> None:
        """Write a longer list. Raises LabError: it does not begin with the openings that games were played from."""
        known = self.known_openings()
        if openings[: len(known)] != known:
            raise LabError(
                f"{self.openings}: the openings that these sources make are others: choose another folder, or no more "
                f"than {2 * len(known)} games"
            )
        write_openings(self.openings, openings)

    def read(self) -> tuple[list[GameRecord], str]:
        """The games played, and what the user should know (or nothing).

        A last line that is damaged, as a crash while it was written leaves it, is cut off: its game is played again.

        Raises:
            LabError: another line is damaged, or a game is there twice.
            OSError: the file cannot be read, or not be mended.
        """
        if not self.games.exists():
            return [], ""
        data = self.games.read_bytes()
        records: list[GameRecord] = []
        seen: set[Game] = set()
        end = 0
        lines = data.splitlines(keepends=True)
        for number, line in enumerate(lines, start=1):
            try:
                if not line.endswith(b"\n"):
                    raise LabError("the line has no end")
                record = GameRecord.from_line(line.decode("utf-8"))
                if record.game in seen:
                    raise LabError("the same game again")
            except (LabError, UnicodeDecodeError) as error:
                if number < len(lines):
                    raise LabError(f"{self.games}, line {number}: {error}") from error
                os.truncate(self.games, end)
                return records, f"{self.games}: the last line was damaged and is dropped ({error})"
            seen.add(record.game)
            records.append(record)
            end += len(line)
        return records, ""

    def append(self, record: GameRecord) -> None:
        """Add a game; it is on its way to the disk when this returns. Raises OSError."""
        append_text(self.games, record.to_line() + "\n")

    def keep_result(self, facts: dict[str, Any], plot: str) -> None:
        """Write the result and the plot. Raises OSError."""
        replace_file(self.result, (json.dumps(facts, indent=2, ensure_ascii=False) + "\n").encode())
        replace_file(self.plot, plot.encode())


def sources() -> str:
    """A hash of the sources that decide a game: the searcher and the cluster."""
    digest = hashlib.sha256()
    for package in (worker, cluster):
        root = Path(package.__path__[0])
        for path in sorted(root.rglob("*.py")):
            digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]
