"""What a source imports: a change there has to change the fingerprint of compiled code."""

from __future__ import annotations

import ast
from pathlib import Path

import worker

ROOT = Path(worker.__path__[0]).parent


def imported(source: Path) -> set[Path]:
    """Our modules that a source imports from, and packages if a name is no module."""
    found: set[Path] = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if not isinstance(node, ast.ImportFrom) or (node.module or "").partition(".")[0] not in ("worker", "lab"):
            continue
        place = ROOT / (node.module or "").replace(".", "/")
        if place.with_suffix(".py").exists():
            found.add(place.with_suffix(".py"))
            continue
        for name in node.names:
            module = place / f"{name.name}.py"
            found.add(module if module.exists() else place / "__init__.py")
    return found
