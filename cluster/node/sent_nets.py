"""Networks that the master sends to machines which lack them: one copy for each machine, for all its nodes.

The copy is a folder in the user's cache folder, named by a hash of its files. It appears there complete and checked, or
not at all. A process that fetches a network locks its name, so the machine's other nodes wait and find it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from worker.files import cache_folder, described
from worker.locks import lock
from worker.trust import only_ours

CHUNK_BYTES: Final = 8 << 20
"""The most bytes that are read, sent or written at a time."""
_LEFT: Final = 2
"""Number of networks that are kept, however long they have been unused."""
_UNUSED_S: Final = 30 * 86_400
_PART: Final = ".part-"
"""Prefix of a copy that is being fetched, or was when its process died."""
_PART_OLD_S: Final = 86_400


class NetNotKept(Exception):
    """A network cannot be kept on this machine; the text names the file and says why."""


@dataclass(frozen=True, slots=True)
class NetFile:
    """A file of a network."""

    name: str
    size: int
    """Bytes."""
    sha256: str
    """Of its content, hexadecimal."""


@dataclass(frozen=True, slots=True)
class SentNet:
    """A network as the master has it."""

    path: str
    """The network's file on the master's machine."""
    files: tuple[NetFile, ...]
    """That file, and those beside it that change how it is loaded."""
    absent: tuple[str, ...] = ()
    """Names of files that would do so too, but that the master does not have."""

    @classmethod
    def at(cls, path: str) -> SentNet:
        """Read the network at that path, a file or folder. Raises OSError."""
        from worker.nnue.beside import paths_beside  # loads the compiler, which a machine's supervisors do not need
        from worker.nnue.format import network_path

        net = network_path(path)
        beside = {one: one.is_file() for one in paths_beside(net)}
        files = [net, *(one for one, there in beside.items() if there)]
        absent = tuple(one.name for one, there in beside.items() if not there)
        return cls(str(net), tuple(NetFile(one.name, one.stat().st_size, _sha256(one)) for one in files), absent)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def key(self) -> str:
        """The name of a copy: a hash of the files' names and contents."""
        return hashlib.sha256(repr([(file.name, file.sha256) for file in self.files]).encode()).hexdigest()[:32]

    def part(self, number: int) -> bytes:
        """The chunk with that number of all files in a row; a file's last chunk may be short. Raises OSError."""
        for file in self.files:
            chunks = -(-file.size // CHUNK_BYTES)
            if number < chunks:
                with Path(self.path).with_name(file.name).open("rb") as stream:
                    stream.seek(number * CHUNK_BYTES)
                    return stream.read(CHUNK_BYTES)
            number -= chunks
        raise IndexError(f"{self.path} has no such chunk")

    @property
    def parts(self) -> int:
        """The number of chunks."""
        return sum(-(-file.size // CHUNK_BYTES) for file in self.files)


def copies_folder() -> Path:
    """The folder of this machine's copies; it may not exist yet."""
    return cache_folder() / "sent-nets"


def found_net(net: SentNet) -> Path | None:
    """The network's file on this machine: at the master's path with the same content, or its copy; None: it has
    none."""
    same = Path(net.path)
    with contextlib.suppress(OSError):
        if _has(same.parent, net) and all(_sha256(same.with_name(file.name)) == file.sha256 for file in net.files):
            return same
    copy = copies_folder() / net.key
    with contextlib.suppress(OSError):
        if _has(copy, net):
            os.utime(copy)
            return copy / net.files[0].name
    return None


def _has(folder: Path, net: SentNet) -> bool:
    """Whether it has files of these names and sizes, and no other that matters. Raises OSError if one is missing."""
    same = all((folder / file.name).stat().st_size == file.size for file in net.files)
    return same and not any((folder / name).exists() for name in net.absent)


def keep_net(net: SentNet, chunks: Iterable[bytes]) -> Path:
    """Make this machine's copy from the chunks of all files in a row, unless another process just made it. Returns the
    network's file.

    Raises:
        NetNotKept: its SHA-256 is another one, the disk is full, or the folder cannot be used.
    """
    folder = copies_folder()
    try:
        only_ours(folder)
        with (folder / f"{net.key}.lock").open("w") as file:
            lock(file)
            found = found_net(net)
            if found is None:
                found = _fetch(net, iter(chunks), folder)
                _prune(folder, net.key)
            return found
    except OSError as error:
        raise NetNotKept(f"{Path(net.path).name} ({net.size >> 20} MB): {described(error)}") from error


def _fetch(net: SentNet, chunks: Iterator[bytes], folder: Path) -> Path:
    part = Path(tempfile.mkdtemp(prefix=_PART, dir=folder))
    try:
        for file in net.files:
            if Path(file.name).name != file.name:
                raise NetNotKept(f"{file.name!r} is no name for a file")
            with (part / file.name).open("wb") as stream:
                _write(file, stream, chunks)
        os.rename(part, folder / net.key)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder)) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder / net.key / net.files[0].name


def _write(file: NetFile, stream: IO[bytes], chunks: Iterator[bytes]) -> None:
    if file.size:
        os.posix_fallocate(stream.fileno(), 0, file.size)  # a full disk is known before 400 MB have come
    digest, left = hashlib.sha256(), file.size
    while left > 0:
        chunk = next(chunks, b"")
        if not 0 < len(chunk) <= left:
            raise NetNotKept(f"{file.name}: a part of {len(chunk)} bytes came, with {left} bytes missing")
        stream.write(chunk)
        digest.update(chunk)
        left -= len(chunk)
    if digest.hexdigest() != file.sha256:
        raise NetNotKept(f"{file.name}: its SHA-256 is {digest.hexdigest()}, expected {file.sha256}")
    stream.flush()
    os.fsync(stream.fileno())  # found_net looks at the size alone


def _prune(folder: Path, current: str) -> None:
    """Remove copies that no node asked for in a month, except the last few, and files that dead processes left."""
    now_s, found = time.time(), [path for path in folder.iterdir() if path.is_dir()]
    parts = [path for path in found if path.name.startswith(_PART)]
    copies = sorted(set(found) - set(parts) - {folder / current}, key=lambda path: path.stat().st_mtime)
    for paths, limit_s in ((parts, _PART_OLD_S), (copies[: -_LEFT or None], _UNUSED_S)):
        for path in paths:
            if now_s - path.stat().st_mtime > limit_s:
                shutil.rmtree(path, ignore_errors=True)
                path.with_name(f"{path.name}.lock").unlink(missing_ok=True)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
