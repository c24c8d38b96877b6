"""What lies beside a network file: facts that its bytes do not have.

``nn.bin.toml`` is Gougi's own: ``gougi net calibrate`` writes the measured FV_SCALE into it, ``gougi net get`` the
architecture that the user named. It counts for the bytes that it was made for, and for no other network that takes the
place. ``eval_options.txt`` is YaneuraOu's: an author's FV_SCALE stands in it.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from worker.files import replace_file
from worker.nnue.architecture import NetworkFileError

_ENDS: Final = 1 << 16
"""Bytes at either end of a network by which it is known again."""
_FV_SCALES: Final = range(1, 1025)
_YANEURAOU: Final = "eval_options.txt"
_SCALE: Final = re.compile(
    r"^\s*(?:option\s+name\s+)?FV_SCALE\b(?:\s+type\s+spin\s+default)?\s*[=:\s]\s*(\d{1,4})\b", re.M
)
_MOST_BYTES: Final = 1 << 20


@dataclass(frozen=True)
class Beside:
    """Facts of a network.

    Attributes:
        fv_scale: raw output to a centipawn.
        architecture: the short name of its shape.
    """

    fv_scale: int | None = None
    architecture: str | None = None


def beside_path(net: Path) -> Path:
    """Gougi's own file beside a network."""
    return net.with_name(f"{net.name}.toml")


def read_beside(net: Path) -> Beside:
    """The facts beside a network file.

    Raises:
        NetworkFileError: Gougi's own file is broken; it names that file.
        OSError: a file cannot be read.
    """
    own = beside_path(net)
    facts: Mapping[str, object] = {}
    if own.is_file():
        try:
            facts = tomllib.loads(_text(own))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise NetworkFileError(str(own), 0, f"no TOML: {error}") from None
        if facts.get("of") != fingerprint(net):
            facts = {}
    scale, architecture = facts.get("fv_scale"), facts.get("architecture")
    if scale is not None and scale not in _FV_SCALES:
        raise NetworkFileError(str(own), 0, f"fv_scale is {scale!r}, expected {_FV_SCALES[0]} to {_FV_SCALES[-1]}")
    if architecture is not None and not isinstance(architecture, str):
        raise NetworkFileError(str(own), 0, f"architecture is {architecture!r}, expected a text")
    return Beside(scale if isinstance(scale, int) else _authors_scale(net), architecture)


def write_beside(net: Path, facts: Mapping[str, int | float | str]) -> Path:
    """Write facts beside a network file, in the place of those that are there; the others there stay.

    Raises:
        OSError: the file cannot be written.
    """
    own = beside_path(net)
    kept: Mapping[str, object] = {}
    if own.is_file():
        try:
            kept = tomllib.loads(_text(own))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError):
            kept = {}
    known = fingerprint(net)
    kept = kept if kept.get("of") == known else {}
    lines = [
        f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in {**kept, **facts, "of": known}.items()
    ]
    replace_file(own, ("# Gougi's facts of the network beside it.\n" + "\n".join(lines) + "\n").encode())
    return own


def fingerprint(net: Path) -> str:
    """What tells a network file from another: a hash of its size and its ends."""
    size = net.stat().st_size
    with net.open("rb") as file:
        head = file.read(_ENDS)
        file.seek(max(0, size - _ENDS))
        return hashlib.sha256(b"%d:" % size + head + file.read(_ENDS)).hexdigest()


def _text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_MOST_BYTES).decode("utf-8")


def _authors_scale(net: Path) -> int | None:
    """FV_SCALE of YaneuraOu's ``eval_options.txt``, if there is one that names a possible one."""
    try:
        found = _SCALE.findall(_text(net.with_name(_YANEURAOU)))
    except (OSError, UnicodeDecodeError):
        return None
    return int(found[-1]) if found and int(found[-1]) in _FV_SCALES else None
