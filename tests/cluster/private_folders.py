"""Private folders of other processes, live and killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

OWNER = "import sys; from pathlib import Path; from cluster.machine.private_folder import PrivateFolder; "
OWNER += "print(PrivateFolder(Path(sys.argv[1])).path, flush=True); sys.stdin.read()"


class Owner:
    """Another process that owns a folder under ``shared``."""

    def __init__(self, shared: Path, *wrapper: str) -> None:
        command = [*wrapper, sys.executable, "-c", OWNER, str(shared)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.folder = Path(self.process.stdout.readline().strip())
        assert self.folder.parent == shared

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def left(shared: Path) -> Path:
    """A folder with something in it whose process was killed."""
    owner = Owner(shared)
    (owner.folder / "session" / "logs").mkdir(parents=True)
    (owner.folder / "token").write_text("x")
    owner.kill()
    return owner.folder
