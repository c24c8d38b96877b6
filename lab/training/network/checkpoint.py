"""Checkpoints: everything that a run needs to resume exactly. A checkpoint is written completely or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import io
from pathlib import Path
from typing import Any, Final

import torch

from lab.training.train_settings import CHECKPOINT, CHECKPOINT_BEFORE
from worker.files import replace_file

_MAGIC: Final = b"GOUGITR1"
_DIGEST: Final = 32


class CheckpointError(Exception):
    """A checkpoint is damaged; the text names it."""


def write_checkpoint(folder: Path, state: dict[str, Any]) -> None:
    """Write a checkpoint; the previous one is kept next to it.

    Raises:
        OSError: the message names the file. The previous checkpoint is then still there.
    """
    buffer = io.BytesIO()
    torch.save(state, buffer)
    data = buffer.getvalue()
    path = folder / CHECKPOINT
    if path.exists():
        path.replace(folder / CHECKPOINT_BEFORE)
    replace_file(path, _MAGIC + hashlib.sha256(data).digest() + data, to_disk=True)


def _read(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    start = len(_MAGIC) + _DIGEST
    if data[: len(_MAGIC)] != _MAGIC or hashlib.sha256(data[start:]).digest() != data[len(_MAGIC) : start]:
        raise CheckpointError(f"{path}: its checksum is wrong: it is damaged, or not whole")
    found: dict[str, Any] = torch.load(io.BytesIO(data[start:]), map_location="cpu", weights_only=True)
    return found


def read_checkpoint(folder: Path) -> tuple[dict[str, Any] | None, list[str]]:
    """The last checkpoint of a folder, None if there is none, and a notice for the user.

    If it is damaged, the previous one counts: the run resumes there and ends with the same result. The damaged one is
    then removed, so that the next checkpoint does not move it to the place of the good one.

    Raises:
        CheckpointError: all of them are damaged.
        OSError: one cannot be read.
    """
    notices: list[str] = []
    damage: CheckpointError | None = None
    for name in (CHECKPOINT, CHECKPOINT_BEFORE):
        with contextlib.suppress(FileNotFoundError):
            try:
                found = _read(folder / name)
            except CheckpointError as error:
                damage = damage or error
                continue
            if damage is not None:
                (folder / CHECKPOINT).unlink()
                notices.append(f"{damage}; the run goes on from the checkpoint before it")
            return found, notices
    if damage is not None:
        raise CheckpointError(f"{damage}; remove it to begin the run again")
    return None, notices
