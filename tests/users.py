"""Another user of this machine, for tests of that user's rights."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

import pytest

NOBODY: Final = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user, or be one")


def as_nobody(script: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a line of shell as the user nobody, with its arguments as ``$1`` and so on."""
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    return subprocess.run(
        [*become, "sh", "-c", script, "sh", *map(str, arguments)],
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
