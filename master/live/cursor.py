"""A viewer's place in the sections: what it has seen, and what it is sent next. Pure."""

from __future__ import annotations

from master.live.page import Site


class Cursor:
    """One viewer's place in a site: it is sent the newest version of each section, however many it has missed.

    Args:
        name: the game that it looks at; ``latest`` follows the games.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._key: str | None = None
        self._seen: dict[str, int] = {}

    def next(self, site: Site) -> tuple[str | None, list[str]]:
        """The game's key, and the sections that are new to the viewer; they count as sent."""
        key = site.key(self._name)
        if key != self._key:
            self._key = key
            self._seen = {}
        versions = site.versions(key)
        new = [name for name, version in versions.items() if self._seen.get(name) != version]
        self._seen = versions
        return key, new

    def behind(self, site: Site) -> bool:
        """Whether there is something that the viewer has not been sent."""
        key = site.key(self._name)
        return key != self._key or site.versions(key) != self._seen
