"""The operator's policy, as docs/reference/aws.md has it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

from tests.master.command import ROOT


def policy() -> Any:
    text = (ROOT / "docs" / "reference" / "aws.md").read_text()
    (block,) = (part.split("```", 1)[0] for part in text.split("```json\n")[1:])
    return json.loads(block)


def actions() -> set[str]:
    """All allowed actions; some have a ``*``."""
    found = set()
    for statement in policy()["Statement"]:
        assert statement["Effect"] == "Allow"
        named = statement["Action"]
        found |= {named} if isinstance(named, str) else set(named)
    return found


def refused(asked: Iterable[str]) -> list[str]:
    """The ones of these actions that it does not allow."""
    allowed = actions()
    return sorted(each for each in asked if not any(fnmatchcase(each, pattern) for pattern in allowed))
