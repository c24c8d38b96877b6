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
    usual = ("gougi.toml", os.path.join(os.path.expanduser(config_home), "gougi", "gougi.toml"))
    # Path.is_file would raise OSError for another user's folder, as HOME may name it in a container.
    return next((Path(path) for path in usual if os.path.isfile(path)), None)
