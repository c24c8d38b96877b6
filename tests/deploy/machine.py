"""A machine's scripts in a test's folder, with stand-ins for their programs."""

from __future__ import annotations

import re
from pathlib import Path

SCRIPTS = Path(__file__).parents[2] / "deploy" / "scripts"


def script_at(folder: Path, script: str, **places: Path) -> Path:
    """A copy of a script with the folder in place of /etc; a copy of `lib.sh` with other values of its variables."""
    text = (SCRIPTS / script).read_text().replace("/etc/gougi", str(folder / "etc"))
    for name, value in places.items():
        text, found = re.subn(rf"^{name}=.*$", f"{name}={value}", text, flags=re.MULTILINE)
        assert found == 1, f"{script} sets no {name}"
    (folder / script).write_text(text)
    (folder / script).chmod(0o755)
    return folder / script


def facts_at(folder: Path, **facts: str) -> None:
    """Write the facts that terraform gives to a machine."""
    (folder / "etc").mkdir(exist_ok=True)
    (folder / "etc" / "fleet.env").write_text("".join(f"{name}={value}\n" for name, value in facts.items()))


def stand_in(folder: Path, program: str, text: str, interpreter: str = "/bin/bash") -> None:
    """A program in ``folder``/bin; to be put first into PATH."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / program).write_text(f"#!{interpreter}\n{text}\n")
    (folder / "bin" / program).chmod(0o755)
