"""The ranges of settings that are numbers, checked where a dataclass of settings is made."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from typing import Any


def check_numbers(
    settings: Any, shares: Collection[str] = (), counts: Collection[str] = (), positive: Collection[str] = ()
) -> None:
    """Check every number of a dataclass of settings: 0 or more, but for those that are named.

    Args:
        shares: from 0 to 1.
        counts: 1 or more.
        positive: more than 0.

    Raises:
        ValueError: the first that is out of its range, or is no number at all (NaN); the text names it and the range.
    """
    for item in fields(settings):
        name, value = item.name, getattr(settings, item.name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        if name in shares:
            fits, expected = 0 <= value <= 1, "0 to 1"
        elif name in positive:
            fits, expected = value > 0, "more than 0"
        elif name in counts:
            fits, expected = value >= 1, "1 or more"
        else:
            fits, expected = value >= 0, "0 or more"
        if not fits:
            raise ValueError(f"{name} is {value}: expected {expected}")
