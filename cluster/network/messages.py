"""Messages between the master and its nodes, as values and as msgpack.

One message is one msgpack map: ``{"kind": "report", field: value, …}``. A peer's bytes are checked here and nowhere
else: an unknown kind, a missing, extra or wrongly typed field, a number out of range or a message that is too large is
a `MessageError` that names what and where. What `decode` returns can be used without another look, except that moves
are only *words* here: whether they are legal is for `cluster.coordination.root` to say.

Master to node: `Job`, `Stop`, `NewGame`, `Peers`, `End`. Node to master: `Begun`, `Failed`, `Hello`, `Heartbeat`,
`Report`, `Done`, `Leave`, `Shared`, `Starves`.

Scores are `worker.score` scores from the side to move at the job's own root, the position after ``Job.moves``.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, Final

import msgpack

from worker.engine import Bound, Limits, SearchInfo
from worker.rules import Rules
from worker.score import MATE, MAX_EVAL, MAX_PLY

MAX_BYTES: Final = 64 * 1024
"""The largest message. A job after 2,000 moves of game has about 12 KiB."""

MAX_MOVES: Final = 4096
"""The most moves in one list."""

MAX_MULTIPV: Final = 600
"""More lines than any position has legal moves (593)."""

LONGEST_GAME: Final = 100_000
"""The highest move limit of a game."""


class MessageError(ValueError):
    """Bytes from a peer are no message. The text says what is wrong, and in which kind and field."""


@dataclass(frozen=True, slots=True)
class Span:
    """The values that a field may have: a number's range, or a text's length in characters."""

    low: int
    high: int


_Id = Annotated[int, Span(0, 2**53)]
_Count = Annotated[int, Span(0, 2**62)]
_Milliseconds = Annotated[int, Span(0, 2**40)]
_Depth = Annotated[int, Span(0, 4 * MAX_PLY)]
_Score = Annotated[int, Span(-MATE, MATE)]
_DrawValue = Annotated[int, Span(1 - MAX_EVAL, MAX_EVAL - 1)]
_MultiPv = Annotated[int, Span(1, MAX_MULTIPV)]
_Word = Annotated[str, Span(1, 8)]
_Words = Annotated[tuple[_Word, ...], Span(0, MAX_MOVES)]
_Name = Annotated[str, Span(1, 128)]
_Text = Annotated[str, Span(0, 1024)]
_Url = Annotated[str, Span(1, 256)]
_Key = Annotated[str, Span(40, 40)]
"""A public key, as ZeroMQ writes it (Z85)."""
_MOST_PEERS: Final = 64


@dataclass(frozen=True, slots=True)
class Job:
    """An order to search. It takes the place of whatever the node is searching.

    ``moves`` is the game's history *and* the path down the split tree; ``searchmoves`` and ``ignoremoves`` are moves of
    the position after it. Without any limit the job runs until `Stop`.
    """

    search_id: _Id
    job_id: _Id
    """Rises with every job of a master, over all searches and nodes."""
    sfen: Annotated[str, Span(1, 256)]
    moves: _Words = ()
    searchmoves: _Words = ()
    ignoremoves: _Words = ()
    multipv: _MultiPv = 1
    movetime_ms: _Milliseconds | None = None
    nodes: _Count | None = None
    depth: _Depth | None = None
    alpha: _Score | None = None
    """Lower edge of the scores to find out exactly, with ``beta`` the upper one; see `worker.engine.Limits`."""
    beta: _Score | None = None
    max_moves: Annotated[int, Span(0, LONGEST_GAME)] = 0
    """The game's rules, with the next two, as in `cluster.api.SearchRequest`."""
    draw_black: _DrawValue = 0
    draw_white: _DrawValue = 0
    background: bool = False
    """Whether the job gives way to everything else on its machine: there are others to answer for it."""

    def limits(self) -> Limits:
        return Limits(
            movetime_ms=self.movetime_ms,
            nodes=self.nodes,
            depth=self.depth,
            multipv=self.multipv,
            searchmoves=self.searchmoves,
            ignoremoves=self.ignoremoves,
            alpha=self.alpha,
            beta=self.beta,
        )

    def rules(self, own: Rules) -> Rules:
        """The rules to search it by, where the engine's ``own`` hold beside what the job says."""
        return own.of_search(self.max_moves, self.draw_black, self.draw_white)


