"""Messages between the master and its nodes, as values and as msgpack.

One message is one msgpack map: ``{"kind": "report", field: value, …}``. This module is the only place that checks a
peer's bytes: an unknown kind, a missing, extra or wrongly typed field, a number out of range or a message that is too
large raises a `MessageError` that names the error and the field. The result of `decode` needs no further check, except
that moves are only *words* here: `cluster.coordination.root` checks whether they are legal.

Master to node: `Job`, `Stop`, `NewGame`, `Peers`, `End`. Node to master: `Begun`, `Failed`, `Hello`, `Heartbeat`,
`Report`, `Done`, `Leave`, `Shared`, `Starves`.

Scores are `worker.score` scores from the side to move at the job's own root, the position after ``Job.moves``, on the
scale of our own network (`cluster.network.scale`).
"""

from __future__ import annotations

import contextlib
import re
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from cluster.network.scale import Scale
from worker.engine import Bound, Limits, SearchInfo
from worker.rules import EnteringKingRule, Rules
from worker.score import MATE, MAX_EVAL, MAX_PLY

MAX_BYTES: Final = 64 * 1024
"""The largest message. A job after 2,000 moves of game takes about 12 KiB."""

MAX_MOVES: Final = 4096
"""The most moves in one list."""

MAX_MULTIPV: Final = 600
"""More lines than any position has legal moves (593)."""

LONGEST_GAME: Final = 100_000
"""The highest move limit of a game."""

COMMON: Final = Scale()
"""The scale of messages."""


class MessageError(ValueError):
    """Bytes from a peer are not a valid message. The text names the error, the kind and the field."""


_Id = Annotated[int, Meta(ge=0, le=2**53)]
_Count = Annotated[int, Meta(ge=0, le=2**62)]
_Milliseconds = Annotated[int, Meta(ge=0, le=2**40)]
_Depth = Annotated[int, Meta(ge=0, le=4 * MAX_PLY)]
_Score = Annotated[int, Meta(ge=-MATE, le=MATE)]
_DrawValue = Annotated[int, Meta(ge=1 - MAX_EVAL, le=MAX_EVAL - 1)]
_MultiPv = Annotated[int, Meta(ge=1, le=MAX_MULTIPV)]
_Word = Annotated[str, Meta(min_length=1, max_length=8)]
_Words = Annotated[tuple[_Word, ...], Meta(max_length=MAX_MOVES)]
_Name = Annotated[str, Meta(min_length=1, max_length=128)]
_Text = Annotated[str, Meta(max_length=1024)]
_Url = Annotated[str, Meta(min_length=1, max_length=256)]
_Key = Annotated[str, Meta(min_length=40, max_length=40)]
"""A public key, as ZeroMQ writes it (Z85)."""
_MOST_PEERS: Final = 64


