"""Gougi, a shogi player: from Python by what is named here (docs/reference/python.md), else by its command.

An installed Gougi has its packages within this one (`gougi.worker`, `gougi.cluster`, ...), so that none of them takes a
name that may be anybody's. In the repository they lie beside it; ``hatch_build.py`` says how they get here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gougi.api import Engine, GougiError, JudgedMove, Line, Result, analyze, evaluate

__all__ = ["Engine", "GougiError", "JudgedMove", "Line", "Result", "analyze", "evaluate"]


def __getattr__(name: str) -> Any:
    """Import the API with the first of its names that is used: the command does not need it."""
    if name not in __all__:
        raise AttributeError(f"module 'gougi' has no attribute {name!r}")
    from gougi import api

    return getattr(api, name)
