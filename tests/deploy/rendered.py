"""The files of deploy/ as a machine gets them, and the programs that check them."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def tool(name: str) -> str:
    """A program of the environment or of the system."""
    own = Path(sys.executable).with_name(name)
    found = str(own) if own.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed: what it checks is not checked here")
    return found


def rendered(**facts: str) -> str:
    """The template as terraform's `templatefile` fills it; ``$NAME`` without braces is the shell's."""
    given = {
        "name": "gougi",
        "role": "node",
        "region": "ap-northeast-1",
        "bucket": "b",
        "release_key": "release/x.tar",
        "release_sha": "0" * 64,
        "head": "10.81.0.10",
        "asg": "gougi-workers",
        "token": "/gougi/gougi/ray-token",
        "password": "",
        "key": "",
        "searchers": "1",
        **facts,
    }
    text = (DEPLOY / "cloud-init" / "machine.yaml.tftpl").read_text()
    return re.sub(r"\$\{(\w+)\}", lambda found: given[found[1]], text)
