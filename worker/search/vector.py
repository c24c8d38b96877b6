"""Vectors: values of named search parameters as text, ``LATE_MOVES=4,BONUS[0]=130``. Pure.

A name is that of a whole number in `worker.search.parameters`, or of one in a tuple there, by its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_ENTRY: Final = re.compile(r"\s*([A-Z][A-Z0-9_]*(?:\[\d+\])?)\s*=\s*(-?\d+)\s*", re.ASCII)
_MOST: Final = 1 << 31


class VectorError(ValueError):
    """A vector cannot be read, or names no parameter; the text says where."""


def values_of(constants: Mapping[str, Any]) -> dict[str, int]:
    """Every whole number among ``constants`` by its name; those in tuples as ``NAME[place]``."""
    found: dict[str, int] = {}
    for name, value in constants.items():
        if not name.isupper() or name.startswith("_"):
            continue
        if type(value) is int:
            found[name] = value
        elif type(value) is tuple:
            found |= {f"{name}[{place}]": one for place, one in enumerate(value)}
    return found


def parse_vector(text: str) -> dict[str, int]:
    """Read a vector. The empty text has no values.

    Raises:
        VectorError: an entry is not ``NAME=NUMBER``, or a name is there twice.
    """
    vector: dict[str, int] = {}
    for entry in filter(str.strip, text.split(",")):
        match = _ENTRY.fullmatch(entry)
        if match is None:
            raise VectorError(f"{entry.strip()!r} is not NAME=NUMBER, such as LATE_MOVES=4")
        if match[1] in vector:
            raise VectorError(f"{match[1]} is there twice")
        if abs(int(match[2])) >= _MOST:
            raise VectorError(f"{match[1]}={match[2]} is too large")
        vector[match[1]] = int(match[2])
    return vector


def vector_text(vector: Mapping[str, int]) -> str:
    """A vector as `parse_vector` reads it."""
    return ",".join(f"{name}={value}" for name, value in vector.items())


def with_vector(constants: Mapping[str, Any], vector: Mapping[str, int]) -> dict[str, Any]:
    """Those of ``constants`` that ``vector`` changes, with their new values.

    Raises:
        VectorError: there is no parameter of such a name.
    """
    known = values_of(constants)
    changed: dict[str, Any] = {}
    for key, value in vector.items():
        if key not in known:
            raise VectorError(f"no parameter of the search: {key}")
        name, _, place = key.partition("[")
        if not place:
            changed[name] = value
            continue
        at = int(place.rstrip("]"))
        before = changed.get(name, constants[name])
        changed[name] = (*before[:at], value, *before[at + 1 :])
    return changed
