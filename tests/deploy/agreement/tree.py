"""A checkout, or a copy of one, as text; and as much of HCL, systemd's and Python's syntax as the checks need."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Final
from unittest.mock import patch

COPIED: Final = (
    "deploy",
    "terraform",
    "docs/reference/aws.md",
    "docs/how-to/aws.md",
    "docs/how-to/several-machines.md",
    "master/commands/common.py",
    "master/commands/fleet_services.py",
    "master/cloud",
    "tests/deploy/agreement/table.py",
)
"""All that the checks look at."""


TABLE: Final = "tests.deploy.agreement.table"
CODE: Final = "master.cloud.agreed"


class Tree:
    """``root``: of a checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def text(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    @cached_property
    def agreed(self) -> ModuleType:
        """The table, as this tree has it."""
        with patch.dict(sys.modules, {CODE: self._module(CODE)}):
            return self._module(TABLE)

    def _module(self, name: str) -> ModuleType:
        """A module of this tree, which only knows those that the running process has."""
        spec = importlib.util.spec_from_file_location(name, self.root / f"{name.replace('.', '/')}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        with patch.dict(sys.modules, {name: module}):  # dataclasses look there for the types that annotations name
            spec.loader.exec_module(module)
        return module

    @cached_property
    def scripts(self) -> dict[str, str]:
        """The scripts of a machine by name, without comments."""
        found = sorted((self.root / "deploy" / "scripts").glob("*.sh"))
        return {path.name: without_comments(path.read_text(encoding="utf-8")) for path in found}

    def terraform(self, file: str) -> str:
        """A file of the module, without comments."""
        return without_comments(self.text(f"terraform/{file}"))

    def constants(self, path: str) -> dict[str, object]:
        """The names that a Python file sets at its top level to what it says literally."""
        found: dict[str, object] = {}
        for node in ast.parse(self.text(path)).body:
            targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
            for target in targets:
                if isinstance(target, ast.Name) and isinstance(value := getattr(node, "value", None), ast.Constant):
                    found[target.id] = value.value
        return found


def without_comments(text: str) -> str:
    """Remove comments of bash and HCL: from a ``#`` at a line's beginning or behind a blank to the line's end."""
    return re.sub(r"(^|(?<=\s))#(?=\s|!|$).*$", "", text, flags=re.MULTILINE)


def block(text: str, head: str) -> str:
    """The text in the braces (or brackets) that ``head`` opens; empty: there is no such head."""
    begin = text.find(head)
    if begin < 0:
        return ""
    begin += len(head)
    opening = next((at for at in range(begin, len(text)) if text[at] in "{[("), len(text))
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] in "{[(") - (text[at] in "}])")
        if not depth:
            return text[opening + 1 : at]
    return ""


def value(body: str, name: str) -> str:
    """The value of an attribute in a block, on one line, as it is written; empty: it is not set."""
    found = re.search(rf"^\s*{re.escape(name)}\s*=\s*(.+?)\s*$", body, re.MULTILINE)
    return found[1] if found else ""


def quoted(text: str) -> list[str]:
    """All texts in double quotes."""
    return re.findall(r'"([^"]*)"', text)


def differs(where: str, what: str, found: object, wanted: object) -> list[str]:
    """One fault, or none."""
    return [] if found == wanted else [f"{where}: {what}: {found!r}, and agreed is {wanted!r}"]
