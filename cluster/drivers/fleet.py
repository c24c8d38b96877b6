"""The nodes of a fleet: they join, die, fall silent and return. Pure; time is an argument.

A node is known by its id; each of its processes is an *incarnation*. A node is **live** from its `Hello` until the next
incarnation has begun, it leaves, or it has been silent for ``timeout_ms``. A node that was only silent (a stopped
process, a cut cable) is live again with its next message; a node that is gone returns with the `Hello` of a new
incarnation.

The output is the coordinator's events `NodeJoined` and `NodeLost`. `Faults` recognizes faults that waiting cannot cure:
a cluster that refuses us, an engine that cannot be made; `FleetFault` ends the command for a fault that is known only
after the fleet was opened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cluster.api import FleetError
from cluster.coordination.events import FALLBACK, NodeJoined, NodeLost
from cluster.network.messages import Begun, Hello

Change = NodeJoined | NodeLost


def node_name(number: int) -> str:
    """The id of a node by its number, 1 for the first. All its incarnations keep the id."""
    return f"node-{number}"


def number_of(node_id: str) -> int:
    """The number in a node id made by `node_name`."""
    return int(node_id.removeprefix("node-"))


@dataclass(slots=True)
class FleetMember:
    """One node as the master knows it."""

    hello: Hello
    heard_ms: int
    live: bool = True
    gone: bool = False
    """Its process died or was dismissed; only a new incarnation brings the node back."""


class Fleet:
    """See the module docstring.

    Args:
        timeout_ms: silence after which a node counts as lost: four heartbeats. A node cut off right after a heartbeat
            is thus known within a second, with some slack for a busy machine.
        host: the name of the master's machine, as a `Hello` gives it; None: no node runs there.
    """

    def __init__(self, timeout_ms: int = 800, host: str | None = None) -> None:
        self.timeout_ms = timeout_ms
        self.host = host
        self.members: dict[str, FleetMember] = {}
        self._superseded: set[str] = set()
        """Peers that another incarnation has replaced."""
        self._order: dict[str, int] = {}
        """The rank of each peer in the order of their first messages."""
        self._looked_ms = 0

    @property
    def live(self) -> tuple[str, ...]:
        return tuple(node_id for node_id, member in self.members.items() if member.live)

    def peer(self, node_id: str) -> str | None:
        """The channel's name for a live node; None: the node is not live."""
        member = self.members.get(node_id)
        return member.hello.peer if member is not None and member.live else None

    def began(self, begun: Begun) -> list[Change]:
        """A node's process began: the previous one no longer exists."""
        member = self.members.get(begun.node_id)
        if self._is_older(begun.peer, member) or member is None or member.hello.peer == begun.peer:
            return []
        return self.gone(member.hello.peer, begun.before or "its process began anew")

    def said_hello(self, hello: Hello, now_ms: int) -> list[Change]:
        """A node can search, or repeated its hello. Ignored if the peer has been superseded."""
        node_id = hello.node_id
        member = self.members.get(node_id)
        if hello.peer in self._superseded or self._is_older(hello.peer, member):
            return []
        if member is not None and member.hello.incarnation == hello.incarnation:
            return self.heard(hello.peer, now_ms)
        changes: list[Change] = []
        if member is not None:
            self._superseded.add(member.hello.peer)
            if member.live:
                changes.append(NodeLost(node_id, "its process began anew"))
        self.members[node_id] = FleetMember(hello, now_ms)
        return [*changes, self._joined(hello)]

    def heard(self, peer: str, now_ms: int) -> list[Change]:
        """Note a message of a peer as a sign of life; ignored if the peer is gone or unknown."""
        member = self.members.get(peer.rpartition("/")[0])
        if member is None or member.hello.peer != peer or member.gone:
            return []
        member.heard_ms = now_ms
        if member.live:
            return []
        member.live = True
        return [self._joined(member.hello)]

    def gone(self, peer: str, reason: str) -> list[Change]:
        """End that incarnation of the node, because it died or leaves. No effect if a newer one has begun."""
        member = self.members.get(peer.rpartition("/")[0])
        if member is None or member.hello.peer != peer or member.gone:
            return []
        member.gone = True
        return self._lose(member, reason)

    def silences(self, now_ms: int) -> dict[str, float]:
        """Seconds since the last message of each live node, by node id. From any thread."""
        members = list(self.members.items())
        return {node_id: max(0, now_ms - member.heard_ms) / 1000 for node_id, member in members if member.live}

    def is_gone(self, peer: str) -> bool:
        """Whether that incarnation of a node is known to be over."""
        member = self.members.get(peer.rpartition("/")[0])
        return member is not None and member.hello.peer == peer and member.gone

    def is_superseded(self, peer: str) -> bool:
        """Whether another incarnation of that node has said hello since."""
        return peer in self._superseded

    def expire(self, now_ms: int) -> list[Change]:
        """Mark nodes as lost that were silent for too long. Call it at the latest after `next_look_ms`.

        If this call comes very late, the master itself was suspended and messages wait unread: then no node counts as
        lost, not even during the time that it takes to read them.
        """
        late, self._looked_ms = now_ms - self._looked_ms, now_ms
        if late >= self.timeout_ms // 2:
            for member in self.members.values():
                member.heard_ms = max(member.heard_ms, now_ms - self.timeout_ms // 2)
            return []
        changes: list[Change] = []
        for member in self.members.values():
            silent = now_ms - member.heard_ms
            if member.live and silent >= self.timeout_ms:
                changes += self._lose(member, f"not heard of for {silent} ms")
        return changes

    def next_look_ms(self, now_ms: int) -> int:
        """Milliseconds until `expire` may find a silent node, at most a quarter of the timeout."""
        heard = [member.heard_ms for member in self.members.values() if member.live]
        first = min(heard, default=now_ms) + self.timeout_ms
        return max(1, min(first - now_ms, self.timeout_ms // 4))

    def _is_older(self, peer: str, member: FleetMember | None) -> bool:
        """Whether that incarnation of a node began before the current one. It was cut off in the meantime, and the node
        began elsewhere, so it is superseded.
        """
        place = self._order.setdefault(peer, len(self._order))
        if member is None or place >= self._order[member.hello.peer]:
            return False
        self._superseded.add(peer)
        return True

    def _joined(self, hello: Hello) -> NodeJoined:
        beside_master = hello.host == self.host
        return NodeJoined(hello.node_id, hello.engine, hello.can_split, hello.nps, beside_master)

    def _lose(self, member: FleetMember, reason: str) -> list[Change]:
        if not member.live:
            return []
        member.live = False
        return [NodeLost(member.hello.node_id, reason)]


@dataclass(slots=True)
class Faults:
    """Distinguishes a fleet that can never work from a passing fault of a node.

    Args:
        local: the nodes are processes of this machine, so all have the same files and programs. On several machines one
            may lack something that the others have: then the fleet is broken only if no node has come up and every slot
            has failed.
    """

    local: bool
    broken: str = ""
    """The reason why the fleet cannot work, as text for the user; empty: it may work. The first fault is kept."""
    _up: set[str] = field(default_factory=set)
    _failed: set[str] = field(default_factory=set)

    def refused(self, why: str) -> None:
        """Note that the cluster refuses us."""
        self._break(why)

    def came_up(self, node_id: str) -> None:
        """Note that a node, or the fallback, can search: a later fault of it may be temporary."""
        self._up.add(node_id)
        self._failed.discard(node_id)

    def failed(self, node_id: str, why: str, places: int | None) -> None:
        """Note that an engine could not be made.

        Args:
            node_id: the node whose engine it is.
            why: the error that it reported.
            places: the number of nodes for which the machines have room; None or 0: not known yet.
        """
        if node_id in self._up:
            return
        if node_id == FALLBACK:
            self._break(f"the fallback cannot start: {node_id}: {why}")
            return
        self._failed.add(node_id)
        if self.local:
            self._break(f"a node cannot start: {node_id}: {why}")
        elif not self._up - {FALLBACK} and places and len(self._failed) >= places:
            self._break(f"no node can start: {node_id}: {why}")

    def _break(self, why: str) -> None:
        self.broken = self.broken or why


class FleetFault:
    """Listens to the fleet's events. If the fleet can never work, running tasks continue, and then the command ends.

    Args:
        then: called once, when the fault is known.
    """

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then
        self._why = ""

    def on_event(self, name: str, fields: dict[str, object]) -> None:
        """Like `cluster.api.Listener.on_event`."""
        if name == "fleet_broken" and not self._why:
            self._why = str(fields["why"])
            self._then()

    def check(self) -> None:
        """Raise FleetError if there was such a fault."""
        if self._why:
            raise FleetError(self._why)