@dataclass(frozen=True, slots=True)
class Stop:
    """End the job ``job_id`` and every earlier one, also one that is still on its way."""

    job_id: _Id


EVERY_JOB: Final = 2**53
"""`Stop` with this id is a node's dismissal: no job has a higher one, so it does nothing any more."""


@dataclass(frozen=True, slots=True)
class NewGame:
    """A new game begins: forget the transposition table when the next job comes."""


@dataclass(frozen=True, slots=True)
class Peers:
    """Take part in sharing from now on: listen to these nodes, and to no others any more.

    The first three go together: where each of them is, what it is called, and by which key it proves that.
    """

    urls: Annotated[tuple[_Url, ...], Span(0, _MOST_PEERS)]
    names: Annotated[tuple[_Name, ...], Span(0, _MOST_PEERS)]
    keys: Annotated[tuple[_Key, ...], Span(0, _MOST_PEERS)]
    listeners: Annotated[tuple[_Key, ...], Span(0, _MOST_PEERS)]
    """The keys of those that may listen to this node."""
    bytes_per_s: _Count
    """Bytes a second that the node may send to all its listeners together."""


@dataclass(frozen=True, slots=True)
class End:
    """The node's process ends. ``again``: another one takes its place."""

    again: bool


@dataclass(frozen=True, slots=True)
class Begun:
    """The first message of a node's life: its process runs, and so no earlier one of that node does. It makes its
    engine now; `Hello` follows, or `Failed`."""

    node_id: _Name
    incarnation: _Name
    """Differs each time the node's process starts anew."""
    before: Annotated[str, Span(0, 128)] = ""
    """The end of the process before this one, in words; empty: there was none."""

    @property
    def peer(self) -> str:
        """The node's name on the channel."""
        return f"{self.node_id}/{self.incarnation}"


@dataclass(frozen=True, slots=True)
class Failed:
    """The node's engine cannot be made; its process ends."""

    node_id: _Name
    why: Annotated[str, Span(1, 1024)]


@dataclass(frozen=True, slots=True)
class Hello:
    """The node can search now. Said again where its connection was made anew."""

    node_id: _Name
    incarnation: _Name
    """As in `Begun`."""
    host: _Name
    pid: _Count
    engine: _Name
    can_split: bool = True
    nps: _Count = 0
    """See `cluster.coordination.events.NodeJoined`."""
    share_url: Annotated[str, Span(0, 256)] = ""
    """Address at which other nodes listen to its table entries (`cluster.sharing.table`); empty: it takes no part."""
    share_meaning: Annotated[str, Span(0, 64)] = ""
    """Only nodes with the same can use each other's entries."""
    metrics_url: Annotated[str, Span(0, 256)] = ""
    """Address at which its process serves its metrics; empty: nowhere."""

    @property
    def peer(self) -> str:
        """The node's name on the channel."""
        return f"{self.node_id}/{self.incarnation}"


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The node lives. ``job_id`` is the last job that it accepted (0: none yet), ``idle`` whether it is over."""

    node_id: _Name
    incarnation: _Name
    job_id: _Id
    idle: bool


@dataclass(frozen=True, slots=True)
class Report:
    """One line of a running search; fields as `worker.engine.SearchInfo` has them, ``pv`` from the job's root."""

    node_id: _Name
    search_id: _Id
    job_id: _Id
    depth: _Depth
    seldepth: _Depth
    score: _Score
    bound: Bound
    nodes: _Count
    time_ms: _Milliseconds
    hashfull: Annotated[int, Span(0, 1000)]
    pv: Annotated[tuple[_Word, ...], Span(1, MAX_MOVES)]
    multipv: _MultiPv = 1

    @classmethod
    def of(cls, node_id: str, job: Job, info: SearchInfo) -> Report:
        """Make the report of ``info``, which was found in a search for ``job``."""
        return cls(
            node_id=node_id,
            search_id=job.search_id,
            job_id=job.job_id,
            depth=info.depth,
            seldepth=info.seldepth,
            score=info.score,
            bound=info.bound,
            nodes=info.nodes,
            time_ms=info.time_ms,
            hashfull=info.hashfull,
            pv=tuple(info.pv),
            multipv=info.multipv,
        )


