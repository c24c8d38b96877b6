"""The folder of a long run (games of a match, of teachers, of the lab): one process at a time, the same settings."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def held(folder: Path, command: str, refused: type[Exception]) -> Iterator[None]:
    """Make the folder, and keep it from other processes until the end of the ``with``, or of this process.

    Args:
        command: what the other process would be, for its user to know: ``gougi match``.

    Raises:
        refused: another process is at work in it.
        OSError: it cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise refused(f"{folder}: another {command} is at work there") from None
        yield


def check_settings(
    folder: Path, before: Mapping[str, Any], wanted: Mapping[str, Any], refused: type[Exception]
) -> None:
    """Raises ``refused``, which names what differs, where a folder was begun with other settings than those wanted."""
    changed = [
        f"{name} was {before.get(name)!r} and is {value!r}"
        for name, value in wanted.items()
        if before.get(name) != value
    ]
    if changed:
        raise refused(
            f"{folder} was begun with other settings ({'; '.join(changed)}): repeat them to go on with it, or choose "
            "another folder"
        )
