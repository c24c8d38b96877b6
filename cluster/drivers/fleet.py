"""The nodes of a fleet: they join, die, fall silent and come back. Pure; time is an argument.

A node is known by its id; each of its processes is an *incarnation*. A node is **live** from its `Hello` until the
next incarnation has begun, it leaves, or nothing was heard of it for ``timeout_ms``. One that was only silent (a
stopped process, a cut cable) is live again with its next message; one that is gone comes back with a new incarnation's
`Hello`.

What comes out are the coordinator's events, `NodeJoined` and `NodeLost`. `Faults` recognizes what no waiting removes: a
cluster that refuses us, an engine that cannot be made; `FleetFault` ends the command for a fault that is known only
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
    """The id of a node by its number, 1 for the first: it keeps it through all its incarnations."""
    return f"node-{number}"


def number_of(node_id: str) -> int:
    """The number of a node that has one (`node_name`)."""
    return int(node_id.removeprefix("node-"))


@dataclass(slots=True)
class FleetMember:
    """One node as the master knows it."""

    hello: Hello
    heard_ms: int
    live: bool = True
    gone: bool = False
    """Its process died, or was sent away; only a new incarnation brings the node back."""


class Fleet:
    """See the module's text.

    Args:
        timeout_ms: silence after which a node counts as lost: four heartbeats. What was cut right after one is so
            known within a second, with something to spare for a busy machine.
        host: the name of the master's machine, as a `Hello` gives it; None: no node runs there.
    """

    def __init__(self, timeout_ms: int = 800, host: str | None = None) -> None:
        self.timeout_ms = timeout_ms
        self.host = host
        self.members: dict[str, FleetMember] = {}
        self._superseded: set[str] = set()
        """Peers in whose place there is another one."""
        self._order: dict[str, int] = {}
        """The place of each peer in the order in which they were first heard."""
        self._looked_ms = 0

    @property
    def live(self) -> tuple[str, ...]:
        return tuple(node_id for node_id, member in self.members.items() if member.live)

    def peer(self, node_id: str) -> str | None:
        """The channel's name for a live node; None: there is no such node now."""
        member = self.members.get(node_id)
        return member.hello.peer if member is not None and member.live else None

    def began(self, begun: Begun) -> list[Change]:
        """A node's process began: the one before it is no more."""
        member = self.members.get(begun.node_id)
        if self._is_older(begun.peer, member) or member is None or member.hello.peer == begun.peer:
            return []
        return self.gone(member.hello.peer, begun.before or "its process began anew")

    def said_hello(self, hello: Hello, now_ms: int) -> list[Change]:
        """A node can search, or said hello once more. Of one in whose place there is another it means nothing."""
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
        """Any message of a peer is a sign of life; of one that is gone or unknown it means nothing."""
        member = self.members.get(peer.rpartition("/")[0])
        if member is None or member.hello.peer != peer or member.gone:
            return []
        member.heard_ms = now_ms
        if member.live:
            return []
        member.live = True
        return [self._joined(member.hello)]

    def gone(self, peer: str, reason: str) -> list[Change]:
        """End that incarnation of the node: it died, or leaves. No effect where a newer one has begun."""
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
        """Nodes that were silent for too long. To be called at the latest when `next_look_ms` is over.

        Where this call itself comes very late, the master slept and their messages wait unread: no one is lost then,
        nor in the time that it takes to read them.
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
        """Milliseconds until `expire` may find a node silent for too long, a quarter of that time at the most."""
        heard = [member.heard_ms for member in self.members.values() if member.live]
        first = min(heard, default=now_ms) + self.timeout_ms
        return max(1, min(first - now_ms, self.timeout_ms // 4))

    def _is_older(self, peer: str, member: FleetMember | None) -> bool:
        """Whether that incarnation of a node began before the one that is known: it was cut off meanwhile, and the
        node began elsewhere. It is superseded then."""
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
    """Tells a fleet that will never be one from a node that has a bad moment.

    Args:
        local: the nodes are processes of this machine, all with what this machine has. Elsewhere one machine may lack
            what the others have: the fleet is broken where no node has come up and none of the places has one.
    """

    local: bool
    broken: str = ""
    """The reason why there will be no fleet, in words for a person; empty: there may be one. The first fault stays."""
    _up: set[str] = field(default_factory=set)
    _failed: set[str] = field(default_factory=set)

    def refused(self, why: str) -> None:
        """The cluster does not let us in."""
        self._break(why)

    def came_up(self, node_id: str) -> None:
        """Note that a node, or the fallback, can search: a later fault of it may pass."""
        self._up.add(node_id)
        self._failed.discard(node_id)

    def failed(self, node_id: str, why: str, places: int | None) -> None:
        """An engine could not be made.

        Args:
            node_id: whose.
            why: as it said.
            places: how many nodes the machines offer; None or 0: not known yet.
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
    """Hears the fleet's events, and of a fleet that will never be one: what runs goes on, and then the command ends.

    Args:
        then: called once, when the fault is known.
    """

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then
        self._why = ""

    def on_event(self, name: str, fields: dict[str, object]) -> None:
        """As `cluster.api.Listener.on_event`."""
        if name == "fleet_broken" and not self._why:
            self._why = str(fields["why"])
            self._then()

    def check(self) -> None:
        """Raise FleetError if there was such a fault."""
        if self._why:
            raise FleetError(self._why)
