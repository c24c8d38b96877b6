"""The journal of a game: every event that its player took, and what the player said, as values that JSON can hold.

A player is pure: with the same settings and the same events it says the same lines. So one log entry (`ENTRY`) for each
event is enough to play a game again (`master.game.replay`)::

    {"event": "input", "game": 3, "at_ms": 51234.5, "kind": "ServerLine", "line": "-3334FU,T2"}
    {"event": "input", "game": 3, "at_ms": 55030.1, "kind": "Decision", "move": "2g2f", …,
     "sent": ["+2726FU,'* 43 -8384FU"]}

``kind`` is the name of a class of `master.player.inputs.Input`, whose fields follow. All times of a log are of one
clock, in milliseconds. ``sent`` holds the lines that the player said, the password left out. Progress is kept without
its nodes and ballots, and with its first line alone.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, get_args

import structlog
from pydantic import TypeAdapter, ValidationError

from cluster.api import Progress
from master.player.inputs import Input
from master.player.instructions import Instruction, PlayerSettings, Send
from master.player.player import Player

LOGGER: Final = "game"

BEGIN: Final = "player_begins"
"""The log event that begins a player's inputs: ``game`` (a number of its own), ``name``, ``server``, ``settings``."""
ENTRY: Final = "input"

log: structlog.stdlib.BoundLogger = structlog.get_logger(LOGGER)
_ADAPTERS: Final[Mapping[str, TypeAdapter[Any]]] = {kind.__name__: TypeAdapter(kind) for kind in get_args(Input)}


@dataclass(frozen=True, slots=True)
class Entry:
    """An event that a player took, and the lines that it said then."""

    at_ms: float
    event: Input
    sent: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The event's name in the log."""
        return type(self.event).__name__

    def fields(self) -> dict[str, Any]:
        """The fields of the log entry."""
        event = self.event
        if isinstance(event, Progress):
            event = replace(event, fleet=(), ballots=(), lines=event.lines[:1])
        fields = {"at_ms": self.at_ms, "kind": self.kind, **_ADAPTERS[self.kind].dump_python(event, mode="json")}
        return fields | ({"sent": list(self.sent)} if self.sent else {})


class Journal:
    """Stands between a player and its driver: passes every event on, and writes it down.

    Args:
        number: the player's, in the log.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._entries: deque[Entry] = deque()
        """Those that are not written yet."""

    def begin(self, name: str, server: str, settings: PlayerSettings) -> None:
        """Write down who plays, where and how."""
        log.info(BEGIN, game=self._number, name=name, server=server, settings=asdict(settings))

    def give(self, player: Player, event: Input, at_ms: float) -> list[Instruction]:
        """Have the player handle ``event``."""
        try:
            instructions = player.handle(event, at_ms)
        except Exception:
            self._entries.append(Entry(at_ms, event))  # the one that is wanted most
            raise
        sent = tuple(instruction.shown for instruction in instructions if isinstance(instruction, Send))
        self._entries.append(Entry(at_ms, event, sent))
        return instructions

    def write(self) -> None:
        """Write down what came since the last time: once everything is carried out, for a log costs time."""
        entries, self._entries = self._entries, deque()
        if logging.getLogger(LOGGER).isEnabledFor(logging.DEBUG):
            for entry in entries:
                log.debug(ENTRY, game=self._number, **entry.fields())


def read(fields: Mapping[str, Any]) -> Entry:
    """The entry that ``fields`` of a log are.

    Raises:
        ValueError: they are none, or one of a version with other events; the text says what is wrong.
    """
    kind = str(fields.get("kind", ""))
    try:
        event = _ADAPTERS[kind].validate_python(dict(fields))
        return Entry(float(fields["at_ms"]), event, tuple(map(str, fields.get("sent", []))))
    except ValidationError as error:
        problem = error.errors()[0]
        reason = f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
    except (KeyError, TypeError, ValueError) as error:
        reason = str(error) if kind in _ADAPTERS else "there is no such event"
    raise ValueError(f"no event of this version's player: {kind or 'without a kind'}: {reason}")
