"""A `ray` that shadows the real one and records the processes that load it."""

from __future__ import annotations

import os
from pathlib import Path

from tests.master.command import ROOT

TELLS = """
import os, sys
with open({file!r}, "a") as file:
    print(os.getpid(), *sys.orig_argv, file=file)
raise ImportError("nobody loads Ray here")
"""


class Planted:
    """The recording `ray`, and its records."""

    def __init__(self, folder: Path) -> None:
        package, self._file = folder / "first" / "ray", folder / "loaded"
        package.mkdir(parents=True)
        self._file.touch()
        (package / "__init__.py").write_text(TELLS.format(file=str(self._file)))
        self.env = {"PYTHONPATH": os.pathsep.join([str(package.parent), str(ROOT)])}

    @property
    def told(self) -> str:
        """A line for each process that loaded it: its number and its command."""
        return self._file.read_text()
