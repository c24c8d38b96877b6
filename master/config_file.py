"""The path of the configuration, separate from the code that reads it, which is slow to import."""

from __future__ import annotations

import os
from pathlib import Path


def find_file() -> Path | None:
    """The configuration that is used if none is named; None: there is none."""
    named = os.environ.get("GOUGI_CONFIG")
    if named:
        return Path(named)
    config_home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    usual = (Path("gougi.toml"), Path(config_home).expanduser() / "gougi" / "gougi.toml")
    return next((path for path in usual if path.is_file()), None)
