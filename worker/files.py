"""Plain error messages for files, atomic replacement of a file, and the cache folder."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

_REASONS: Final = {
    errno.ENOENT: "no such file",
    errno.EACCES: "no permission",
    errno.EPERM: "no permission",
    errno.EISDIR: "a folder, not a file",
    errno.ENOTDIR: "a file, but a folder was expected",
    errno.EEXIST: "a file stands there",
    errno.EROFS: "the disk is read-only",
    errno.ENOSPC: "no space left on the disk",
    errno.EDQUOT: "no space left on the disk: the quota is used up",
}
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_SQLITE_FULL: Final = 13


def cache_folder() -> Path:
    """The user's folder for files that Gougi can make or fetch again: ``GOUGI_CACHE_DIR``, or ``gougi`` in the
    system's."""
    named, system = os.environ.get("GOUGI_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME")
    return Path(named) if named else (Path(system) if system else Path(os.path.expanduser("~")) / ".cache") / "gougi"


def reason(error: Exception) -> str:
    """The reason why a file cannot be read or written, without its name: ``no such file``."""
    if isinstance(error, UnicodeDecodeError):
        return f"not a text file: byte {error.start} is not UTF-8"
    if not isinstance(error, OSError):
        return str(error)
    # If the error names no file and the disk is not full, its own text says more.
    known = _REASONS.get(error.errno or 0) if error.filename is not None or error.errno in _FULL else None
    return known or error.strerror or str(error)


def described(error: Exception) -> str:
    """As `reason`, with the file's name if the error has it: ``nn.bin: no such file``."""
    name = getattr(error, "filename", None)
    return f"{name}: {reason(error)}" if name else reason(error)


def disk_is_full(error: BaseException | None) -> bool:
    """Whether a full disk or a quota caused an exception, directly or through one that it was raised from."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _FULL:
            return True
        if getattr(error, "sqlite_errorcode", None) == _SQLITE_FULL:
            return True
        error = error.__cause__
    return False


def append_text(path: Path, text: str) -> None:
    """Append text to a file, which is created if missing: all of it, or none. Raises OSError that names ``path``."""
    length = None
    try:
        with path.open("ab") as file:
            length = file.tell()
            file.write(text.encode())
    except OSError as error:
        if length is not None:
            os.truncate(path, length)
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def replacing(path: Path, *, to_disk: bool = False, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """A file to write, which replaces ``path`` at the end of the block, so that a reader sees the old content or the
    new, never a part. If the block raises, the file is unchanged.

    Args:
        to_disk: wait until it is on the disk; otherwise a power failure may leave an empty file under the new name.
        mode: the permission bits of the file.

    Raises:
        OSError: it cannot be written; it names ``path``.
    """
    import tempfile  # slow to import, and not needed for an engine's start

    temporary = None
    try:
        with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = file.name
            yield file
            if to_disk:
                file.flush()
                os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
        temporary = None
    except OSError as error:
        if error.filename not in (None, temporary) and temporary is not None:
            raise  # of another file, which the block reads
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def replace_file(path: Path, content: bytes, *, to_disk: bool = False, mode: int = 0o644) -> None:
    """Write a whole file by `replacing`. Raises OSError that names ``path``."""
    with replacing(path, to_disk=to_disk, mode=mode) as file:
        file.write(content)
