"""Compiled code in one file, a pack: another machine that unpacks it does not have to compile.

A pack is a ZIP file with the content of one folder of compiled code (`worker.jit.cache`) and ``pack.json``: the
folder's name, the facts from which it is made, and a SHA-256 of each file. The name is a hash of the sources, the
versions of numba, llvmlite, numpy and Python, the system and the CPU level. So a pack for anything else is refused.

numba unpickles what it loads: a pack is a program. Take it only from a source from which you would take Gougi.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np

from worker.files import reason, replacing
from worker.jit import cache_dir
from worker.jit.cache import source_digest
from worker.jit.cpu import TARGET
from worker.locks import lock

SUFFIX: Final = ".pack"
SHIPPED: Final = Path(__file__).parent / "compiled"
"""The folder of packs within an installed Gougi, if its wheel has any; each is named for its folder of code."""
_INDEX: Final = "pack.json"
_OURS: Final = __name__.rpartition(".")[0]
_MARK: Final = "complete"
_CODE: Final = re.compile(rf"(?:[\w-]+/)?{re.escape(_OURS)}\.[\w.]+/[\w.<>-]+\.nb[ic]|{_MARK}")
"""The names of files in a pack: functions by module, and the mark."""
_LARGEST: Final = 1 << 28
"""Bytes of all files of a pack together; ours have about 25 MB."""


class PackError(Exception):
    """A pack cannot be made or used; the text names the file and the reason."""


def facts() -> dict[str, str]:
    """The facts that decide which compiled code this Gougi can use, in words."""
    return {
        "name of the packages": _OURS,
        "sources": source_digest()[:16],
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "numpy": np.__version__,
        "Python": str(sys.implementation.cache_tag),
        "system": llvm.get_process_triple(),
        "CPU": TARGET if len(TARGET) < 40 else hashlib.sha256(TARGET.encode()).hexdigest()[:16],
    }


def pack(file: Path) -> str:
    """Write the compiled code of this Gougi as a pack.

    Returns:
        The SHA-256 of the file, hexadecimal.

    Raises:
        PackError: the searcher is not compiled.
        OSError: the file cannot be written, or the code not be read.
    """
    folder = cache_dir()
    if not (folder / _MARK).exists():
        raise PackError(f"{folder}: the searcher is not compiled")
    content = {path.relative_to(folder).as_posix(): path.read_bytes() for path in _files(folder)}
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}
    index = {"folder": folder.name, "facts": facts(), "files": hashes}
    with replacing(file) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_INDEX, json.dumps(index, indent=1))
        for name, data in content.items():
            archive.writestr(name, data)
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _files(folder: Path) -> list[Path]:
    """The functions of this package, not of tests or other packages, and the mark that all are there."""
    return sorted((*folder.glob(f"{_OURS}.*/*.nb[ic]"), *folder.glob(f"*/{_OURS}.*/*.nb[ic]"), folder / _MARK))


def unpack(file: Path) -> bool:
    """Put the code of a pack into the folder in which this Gougi looks for it. Nothing changes if the pack is damaged
    or does not fit.

    Returns:
        Whether it was missing here.

    Raises:
        PackError: the pack is damaged, or for other sources, versions or CPUs.
        OSError: it cannot be read, or its code not be written.
    """
    folder = cache_dir()
    done = folder / _MARK
    if done.exists():
        return False
    try:
        with zipfile.ZipFile(file) as archive:
            content = _checked(archive)
    except (
        zipfile.BadZipFile,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        EOFError,
        RuntimeError,  # encrypted, or an unknown compression
        zlib.error,
    ) as error:
        raise PackError(f"{file}: no pack, or damaged: {error}") from error
    except PackError as error:
        raise PackError(f"{file}: {error}") from error
    with (folder / "lock").open("w") as held:
        lock(held)
        if done.exists():
            return False
        _put(content, folder)
    return True


def _checked(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """The files of a pack by name. Raises PackError, and ValueError and its like for a damaged archive."""
    index = json.loads(archive.read(_INDEX))
    if index["folder"] != cache_dir().name:
        raise PackError(f"it is for another Gougi: {_difference(index['facts'])}")
    hashes = dict(index["files"])
    if _MARK not in hashes or sum(one.file_size for one in archive.infolist()) > _LARGEST:
        raise ValueError("not the files of a pack")
    content = {}
    for name, wanted in hashes.items():
        if not _CODE.fullmatch(name) or ".." in name:
            raise ValueError(f"not the name of compiled code: {name!r}")
        content[name] = archive.read(name)
        if hashlib.sha256(content[name]).hexdigest() != wanted:
            raise ValueError(f"{name} has changed since it was packed")
    return content


def _difference(theirs: Mapping[str, str]) -> str:
    here = facts()
    parts = [f"{name} {theirs.get(name)}, here {value}" for name, value in here.items() if theirs.get(name) != value]
    return "; ".join(parts) or "options of the compiler"


def _put(content: Mapping[str, bytes], folder: Path) -> None:
    """Write all files, then move them to their places, the mark last."""
    staged = Path(tempfile.mkdtemp(prefix=".unpacked-", dir=folder))
    try:
        for name, data in content.items():
            (staged / name).parent.mkdir(parents=True, exist_ok=True)
            (staged / name).write_bytes(data)
        for name in sorted(content, key=lambda name: name == _MARK):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(staged / name, folder / name)
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def unpack_shipped() -> str:
    """Unpack the code that this Gougi's wheel has for this machine, if it has any.

    Returns:
        A notice for the user, or nothing: its pack cannot be used.
    """
    file = SHIPPED / f"{cache_dir().name}{SUFFIX}"
    if file.exists():
        try:
            unpack(file)
        except PackError as error:
            return str(error)
        except OSError as error:
            return f"{file}: {reason(error)}"
    return ""