class _Body(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """A message: an immutable value, whose fields are checked when it is read from bytes."""


class Job(_Body, frozen=True, tag="job"):
    """An order to search. It replaces the node's current search, if any.

    ``moves`` is the game's history *and* the path down the split tree; ``searchmoves`` and ``ignoremoves`` are moves of
    the position after it. Without any limit the job runs until `Stop`.
    """

    search_id: _Id
    job_id: _Id
    """Rises with every job of a master, over all searches and nodes."""
    sfen: Annotated[str, Meta(min_length=1, max_length=256)]
    moves: _Words = ()
    searchmoves: _Words = ()
    ignoremoves: _Words = ()
    multipv: _MultiPv = 1
    movetime_ms: _Milliseconds | None = None
    nodes: _Count | None = None
    depth: _Depth | None = None
    alpha: _Score | None = None
    """Lower edge of the range of scores to find exactly; ``beta`` is the upper edge; see `worker.engine.Limits`."""
    beta: _Score | None = None
    max_moves: Annotated[int, Meta(ge=0, le=LONGEST_GAME)] = 0
    """The rules of the game (this and the next three fields), as in `cluster.api.SearchRequest`."""
    draw_black: _DrawValue = 0
    draw_white: _DrawValue = 0
    entering: EnteringKingRule = EnteringKingRule.CSA_27
    background: bool = False
    """Whether the job gives way to everything else on its machine, because other nodes can answer instead."""

    def limits(self, scale: Scale = COMMON) -> Limits:
        """The limits, for an engine with that scale."""
        alpha, beta = scale.window(self.alpha, self.beta)
        return Limits(
            movetime_ms=self.movetime_ms,
            nodes=self.nodes,
            depth=self.depth,
            multipv=self.multipv,
            searchmoves=self.searchmoves,
            ignoremoves=self.ignoremoves,
            alpha=alpha,
            beta=beta,
        )

    def rules(self, own: Rules, scale: Scale = COMMON) -> Rules:
        """The rules for this job's search: the engine's ``own``, overridden by those in the job."""
        return own.of_search(self.max_moves, scale.own(self.draw_black), scale.own(self.draw_white), self.entering)


class Stop(_Body, frozen=True, tag="stop"):
    """End the job ``job_id`` and every earlier one, including jobs still on their way."""

    job_id: _Id


EVERY_JOB: Final = 2**53
"""A `Stop` with this id dismisses a node: no job has a higher id, so the node never searches again."""


class NewGame(_Body, frozen=True, tag="new_game"):
    """A new game begins: forget the transposition table when the next job arrives."""


class Peers(_Body, frozen=True, tag="peers"):
    """Take part in sharing from now on: listen to these nodes only.

    The first three fields are parallel: each node's address, name, and the key that proves its name.
    """

    urls: Annotated[tuple[_Url, ...], Meta(max_length=_MOST_PEERS)]
    names: Annotated[tuple[_Name, ...], Meta(max_length=_MOST_PEERS)]
    keys: Annotated[tuple[_Key, ...], Meta(max_length=_MOST_PEERS)]
    listeners: Annotated[tuple[_Key, ...], Meta(max_length=_MOST_PEERS)]
    """The keys of those that may listen to this node."""
    bytes_per_s: _Count
    """The most bytes a second that the node may send to all its listeners together."""


class End(_Body, frozen=True, tag="end"):
    """The node's process is to end. ``again``: another one replaces it."""

    again: bool


class Begun(_Body, frozen=True, tag="begun"):
    """The first message of an incarnation: its process runs, so no earlier process of that node does. It is making its
    engine now; `Hello` follows, or `Failed`."""

    node_id: _Name
    incarnation: _Name
    """Differs each time the node's process starts anew."""
    before: Annotated[str, Meta(max_length=128)] = ""
    """How the previous process ended, as text; empty: there was none."""

    @property
    def peer(self) -> str:
        """The node's name on the channel."""
        return f"{self.node_id}/{self.incarnation}"


class Failed(_Body, frozen=True, tag="failed"):
    """The node's engine cannot be made; its process ends."""

    node_id: _Name
    why: Annotated[str, Meta(min_length=1, max_length=1024)]


class Hello(_Body, frozen=True, tag="hello"):
    """The node can search now. Sent again after each reconnection."""

    node_id: _Name
    incarnation: _Name
    """As in `Begun`."""
    host: _Name
    """Its machine's name."""
    pid: _Count
    engine: _Name
    can_split: bool = True
    nps: _Count = 0
    """See `cluster.coordination.events.NodeJoined`."""
    share_url: Annotated[str, Meta(max_length=256)] = ""
    """Address at which other nodes listen to its table entries (`cluster.sharing.table`); empty: it does not share."""
    share_meaning: Annotated[str, Meta(max_length=64)] = ""
    """Only nodes with the same value can use each other's entries."""

    @property
    def peer(self) -> str:
        """The node's name on the channel."""
        return f"{self.node_id}/{self.incarnation}"


class Heartbeat(_Body, frozen=True, tag="heartbeat"):
    """The node is alive. ``job_id`` is the last job that it accepted (0: none yet); ``idle``: that job is over."""

    node_id: _Name
    incarnation: _Name
    job_id: _Id
    idle: bool


class Report(_Body, frozen=True, tag="report"):
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
    hashfull: Annotated[int, Meta(ge=0, le=1000)]
    pv: Annotated[tuple[_Word, ...], Meta(min_length=1, max_length=MAX_MOVES)]
    multipv: _MultiPv = 1

    @classmethod
    def of(cls, node_id: str, job: Job, info: SearchInfo, scale: Scale = COMMON) -> Report:
        """Make the report of ``info``, which an engine with that scale found in a search for ``job``."""
        return cls(
            node_id=node_id,
            search_id=job.search_id,
            job_id=job.job_id,
            depth=info.depth,
            seldepth=info.seldepth,
            score=scale.common(info.score),
            bound=info.bound,
            nodes=info.nodes,
            time_ms=info.time_ms,
            hashfull=info.hashfull,
            pv=tuple(info.pv),
            multipv=info.multipv,
        )


class Done(_Body, frozen=True, tag="done"):
    """The job is over, by its limits or by `Stop`; its last lines were sent earlier, as reports."""

    node_id: _Name
    search_id: _Id
    job_id: _Id
    nodes: _Count
    time_ms: _Milliseconds
    error: _Text = ""
    """If not empty: why the engine could not do the job."""


class Leave(_Body, frozen=True, tag="leave"):
    """The node is about to go (its machine is reclaimed, or its service is stopped): give its work to others."""

    node_id: _Name
    reason: Annotated[str, Meta(min_length=1, max_length=128)]


class Shared(_Body, frozen=True, tag="shared"):
    """Counts of the table entries and the changes of histories that the node sent and received since the previous such
    message; see `cluster.sharing.table.Traffic`."""

    node_id: _Name
    time_ms: _Milliseconds
    """Time during which it searched, or other nodes sent to it."""
    min_depth: _Depth
    """In the end, entries of at least this depth were shared."""
    bytes_out: _Count
    entries_out: _Count
    dropped: _Count
    bytes_in: _Count
    entries_in: _Count
    changes_out: _Count
    changes_in: _Count
    used: _Count
    lost: _Count
    refused: _Count


class Starves(_Body, frozen=True, tag="starves"):
    """Other processes take the cores that the node searches on."""

    node_id: _Name
    percent: Annotated[int, Meta(ge=0, le=100)]
    """The share of a core's time that its search got."""
    cores: _Count
    """The number of cores on which its process may run."""


Message = (
    Job | Stop | NewGame | Peers | End | Begun | Failed | Hello | Heartbeat | Report | Done | Leave | Shared | Starves
)

Order = Job | Stop | NewGame | Peers | End
"""A message from a master to a node."""

_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final[msgspec.msgpack.Decoder[Message]] = msgspec.msgpack.Decoder(Message)
_NO_MSGPACK: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Errors of msgspec for bytes that are cut off, not text, or nested too deeply."""
_LONGEST_ERROR: Final = 200
"""Characters of an error's text, which may quote the peer."""
_PLACE: Final = re.compile(r"(?P<what>.*) - at `\$(?P<where>.*)`", re.DOTALL)
"""An error of msgspec, and the path of the value in question."""


class _Kind(Struct):
    """The kind of a message whose other fields are invalid."""

    kind: str


_KIND_DECODER: Final = msgspec.msgpack.Decoder(_Kind)


def encode(message: Message) -> bytes:
    """``message`` as bytes.

    Raises:
        MessageError: it is larger than `MAX_BYTES`.
    """
    data = _ENCODER.encode(message)
    if len(data) > MAX_BYTES:
        kind = message.__struct_config__.tag
        raise MessageError(f"{kind}: {len(data)} bytes, at most {MAX_BYTES} are allowed")
    return data


def decode(data: bytes) -> Message:
    """The message in ``data``, every field checked.

    Raises:
        MessageError: ``data`` is not a valid message.
    """
    if len(data) > MAX_BYTES:
        raise MessageError(f"message: {len(data)} bytes, at most {MAX_BYTES} are allowed")
    try:
        return _DECODER.decode(data)
    except msgspec.ValidationError as error:
        raise MessageError(_described(error, data)) from error
    except _NO_MSGPACK as error:
        raise MessageError(f"message: no msgpack ({error})") from error


def _described(error: msgspec.ValidationError, data: bytes) -> str:
    """The error as text: kind, field, and the fault of its value."""
    found = _PLACE.fullmatch(str(error))
    what, where = (found["what"], found["where"]) if found else (str(error), "")
    kind = "message"
    if where != ".kind":
        with contextlib.suppress(*_NO_MSGPACK):
            kind = _KIND_DECODER.decode(data).kind
    # It contains text from the peer, and goes into logs and terminals.
    text = f"{kind}{where}: {what}"[:_LONGEST_ERROR]
    return text if text.isprintable() else ascii(text)[1:-1]