@dataclass(frozen=True, slots=True)
class Done:
    """The job is over, by its limits or by `Stop`; its last lines went out before as reports."""

    node_id: _Name
    search_id: _Id
    job_id: _Id
    nodes: _Count
    time_ms: _Milliseconds
    error: _Text = ""
    """Not empty: the engine could not do the job, and why."""


@dataclass(frozen=True, slots=True)
class Leave:
    """The node is about to go (its machine is taken away, its service is stopped): give its work to others."""

    node_id: _Name
    reason: Annotated[str, Span(1, 128)]


@dataclass(frozen=True, slots=True)
class Shared:
    """Counts of the table entries that the node sent and received since the message before; see
    `cluster.sharing.table.Traffic`."""

    node_id: _Name
    time_ms: _Milliseconds
    """Time in which it searched, or others sent to it."""
    min_depth: _Depth
    """Entries from this depth on were shared in the end."""
    bytes_out: _Count
    entries_out: _Count
    dropped: _Count
    bytes_in: _Count
    entries_in: _Count
    used: _Count
    lost: _Count
    refused: _Count


@dataclass(frozen=True, slots=True)
class Starves:
    """Others take the cores that the node searches on."""

    node_id: _Name
    percent: Annotated[int, Span(0, 100)]
    """The share of a core's time that its search had."""
    cores: _Count
    """The number of cores on which its process may run."""


Message = (
    Job | Stop | NewGame | Peers | End | Begun | Failed | Hello | Heartbeat | Report | Done | Leave | Shared | Starves
)

Order = Job | Stop | NewGame | Peers | End
"""A message from a master to a node."""

KINDS: Final[Mapping[str, type[Message]]] = {
    "job": Job,
    "stop": Stop,
    "new_game": NewGame,
    "peers": Peers,
    "end": End,
    "begun": Begun,
    "failed": Failed,
    "hello": Hello,
    "heartbeat": Heartbeat,
    "report": Report,
    "done": Done,
    "leave": Leave,
    "shared": Shared,
    "starves": Starves,
}
_NAMES: Final[Mapping[type[Message], str]] = {kind: name for name, kind in KINDS.items()}

_Check = Callable[[object, str], Any]
"""Takes a raw value and the place it stands at; returns the value to use, or raises `MessageError`."""


def _check_int(span: Span) -> _Check:
    def check(value: object, where: str) -> int:
        if type(value) is not int:
            raise MessageError(f"{where}: expected an integer, got {type(value).__name__}")
        if not span.low <= value <= span.high:
            raise MessageError(f"{where}: {value} is not in {span.low}..{span.high}")
        return value

    return check


def _check_str(span: Span) -> _Check:
    def check(value: object, where: str) -> str:
        if type(value) is not str:
            raise MessageError(f"{where}: expected text, got {type(value).__name__}")
        if not span.low <= len(value) <= span.high:
            raise MessageError(f"{where}: {len(value)} characters, allowed are {span.low}..{span.high}")
        return value

    return check


def _check_bool(value: object, where: str) -> bool:
    if type(value) is not bool:
        raise MessageError(f"{where}: expected true or false, got {type(value).__name__}")
    return value


