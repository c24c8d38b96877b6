"""Folders that only this user can change: code loaded from any other folder could come from anyone."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path


def only_ours(folder: Path, variable: str = "") -> Path:
    """Make a folder (mode 700) if it is missing, and return it if only this user can write to it.

    Its parent folders are not checked.

    Args:
        folder: the folder to make.
        variable: the variable that names it, for the error message.

    Raises:
        OSError: it cannot be made, or others can change it; the text names the folder and the fault.
    """
    where = f"{variable}: {folder}" if variable else str(folder)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(error.errno, f"{where}: {(error.strerror or str(error)).lower()}") from error
    if os.name != "posix":
        return folder  # the mode says nothing there; a folder inherits the access list of the user's profile
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, f"{where}: it is a link, not a folder")
    if facts.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, f"{where}: it belongs to {_name(facts.st_uid)}")
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(errno.EPERM, f"{where}: others may write to it; it needs mode 700")
    return folder


def own_folder(parent: Path, prefix: str) -> Path:
    """Find or make a folder under ``parent`` that only this user can use (mode 700).

    Its name is ``prefix``, so that all processes of the user find it; if another user has taken that name, ``-`` and
    more letters follow.

    Raises:
        OSError: none can be made.
    """
    for candidate in (parent / prefix, *sorted(parent.glob(f"{prefix}-*"))):
        try:
            if stat.S_IMODE(only_ours(candidate).lstat().st_mode) == 0o700 or os.name != "posix":
                return candidate
        except OSError:
            continue
    return Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir=parent)).resolve()


def _name(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
