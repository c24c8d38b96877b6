"""Gougi, a shogi player: used from Python by the names here (docs/reference/python.md), or by its command.

In an installed Gougi, its packages are inside this one (`gougi.worker`, `gougi.cluster`, ...), so that none of them
takes a generic top-level name. In the repository they are next to it; ``hatch_build.py`` moves them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gougi.api import Engine, GougiError, JudgedMove, Line, Result, analyze, evaluate

__all__ = ["Engine", "GougiError", "JudgedMove", "Line", "Result", "analyze", "evaluate"]


def __getattr__(name: str) -> Any:
    """Import the API when one of its names is first used: the command does not need it."""
    if name not in __all__:
        raise AttributeError(f"module 'gougi' has no attribute {name!r}")
    from gougi import api

    return getattr(api, name)
