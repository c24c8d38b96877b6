"""Facts about a network that its file does not contain. They stand in files in the same folder.

``nn.bin.toml`` is Gougi's own file. ``gougi net calibrate`` writes the measured FV_SCALE into it, and ``gougi net get``
writes the architecture that the user named. It holds only for the bytes for which it was made, not for another network
that later replaces the file. ``eval_options.txt`` is YaneuraOu's file and contains the author's FV_SCALE.
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
from worker.score import WIN_SCALE

_ENDS: Final = 1 << 16
"""Number of bytes at each end of a network file that enter its fingerprint."""
_FV_SCALES: Final = range(1, 1025)
_YANEURAOU: Final = "eval_options.txt"
PROGRESS_NAME: Final = "progress.bin"
"""A file next to an SFNN network. If it exists, the network's nine stacks are classes of game progress."""
_SCALE: Final = re.compile(
    r"^\s*(?:option\s+name\s+)?FV_SCALE\b(?:\s+type\s+spin\s+default)?\s*[=:\s]\s*(\d{1,4})\b", re.M
)
_MOST_BYTES: Final = 1 << 20


@dataclass(frozen=True)
class Beside:
    """Facts of a network.

    Attributes:
        fv_scale: raw output per centipawn.
        architecture: the short name of its shape.
        win_scale: raw output at which the odds of the side ahead are e to 1, as measured; comparable with `WIN_SCALE`.
    """

    fv_scale: int | None = None
    architecture: str | None = None
    win_scale: float | None = None


def beside_path(net: Path) -> Path:
    """The path of Gougi's own file for a network."""
    return net.with_name(f"{net.name}.toml")


def paths_beside(net: Path) -> list[Path]:
    """The paths of all files that would change how a network file is loaded, whether they exist or not."""
    return [beside_path(net), net.with_name(_YANEURAOU), net.with_name(PROGRESS_NAME)]


def read_beside(net: Path) -> Beside:
    """The facts that stand next to a network file.

    Raises:
        NetworkFileError: Gougi's own file is broken; the message names that file.
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
    return Beside(scale if isinstance(scale, int) else _authors_scale(net), architecture, _win_scale(facts))


def write_beside(net: Path, facts: Mapping[str, int | float | str]) -> Path:
    """Write facts about a network file. They replace existing facts of the same name; other facts stay.

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
    """A hash of a network file's size and its ends, which identifies the file."""
    size = net.stat().st_size
    with net.open("rb") as file:
        head = file.read(_ENDS)
        file.seek(max(0, size - _ENDS))
        return hashlib.sha256(b"%d:" % size + head + file.read(_ENDS)).hexdigest()


def _text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_MOST_BYTES).decode("utf-8")


def _win_scale(facts: Mapping[str, object]) -> float | None:
    """The measured scale, as in games as long as those of which `WIN_SCALE` was taken: our own network measured as this
    one gave ``reference_cp``."""
    found = [facts.get("win_scale"), facts.get("reference_cp")]
    numbers = [float(value) for value in found if isinstance(value, int | float) and value > 0]
    return numbers[0] * WIN_SCALE / numbers[1] if len(numbers) == len(found) else None


def _authors_scale(net: Path) -> int | None:
    """FV_SCALE of YaneuraOu's ``eval_options.txt``, if that file exists and has a valid value."""
    try:
        with net.with_name(_YANEURAOU).open("rb") as file:  # by a Windows editor, with comments in Shift JIS
            found = _SCALE.findall(file.read(_MOST_BYTES).decode("utf-8-sig", "replace"))
    except OSError:
        return None
    return int(found[-1]) if found and int(found[-1]) in _FV_SCALES else None
