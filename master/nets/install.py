"""The user's folder of networks: ``nets/NAME/nn.bin`` in Gougi's data folder (XDG)."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from master.nets.archive import MAGIC, MAX_NET_BYTES, Member, is_archive, nets_in, unpack
from worker.files import replacing

NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
"""The name of a network, which is that of its folder."""
_CHUNK: Final = 1 << 20

Choice = Callable[[list[Member]], Member]
"""Chooses one of the networks of an archive."""


class InstallError(Exception):
    """A file without a network, with another one than expected, or with an unreadable one."""


@dataclass(frozen=True)
class Installed:
    """An installed network.

    Attributes:
        architecture: from its file; None: this version of Gougi cannot read it, for the reason ``fault``.
        fv_scale: from its file, if it names one.
    """

    path: Path
    bytes: int
    sha256: str
    architecture: str | None = None
    fv_scale: int | None = None
    fault: str | None = None


def nets_folder() -> Path:
    """The user's folder of networks."""
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(data).expanduser() / "gougi" / "nets"


def net_path(name: str) -> Path:
    """The file of a network."""
    return nets_folder() / name / "nn.bin"


def sha256_of(path: Path) -> str:
    """The hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_file(path: Path, *, size: int | None, sha256: str | None) -> None:
    """Raise InstallError if a file does not have the given size and hash."""
    found = path.stat().st_size
    if size is not None and found != size:
        raise InstallError(f"it has {found:,} bytes, expected {size:,}")
    if sha256 is not None and (hashed := sha256_of(path)) != sha256:
        raise InstallError(f"its SHA-256 is {hashed}, expected {sha256}")


def net_facts(path: Path) -> Installed:
    """The facts of a network file."""
    from worker.nnue.architecture import NetworkFileError
    from worker.nnue.network import architecture_of

    facts = Installed(path, path.stat().st_size, sha256_of(path))
    try:
        found = architecture_of(path)
    except NetworkFileError as error:
        return Installed(path, facts.bytes, facts.sha256, fault=str(error).removeprefix(f"{path}: "))
    return Installed(path, facts.bytes, facts.sha256, found.name, found.fv_scale)


def install(
    file: Path,
    name: str,
    choose: Choice,
    *,
    size: int | None = None,
    sha256: str | None = None,
    whole: bool = False,
) -> Installed:
    """Install the network of a file, or of an archive, into the user's folder: completely or not at all.

    A network that this version of Gougi cannot read is accepted only if its hash or that of its file was right;
    otherwise a complete file could not be distinguished from a truncated one.

    Args:
        size: size of the network, in bytes.
        sha256: hash of the network.
        whole: the file had the expected hash.

    Raises:
        InstallError: there is no network in it, or not the expected one, or it cannot be read.
        ArchiveError: the archive cannot be read.
        OSError: the file cannot be read, or writing to disk failed; it names the file.
    """
    target = net_path(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    for left in target.parent.glob(".nn.bin.*"):  # left by a killed process
        left.unlink(missing_ok=True)
    try:
        with replacing(target, to_disk=True) as out:
            for chunk in _net_bytes(file, choose):
                out.write(chunk)
            out.flush()
            written = Path(out.name)
            check_file(written, size=size, sha256=sha256)
            found = net_facts(written)
            if found.fault is not None and sha256 is None and not whole:
                raise InstallError(found.fault)
    except BaseException:
        with contextlib.suppress(OSError):  # not empty: it still holds an earlier net
            target.parent.rmdir()
        raise
    return Installed(target, found.bytes, found.sha256, found.architecture, found.fv_scale, found.fault)


def _net_bytes(file: Path, choose: Choice) -> Iterator[bytes]:
    if is_archive(file):
        nets = nets_in(file)
        if not nets:
            raise InstallError("no network in the archive")
        yield from unpack(file, choose(nets))
        return
    with file.open("rb") as source:
        head = source.read(len(MAGIC))
        if head != MAGIC:
            raise InstallError("neither a network file nor a zip or 7z archive")
        if file.stat().st_size > MAX_NET_BYTES:
            raise InstallError("larger than any network")
        yield head
        while chunk := source.read(_CHUNK):
            yield chunk
