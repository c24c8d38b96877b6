"""Networks in an archive (zip, 7z): a list of them, and the bytes of one.

Nothing is unpacked under a name from the archive: a member is read as a stream of bytes, and links, devices and folders
are skipped. So a path in an archive has no effect.
"""

from __future__ import annotations

import contextlib
import errno
import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Final, cast

MAGIC: Final = (0x7AF32F16).to_bytes(4, "little")
"""The first bytes of a network file."""
MAX_NET_BYTES: Final = 4 << 30
"""A larger network is taken for an archive bomb; the largest known has 0.4 GB."""
_MAX_ALL_BYTES: Final = 16 << 30
_MAX_MEMBERS: Final = 10_000
_CHUNK: Final = 1 << 16

_BROKEN: Final = (
    zipfile.BadZipFile, lzma.LZMAError, zlib.error, struct.error, EOFError, LookupError, MemoryError, OverflowError,
    RuntimeError, ValueError,
)  # fmt: skip
"""Errors of a damaged archive. A zip may be compressed with LZMA."""
_NO_LIBRARY: Final = (
    "to unpack a 7z archive Gougi needs the library libarchive, which is not installed (on Debian: apt install "
    "libarchive13); or unpack it yourself and give the file"
)


class ArchiveError(Exception):
    """An archive that is damaged, too large when unpacked, or of a kind that cannot be read here."""


class LibraryMissingError(ArchiveError):
    """A 7z archive, and libarchive is not installed."""


@dataclass(frozen=True)
class Member:
    """A file in an archive: its path there, and its size in bytes."""

    name: str
    size: int


_Entry = tuple[Member, Callable[[], Iterator[bytes]]]


def is_archive(path: Path) -> bool:
    """Whether a file is an archive that `nets_in` reads."""
    return _reader(path) is not None


def nets_in(path: Path) -> list[Member]:
    """The networks in an archive, by their first bytes.

    Raises:
        ArchiveError: it cannot be read.
        OSError: the file cannot be read.
    """
    return [member for member, chunks in _walk(path) if next(chunks(), b"").startswith(MAGIC)]


def unpack(path: Path, wanted: Member) -> Iterator[bytes]:
    """The bytes of a network in an archive.

    Raises:
        ArchiveError: it cannot be read, or the member is not as long as it says.
        OSError: the file cannot be read.
    """
    for member, chunks in _walk(path):
        if member != wanted:
            continue
        left = member.size
        for chunk in chunks():
            left -= len(chunk)
            if left < 0:
                break
            yield chunk
        if left:
            raise ArchiveError(
                f"{path.name}: damaged archive: {member.name} is not {member.size:,} bytes long, as the archive says"
            )
        return
    raise ArchiveError(f"{path.name}: {wanted.name} is no longer in it")


def _walk(path: Path) -> Iterator[_Entry]:
    """The regular files of an archive, within the limits. The bytes of one can be read until the next is requested."""
    reader = _reader(path)
    if reader is None:
        raise ArchiveError(f"{path.name}: not a zip or 7z archive")
    total = 0
    with _faults(path):
        for number, (member, chunks) in enumerate(reader(path)):
            total += member.size
            if number == _MAX_MEMBERS:
                raise ArchiveError(f"{path.name}: more than {_MAX_MEMBERS:,} files in it")
            if member.size > MAX_NET_BYTES or total > _MAX_ALL_BYTES:
                raise ArchiveError(f"{path.name}: unpacked it is larger than any network: an archive bomb?")
            yield member, partial(_guarded, path, chunks)


def _guarded(path: Path, chunks: Callable[[], Iterator[bytes]]) -> Iterator[bytes]:
    with _faults(path):
        yield from chunks()


@contextlib.contextmanager
def _faults(path: Path) -> Iterator[None]:
    try:
        yield
    except (*_BROKEN, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise  # a disk error; EINVAL comes from a seek to a wrong offset in the archive, no number from bz2
        raise ArchiveError(f"{path.name}: damaged archive, or of an unknown kind: {error}") from error


def _reader(path: Path) -> Callable[[Path], Iterator[_Entry]] | None:
    with path.open("rb") as file:
        head = file.read(6)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip
    if head.startswith(b"7z\xbc\xaf\x27\x1c"):
        return _seven_zip
    return None


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _zip(path: Path) -> Iterator[_Entry]:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            if not info.is_dir() and kind in (0, stat.S_IFREG):
                yield Member(info.filename, info.file_size), partial(_zip_pieces, archive, info)


def _zip_pieces(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    yield from _pieces(archive.open(info))


def _seven_zip(path: Path) -> Iterator[_Entry]:
    library = _libarchive()
    try:
        with library.file_reader(str(path), "7zip", "none") as archive:
            for entry in archive:
                if entry.isfile and not entry.linkpath:
                    yield Member(entry.pathname or "", entry.size or 0), partial(_seven_zip_pieces, library, entry)
    except library.ArchiveError as error:
        raise EOFError(str(error)) from error


def _seven_zip_pieces(library: ModuleType, entry: Any) -> Iterator[bytes]:
    try:
        yield from entry.get_blocks(_CHUNK)
    except library.ArchiveError as error:
        raise EOFError(str(error)) from error


def _libarchive() -> ModuleType:
    """The binding, which loads the system's library on import."""
    try:
        import libarchive
    except (ImportError, OSError, AttributeError, TypeError) as error:
        raise LibraryMissingError(_NO_LIBRARY) from error
    return cast(ModuleType, libarchive)
