"""The wheel: the repository's top-level packages inside one package, ``gougi.worker`` for ``worker`` and so on.

The sources import each other by the names that they have in the repository. Here each of these names gets the prefix
``gougi.``: in imports, in the entry points, and in strings that are a module's whole name, such as an argument of
``python -m``. An editable install uses the repository as it is.

If `PACKS` names a folder of packs (`worker.pack`), the wheel has them too. Compiled code fits only the versions and the
system that made it. So such a wheel asks for exactly these versions of numba, llvmlite and numpy, and its name has this
Python and this system: pip installs it nowhere else. ``make wheel COMPILED=1`` makes one.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys
import sysconfig
import tempfile
import zipfile
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TOP: Final = "gougi"
PACKAGES: Final = ("worker", "cluster", "master", "lab")
PACKS: Final = "GOUGI_WHEEL_PACKS"
"""The environment variable."""
PINNED: Final = ("numba", "llvmlite", "numpy")
_PLACE: Final = re.compile(rf"(?:{'|'.join(PACKAGES)})(?:\.[A-Za-z_]\w*)+")


class RenameError(Exception):
    """A source cannot be moved; the text names the file and the line."""


class Renamer:
    """Moves the packages of a repository into `TOP`.

    Args:
        root: the repository's top folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def files(self) -> dict[str, bytes]:
        """All files of the wheel by path within it. Sources have the names of the wheel."""
        found = {}
        for package in (TOP, *PACKAGES):
            for path in sorted((self._root / package).rglob("*")):
                if path.is_file() and path.suffix != ".pyc":
                    place = path.relative_to(self._root).as_posix()
                    content = path.read_bytes()
                    if path.suffix == ".py":
                        content = self.source(content.decode(), place).encode()
                    found[place if package == TOP else f"{TOP}/{place}"] = content
        return found

    def source(self, text: str, place: str) -> str:
        """A source with the names of the wheel; lines keep their numbers.

        Args:
            place: its path, for errors.

        Raises:
            RenameError: ``import worker.x`` would bind another name than it says; write ``import worker.x as y``.
        """
        lines = text.encode().splitlines(keepends=True)
        for line, column in sorted(self._places(ast.parse(text), lines, place), reverse=True):
            before = lines[line - 1]
            lines[line - 1] = before[:column] + f"{TOP}.".encode() + before[column:]
        return b"".join(lines).decode()

    def _places(self, tree: ast.Module, lines: list[bytes], place: str) -> set[tuple[int, int]]:
        """Line, from 1, and column in bytes of each name that gets the prefix `TOP`."""
        found = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level == 0 and _is_ours(node.module or ""):
                found.add((node.lineno, node.col_offset + len("from ")))
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if _is_ours(alias.name):
                        if alias.asname is None:
                            raise RenameError(f"{place}:{alias.lineno}: write: import {alias.name} as ...")
                        found.add((alias.lineno, alias.col_offset))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and self.is_place(node.value):
                line = lines[node.lineno - 1]
                if line[node.col_offset + 1 :].startswith(node.value.encode()):  # else it is concatenated from parts
                    found.add((node.lineno, node.col_offset + 1))
        return found

    def is_place(self, text: str) -> bool:
        """Whether a text is the name of one of our modules, possibly with an attribute: ``master.cli:run``."""
        module, _, name = text.partition(":")
        if not _PLACE.fullmatch(module) or not (name.isidentifier() or ":" not in text):
            return False
        path = self._root.joinpath(*module.split("."))
        return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in PACKAGES


def packed(folder: Path) -> dict[str, bytes]:
    """The packs of a folder by their places in the wheel, each named for its folder of compiled code.

    Raises:
        FileNotFoundError: there are none.
        ValueError: one has the code of the repository's packages, not of the wheel's.
    """
    found = {}
    for file in sorted(folder.glob("*.pack")):
        with zipfile.ZipFile(file) as archive:
            index = json.loads(archive.read("pack.json"))
        if (ours := index["facts"]["name of the packages"]) != f"{TOP}.worker":
            raise ValueError(f"{file}: code of {ours}; a wheel needs code of its own packages")
        found[f"{TOP}/worker/compiled/{index['folder']}.pack"] = file.read_bytes()
    if not found:
        raise FileNotFoundError(f"{PACKS}: {folder}: no *.pack there")
    return found


def native_tag() -> str:
    """The wheel's tag: this Python and this system."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-none-{re.sub(r'[-.]', '_', sysconfig.get_platform())}"


class WheelHook(BuildHookInterface):  # type: ignore[type-arg]
    """The hook that hatchling calls when it builds a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Put our files into the wheel, unless this is an editable install (``version`` is ``editable``)."""
        if version != "standard":
            return
        renamer = Renamer(Path(self.root))
        self._staged = tempfile.TemporaryDirectory(prefix="gougi-wheel-")
        files = renamer.files()
        # Terraform and the fleet's head use the same table of prices.
        files[f"{TOP}/master/cloud/prices.json"] = Path(self.root, "terraform", "prices.json").read_bytes()
        if folder := os.environ.get(PACKS):
            files |= packed(Path(folder))
            build_data.setdefault("dependencies", []).extend(f"{name}=={version_of(name)}" for name in PINNED)
            build_data["tag"] = native_tag()
        for place, content in files.items():
            path = Path(self._staged.name, place)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            build_data["force_include"][str(path)] = place
        for group in self.metadata.core.entry_points.values():
            for name, target in group.items():
                if renamer.is_place(target):
                    group[name] = f"{TOP}.{target}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the files that `initialize` wrote."""
        if version == "standard":
            self._staged.cleanup()
