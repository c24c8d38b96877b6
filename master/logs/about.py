"""Says on every line of a log which game it is about, and on those of a fleet which search."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from master.player.events import GameEnded, GameEvent, GameFound


class About:
    """The game that this process plays, which is one at a time; it stands on the log's lines as ``game_id``.

    An observer of the player, and a processor of structlog; any thread.
    """

    def __init__(self) -> None:
        self._game_id = ""

    def observe(self, event: GameEvent) -> None:
        """Take an event of the player."""
        match event:
            case GameFound(summary):
                self._game_id = summary.game_id
            case GameEnded():
                self._game_id = ""

    def __call__(self, _logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """Add what is known to a line that does not say it itself."""
        if self._game_id:
            event.setdefault("game_id", self._game_id)
        return event


class SearchAbout:
    """The search that a fleet is at, from its events; it stands on their lines as ``search_id``."""

    def __init__(self) -> None:
        self._search_id: object = None

    def fields(self, name: str, fields: dict[str, object]) -> dict[str, object]:
        """The event's fields, and the search's where one runs."""
        own = fields.get("search_id")
        if name in ("search_started", "pondering", "dealt"):
            self._search_id = own
        elif name in ("decided", "ponder_hit", "ponder_miss"):
            self._search_id = None
        elif own is None and self._search_id is not None:
            return {**fields, "search_id": self._search_id}
        return fields
