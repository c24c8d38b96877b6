"""The catalogue of known public networks (`catalogue.toml`): the facts about each, and their sources."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).with_name("catalogue.toml")
_LIKE: Final = 0.55
"""Similarity from which a name is suggested, 0 to 1."""


@dataclass(frozen=True)
class Entry:
    """A network of the catalogue; the head of the file explains the fields."""

    name: str
    title: str
    author: str
    year: int
    architecture: str
    licence: str
    page: str
    told_by: int
    fv_scale: int | None = None
    url: str | None = None
    url_bytes: int | None = None
    url_sha256: str | None = None
    bytes: int | None = None
    sha256: str | None = None
    note: str = ""

    @property
    def checked(self) -> str:
        """The sources that vouch for its hash."""
        return ("not verified", "one source", "several sources")[min(self.told_by, 2)]


def catalogue() -> dict[str, Entry]:
    """The networks by their names."""
    return {name: Entry(name, **facts) for name, facts in tomllib.loads(FILE.read_text(encoding="utf-8")).items()}


def find(word: str, entries: Mapping[str, Entry]) -> Entry | None:
    """The entry of a name, in any spelling: ``Suisho5``, ``suisho-5``."""
    return {_plain(name): entry for name, entry in entries.items()}.get(_plain(word))


def near(word: str, entries: Mapping[str, Entry]) -> list[str]:
    """Names that the user may have meant."""
    plain = {_plain(name): name for name in entries}
    found = [name for short, name in plain.items() if len(_plain(word)) > 2 and _plain(word) in short]
    found += [plain[short] for short in difflib.get_close_matches(_plain(word), plain, n=3, cutoff=_LIKE)]
    return list(dict.fromkeys(found))[:4]


def _plain(word: str) -> str:
    return re.sub(r"[\s._-]", "", word.casefold())
