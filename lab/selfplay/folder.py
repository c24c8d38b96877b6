"""The folder of teacher games: settings, and the files of each shard. The same command makes the missing ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from lab.run_folder import RunFolder
from lab.selfplay.shard import Shard, ShardError, read_shard
from lab.selfplay.teacher import TeacherSettings
from worker.files import replace_file

_SHARD: Final = re.compile(r"shard-(\d{6,})\.games")


class TeachingError(Exception):
    """Teacher games cannot be made or stored; the text names the fault and its place."""


class FolderError(TeachingError):
    """A folder does not fit the order; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class ShardTerms:
    """The conditions under which shards are made. The same for a whole folder."""

    settings: TeacherSettings
    net_digest: str
    """SHA-256 of the network's file."""
    fv_scale: int | None
    code: str
    """The version of the ordering process's sources (`code_version`)."""


@dataclass(frozen=True, slots=True)
class Made:
    """A complete shard."""

    number: int
    data: bytes
    games: int
    positions: int
    cpu_s: float
    """Seconds of processor time for the whole shard."""


class TeacherFolder(RunFolder):
    """A folder with ``selfplay.json`` and ``shard-000000.games``, ``shard-000001.games``, …"""

    command = "gougi selfplay"
    refused = FolderError

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.settings = path / "selfplay.json"

    @contextmanager
    def held(self) -> Iterator[None]:
        """As `RunFolder.held`; also removes leftovers of a process that was killed while it wrote."""
        with super().held():
            for path in self.path.glob(".shard-*.*.*"):
                path.unlink()
            yield

    def claim(self, terms: ShardTerms) -> None:
        """Store the settings of the games in a new folder, or check that an old one has games of the same kind.

        Raises:
            FolderError: it was begun with other settings or another network; the text names them.
            OSError: it cannot be read or written.
        """
        wanted = {"net": terms.net_digest, "fv_scale": terms.fv_scale, **asdict(terms.settings)}
        self.claim_settings(self.settings, wanted)

    def shard_path(self, number: int) -> Path:
        """The file of a shard, whether it exists or not."""
        return self.path / f"shard-{number:06}.games"

    def numbers(self) -> list[int]:
        """The shards whose files exist, in order. Raises OSError."""
        found = (_SHARD.fullmatch(path.name) for path in self.path.iterdir())
        return sorted(int(match[1]) for match in found if match)

    def read(self, number: int) -> Shard:
        """A shard. Raises ShardError: it is damaged, or does not match its file name; OSError."""
        path = self.shard_path(number)
        shard = read_shard(path)
        if shard.header["shard"] != number:
            raise ShardError(f"{path}: it is shard {shard.header['shard']}")
        return shard

    def known(self, terms: ShardTerms, count: int) -> tuple[list[dict[str, Any]], list[str]]:
        """The headers of the existing ones of the first ``count`` shards, and notices for the user.

        A damaged one does not count: it is made again, bit for bit the same if the sources are the same.

        Raises:
            FolderError: a shard was not made with the folder's settings.
            OSError: one cannot be read.
        """
        headers: list[dict[str, Any]] = []
        notices: list[str] = []
        others = 0
        for number in self.numbers():
            if number >= count:
                continue
            try:
                header = self.read(number).header
            except ShardError as error:
                notices.append(f"{error}; it is made again")
                continue
            if (header["net"], header["settings"]) != (terms.net_digest, asdict(terms.settings)):
                raise FolderError(f"{self.shard_path(number)}: made with another network or other settings")
            others += header["code"] != terms.code
            headers.append(header)
        if others:
            notices.append(
                f"{self.path}: {others} shards were made by another version of the sources: this one would make others"
            )
        return headers, notices

    def keep(self, made: Made) -> None:
        """Write a shard; it is completely on disk when this returns. Raises OSError."""
        replace_file(self.shard_path(made.number), made.data, to_disk=True)


def shards_in(path: Path) -> Iterator[Shard]:
    """All shards of a folder, in order, one at a time in memory.

    Raises:
        FolderError: there are none, or one is damaged; the text names it.
        OSError: one cannot be read.
    """
    folder = TeacherFolder(path)
    numbers = folder.numbers()
    if not numbers:
        raise FolderError(f"{path}: no shards of gougi selfplay in it")
    for number in numbers:
        try:
            yield folder.read(number)
        except ShardError as error:
            raise FolderError(str(error)) from error