_check_bound_value: Final = _check_int(Span(min(Bound), max(Bound)))


def _check_bound(value: object, where: str) -> Bound:
    return Bound(_check_bound_value(value, where))


def _check_tuple(span: Span, item: _Check) -> _Check:
    def check(value: object, where: str) -> tuple[Any, ...]:
        if type(value) is not list:
            raise MessageError(f"{where}: expected a list, got {type(value).__name__}")
        if not span.low <= len(value) <= span.high:
            raise MessageError(f"{where}: {len(value)} items, allowed are {span.low}..{span.high}")
        try:
            return tuple([item(element, where) for element in value])
        except MessageError:  # which of them it is, is only asked for where one is wrong
            return tuple([item(element, f"{where}[{index}]") for index, element in enumerate(value)])

    return check


def _optional(check: _Check) -> _Check:
    return lambda value, where: None if value is None else check(value, where)


def _checker(hint: Any) -> _Check:
    """The check for one field's type; a type that no message has yet is a programming error (TypeError)."""
    span = None
    if typing.get_origin(hint) is Annotated:
        hint, span = typing.get_args(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType or origin is typing.Union:
        inner = [argument for argument in arguments if argument is not types.NoneType]
        if len(inner) == 1:
            return _optional(_checker(inner[0]))
    elif origin is tuple and span is not None:
        return _check_tuple(span, _checker(arguments[0]))
    elif hint is int and span is not None:
        return _check_int(span)
    elif hint is str and span is not None:
        return _check_str(span)
    elif hint is bool:
        return _check_bool
    elif hint is Bound:
        return _check_bound
    raise TypeError(f"no check for {hint!r}")


def _schema(name: str, kind: type[Message]) -> dict[str, tuple[_Check, str]]:
    """The check of each field, and its place in words."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return {entry.name: (_checker(hints[entry.name]), f"{name}.{entry.name}") for entry in fields(kind)}


_SCHEMAS: Final = {name: _schema(name, kind) for name, kind in KINDS.items()}
_REQUIRED: Final = {
    name: {entry.name for entry in fields(kind) if entry.default is MISSING} for name, kind in KINDS.items()
}


def encode(message: Message) -> bytes:
    """``message`` as bytes.

    Raises:
        MessageError: it is larger than `MAX_BYTES`.
    """
    raw: dict[str, object] = {"kind": _NAMES[type(message)]}
    for entry in fields(message):
        raw[entry.name] = getattr(message, entry.name)
    data: bytes = msgpack.packb(raw)
    if len(data) > MAX_BYTES:
        raise MessageError(f"{raw['kind']}: {len(data)} bytes, at most {MAX_BYTES} are allowed")
    return data


def decode(data: bytes) -> Message:
    """The message in ``data``, every field checked.

    Raises:
        MessageError: ``data`` is none.
    """
    if len(data) > MAX_BYTES:
        raise MessageError(f"message: {len(data)} bytes, at most {MAX_BYTES} are allowed")
    try:
        raw = msgpack.unpackb(data)
    except (ValueError, msgpack.exceptions.UnpackException, RecursionError) as error:
        raise MessageError(f"message: no msgpack ({error})") from error
    if type(raw) is not dict:
        raise MessageError(f"message: expected a map, got {type(raw).__name__}")
    name = raw.pop("kind", None)
    if type(name) is not str or name not in KINDS:
        raise MessageError(f"message: unknown kind {name!r}"[:200])
    schema = _SCHEMAS[name]
    if missing := _REQUIRED[name] - raw.keys():
        raise MessageError(f"{name}: missing {', '.join(sorted(missing))}")
    values: dict[str, Any] = {}
    for key, value in raw.items():
        found = schema.get(key) if isinstance(key, str) else None
        if found is None:
            raise MessageError(f"{name}: unknown field {key!r}"[:200])
        check, where = found
        values[key] = check(value, where)
    return KINDS[name](**values)
