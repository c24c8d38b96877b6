"""The journal of a game: every event that its player received and the lines that it sent, as JSON-compatible values;
and the replay of a game from it.

A player is pure: with the same settings and the same events it sends the same lines. So one log entry (`ENTRY`) per
event is enough to replay a game::

    {"event": "input", "game": 3, "at_ms": 51234.5, "kind": "ServerLine", "line": "-3334FU,T2"}
    {"event": "input", "game": 3, "at_ms": 55030.1, "kind": "Decision", "move": "2g2f", …,
     "sent": ["+2726FU,'* 43 -8384FU"]}

``kind`` is the name of a class of `master.player.inputs.Input`, whose fields follow. All times of a log come from one
clock, in milliseconds. ``sent`` holds the lines that the player sent, without the password. Progress is stored without
its nodes and ballots, and with its first line alone."""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self, get_args

import structlog
from pydantic import TypeAdapter, ValidationError

from cluster.api import Progress
from master.logs.files import NotTextError, read_lines
from master.player.events import GameEvent
from master.player.inputs import Input, ServerLine
from master.player.instructions import Emit, Instruction, Login, PlayerSettings, Send
from master.player.player import Player
from worker.files import reason

LOGGER: Final = "game"

BEGIN: Final = "player_begins"
"""The log event that begins a player's inputs: ``game`` (a number of its own), ``name``, ``server``, ``settings``."""
ENTRY: Final = "input"

log: structlog.stdlib.BoundLogger = structlog.get_logger(LOGGER)
_ADAPTERS: Final[Mapping[str, TypeAdapter[Any]]] = {kind.__name__: TypeAdapter(kind) for kind in get_args(Input)}


@dataclass(frozen=True, slots=True)
class Entry:
    """An event that a player received, and the lines that it then sent."""

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
    """Sits between a player and its driver: passes every event on, and records it. ``number``: the player's number in
    the log."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._entries: deque[Entry] = deque()
        """The entries that are not written yet."""

    def begin(self, name: str, server: str, settings: PlayerSettings) -> None:
        """Record the players, the server and the settings."""
        log.info(BEGIN, game=self._number, name=name, server=server, settings=asdict(settings))

    def give(self, player: Player, event: Input, at_ms: float) -> list[Instruction]:
        try:
            instructions = player.handle(event, at_ms)
        except Exception:
            self._entries.append(Entry(at_ms, event))  # the most important one
            raise
        sent = tuple(instruction.shown for instruction in instructions if isinstance(instruction, Send))
        self._entries.append(Entry(at_ms, event, sent))
        return instructions

    def write(self) -> None:
        """Write the entries since the last call. Call it after everything is carried out, because logging costs
        time."""
        entries, self._entries = self._entries, deque()
        if logging.getLogger(LOGGER).isEnabledFor(logging.DEBUG):
            for entry in entries:
                log.debug(ENTRY, game=self._number, **entry.fields())


def read(fields: Mapping[str, Any]) -> Entry:
    """The entry for ``fields`` of a log. Raises ValueError: they are none, or belong to a version with other events;
    the text gives the fault."""
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


_SETTINGS: Final = TypeAdapter(PlayerSettings)
_ID_LINE: Final = "Game_ID:"


class ReplayError(Exception):
    """A log cannot be replayed; the text names the file, the line and the reason."""


@dataclass(slots=True)
class LoggedGame:
    """One player's connection to a server, as logged: a game, or an attempt at one."""

    number: int
    """In the log."""
    name: str
    server: str
    settings: PlayerSettings
    game_id: str = ""
    """Empty if no game was offered."""
    entries: list[Entry] = field(default_factory=list)
    is_cut: bool = False
    """Whether lines are missing after these."""

    @classmethod
    def begun(cls, fields: Mapping[str, Any]) -> Self:
        """The game that a log's line `BEGIN` begins. Raises KeyError, TypeError, ValueError: it is not one of this
        version."""
        settings = _SETTINGS.validate_python(fields["settings"])
        return cls(int(fields["game"]), str(fields["name"]), str(fields["server"]), settings)


@dataclass(frozen=True, slots=True)
class Difference:
    """The first event after which the player sent other lines than those in the log."""

    at_ms: float
    kind: str
    """The event's name (`master.player.inputs`)."""
    about: str
    """The server's line, if the event is one."""
    logged: tuple[str, ...]
    said: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """The player's events after one input."""

    at_ms: float
    events: list[GameEvent]


def read_log(path: Path, gap: Callable[[str], None] = lambda _where: None) -> list[LoggedGame]:
    """The games of a log, in the order in which they began. An incomplete last line is left out.

    Args:
        path: the log, or any part of it that was set aside: all existing parts are read (`master.logs.files`). A game
            whose beginning was deleted is left out. The log may be written meanwhile.
        gap: callback for missing lines within the log. A game that ran there ends there.

    Raises:
        ReplayError: the file cannot be read, is no log, or holds events that this version's player does not know.
    """
    games: list[LoggedGame] = []
    running: dict[int, LoggedGame] = {}

    def on_gap(where: str) -> None:
        for game in running.values():
            game.is_cut = True
        running.clear()
        gap(where)

    try:
        for file, number, line in read_lines(path, on_gap):
            try:
                _take(json.loads(line), games, running)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise ReplayError(f"{file}, line {number}: {_reason(error)}") from error
    except NotTextError as error:
        raise ReplayError(str(error)) from error
    except OSError as error:
        raise ReplayError(f"{path}: {reason(error)}") from error
    return games


class Replay:
    """One game, replayed."""

    def __init__(self, game: LoggedGame) -> None:
        self.difference: Difference | None = None
        """The first difference; None: none so far."""
        self.lines = 0
        """Number of lines that the player has sent so far."""
        self._game = game
        self._player = Player(Login(game.name, "replayed"), game.settings)

    def steps(self) -> Iterator[Step]:
        """Give the player each event in turn.

        After a difference the logged events no longer fit: the player may reach the end of its game, or send lines that
        a server would not accept; it does not raise.
        """
        for entry in self._game.entries:
            yield self.step(entry)

    def step(self, entry: Entry) -> Step:
        """Give the player one event."""
        instructions = self._player.handle(entry.event, entry.at_ms)
        said = tuple(instruction.shown for instruction in instructions if isinstance(instruction, Send))
        self.lines += len(said)
        if self.difference is None and said != entry.sent:
            about = entry.event.line if isinstance(entry.event, ServerLine) else ""
            self.difference = Difference(entry.at_ms, entry.kind, about, entry.sent, said)
        return Step(entry.at_ms, [instruction.event for instruction in instructions if isinstance(instruction, Emit)])


def _take(fields: dict[str, Any], games: list[LoggedGame], running: dict[int, LoggedGame]) -> None:
    """One line of a log. Events of a game whose beginning is missing are left out."""
    event = fields.get("event")
    if event == BEGIN:
        games.append(LoggedGame.begun(fields))
        running[games[-1].number] = games[-1]
    elif event == ENTRY and int(fields["game"]) in running:
        game = running[int(fields["game"])]
        entry = read(fields)
        game.entries.append(entry)
        if isinstance(entry.event, ServerLine) and entry.event.line.startswith(_ID_LINE):
            game.game_id = entry.event.line.removeprefix(_ID_LINE)


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"no line of a log: {error.msg}"
    if isinstance(error, ValidationError):
        problem = error.errors()[0]
        return f"settings of another version: {'.'.join(map(str, problem['loc']))}: {problem['msg']}"
    if isinstance(error, KeyError):
        return f"the log lacks {error}"
    return (str(error) or type(error).__name__).splitlines()[0]
