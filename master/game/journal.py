"""The journal of a game: every input of the player and what came of it, as values that JSON can hold, and back.

A player is pure: with the same settings, the same inputs and the same answers it says the same lines. So one log entry
(`ENTRY`) for each input is enough to play a game again (`master.game.replay`)::

    {"event": "input", "game": 3, "at_ms": 51234.5, "call": "receive", "line": "-3334FU,T2", "now_ms": 51234.5,
     "ids": [17], "known": [null]}
    {"event": "input", "game": 3, "at_ms": 55030.1, "call": "decided", "decision": {"move": "2g2f", …},
     "sent": ["+2726FU,'* 43 -8384FU"]}

All times of a log are of one clock, in milliseconds. ``ids`` are the search ids that the player drew during the input,
``known`` what it was told of pondering, ``sent`` the lines that it said, the password left out. Progress is kept
without its nodes and lines.
"""

from __future__ import annotations

import inspect
import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any, Final, get_type_hints

import structlog
from pydantic import TypeAdapter

from cluster.api import Known, Progress, SearchRequest
from master.player.instructions import Instruction, PlayerSettings, Send
from master.player.player import Player

LOGGER: Final = "game"

BEGIN: Final = "player_begins"
"""The log event that begins a player's inputs: ``game`` (a number of its own), ``name``, ``server``, ``settings``."""
ENTRY: Final = "input"

log: structlog.stdlib.BoundLogger = structlog.get_logger(LOGGER)
_KNOWN: Final[TypeAdapter[Known | None]] = TypeAdapter(Known | None)


@dataclass(slots=True)
class Input:
    """One call of a `Player`, and what it asked for and said during it."""

    at_ms: float
    call: str
    arguments: dict[str, Any]
    """By parameter name."""
    ids: list[int] = field(default_factory=list)
    known: list[Known | None] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)

    def fields(self) -> dict[str, Any]:
        """For the log; what is empty is left out."""
        parameters = _parameters(self.call)
        fields: dict[str, Any] = {"at_ms": self.at_ms, "call": self.call}
        for name, value in self.arguments.items():
            fields[name] = parameters[name].dump_python(_lean(value), mode="json")
        if self.known:
            fields["known"] = [_KNOWN.dump_python(known, mode="json") for known in self.known]
        return fields | {name: value for name, value in (("ids", self.ids), ("sent", self.sent)) if value}


class Journal:
    """Stands between a player and its driver: passes on every input, and what the player asks for, and writes it down.

    Args:
        number: the player's, in the log.
        search_ids, known: as a `Player` wants them; it is given those of the journal.
    """

    def __init__(self, number: int, search_ids: Iterator[int], known: Callable[[SearchRequest], Known | None]) -> None:
        self._number = number
        self._search_ids = search_ids
        self._known = known
        self._inputs: deque[Input] = deque()
        """Those that are not written yet; the last one is the one that the player is working on."""

    def begin(self, name: str, server: str, settings: PlayerSettings) -> None:
        """Write down who plays, where and how."""
        log.info(BEGIN, game=self._number, name=name, server=server, settings=asdict(settings))

    def give(self, player: Player, call: str, arguments: Sequence[object], at_ms: float) -> list[Instruction]:
        """Call the player's method ``call``; one that only tells the player something gives no instructions."""
        entry = Input(at_ms, call, dict(zip(_parameters(call), arguments, strict=True)))
        self._inputs.append(entry)
        instructions: list[Instruction] = getattr(player, call)(*arguments) or []
        entry.sent += [instruction.shown for instruction in instructions if isinstance(instruction, Send)]
        return instructions

    def search_ids(self) -> Iterator[int]:
        for search_id in self._search_ids:
            self._inputs[-1].ids.append(search_id)
            yield search_id

    def known(self, request: SearchRequest) -> Known | None:
        known = self._known(request)
        self._inputs[-1].known.append(known)
        return known

    def write(self) -> None:
        """Write down what came since the last time: once everything is carried out, for a log costs time."""
        inputs, self._inputs = self._inputs, deque()
        if logging.getLogger(LOGGER).isEnabledFor(logging.DEBUG):
            for entry in inputs:
                log.debug(ENTRY, game=self._number, **entry.fields())


def read(fields: Mapping[str, Any]) -> Input:
    """The input of a log entry.

    Raises:
        ValueError: it is none, or one of a version whose players were called otherwise; the text says what is wrong.
    """
    call = str(fields.get("call", ""))
    try:
        parameters = _parameters(call)
        arguments = {name: adapter.validate_python(fields[name]) for name, adapter in parameters.items()}
        known = [_KNOWN.validate_python(known) for known in fields.get("known", [])]
        at_ms = float(fields["at_ms"])
        ids, sent = list(map(int, fields.get("ids", []))), list(map(str, fields.get("sent", [])))
    except (KeyError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"no input of this version's player: {call or 'without a call'}: {reason}") from error
    return Input(at_ms, call, arguments, ids, known, sent)


@cache
def _parameters(call: str) -> dict[str, TypeAdapter[Any]]:
    """How the arguments of a player's method are read and written, in order."""
    method = inspect.getattr_static(Player, call, None)
    if call.startswith("_") or not inspect.isfunction(method):
        raise ValueError(f"a player has no {call!r}")
    hints = get_type_hints(method)
    return {name: TypeAdapter(hints[name]) for name in list(inspect.signature(method).parameters)[1:]}


def _lean(value: object) -> object:
    return replace(value, fleet=(), lines=()) if isinstance(value, Progress) else value
