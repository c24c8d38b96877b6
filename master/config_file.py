"""The place of the configuration, apart from what reads it, which takes long to load."""

from __future__ import annotations

import os
from pathlib import Path


def find_file() -> Path | None:
    """The configuration that is used where none is named; None: there is none."""
    named = os.environ.get("GOUGI_CONFIG")
    if named:
        return Path(named)
    config_home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    usual = (Path("gougi.toml"), Path(config_home).expanduser() / "gougi" / "gougi.toml")
    return next((path for path in usual if path.is_file()), None)
