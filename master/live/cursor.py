"""A viewer's place in the sections: what it has seen, and what it is sent next. Pure."""

from __future__ import annotations

from typing import Protocol


class Source(Protocol):
    """Sections with versions, as `master.live.page.Site` has them."""

    def key(self, name: str) -> str | None:
        """The key of the game that a viewer names; None: there is none."""

    def versions(self, key: str | None) -> dict[str, int]:
        """By section, for a viewer of the game ``key``."""


class Cursor:
    """One viewer's place in a source: it is sent the newest version of each section, however many it has missed.

    Args:
        name: the game that it looks at; ``latest`` follows the games.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._key: str | None = None
        self._seen: dict[str, int] = {}

    def next(self, source: Source) -> tuple[str | None, list[str]]:
        """The game's key, and the sections that are new to the viewer; they count as sent."""
        key = source.key(self._name)
        if key != self._key:
            self._key = key
            self._seen = {}
        versions = source.versions(key)
        new = [name for name, version in versions.items() if self._seen.get(name) != version]
        self._seen = versions
        return key, new

    def behind(self, source: Source) -> bool:
        """Whether there is something that the viewer has not been sent."""
        key = source.key(self._name)
        return key != self._key or source.versions(key) != self._seen
