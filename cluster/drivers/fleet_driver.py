"""The whole fleet: the coordinator on real nodes, with the channel and the fallback.

On one machine the master's fork server makes the nodes, and replaces them when they end. On several machines Ray
chooses their machines (`cluster.drivers.node_placement`); Ray is loaded only in that case.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cluster.api import FleetError, Listener
from cluster.coordination.events import FALLBACK, NodeJoined, Received
from cluster.coordination.settings import Settings, SharingSettings
from cluster.drivers.child_processes import Fallback, LocalForkServer
from cluster.drivers.fleet import Change, Faults, Fleet, node_name, number_of
from cluster.drivers.host import CoordinatorHost, HostedSearcher, now_ms, prepare_this_machine
from cluster.engine_spec import FleetSpec
from cluster.machine.status import StatusFile
from cluster.metrics.fleet import FleetMetrics
from cluster.network.channel import ChannelServer
from cluster.network.messages import (
    EVERY_JOB,
    Begun,
    End,
    Failed,
    Heartbeat,
    Hello,
    Leave,
    Message,
    NewGame,
    Order,
    Shared,
    Starves,
    Stop,
)
from cluster.network.own_host import machine_name
from cluster.node.process import NodeSpec
from cluster.sharing.master import FleetSharing
from worker.engine import Engine

if TYPE_CHECKING:
    from cluster.drivers.node_placement import NodePlacement
    from cluster.drivers.ray_cluster import RayFacts

_log = logging.getLogger(__name__)

_MOST_REFUSALS = 200
"""The most different refusals that are logged."""
_OPENING_S = 5.0
"""Seconds for which `open` waits for more than the fallback: for this machine's own nodes, which start at the same
time, or for the first answer of a remote cluster, which may refuse us."""


class FleetSearcher(HostedSearcher):
    """A `cluster.api.Searcher` whose nodes are separate processes.

    Args:
        nodes: the number of nodes on this machine. With ``address`` the machines of that cluster determine the number:
            one node for each unit of their custom resource ``searcher``, including machines that join later.
        address: ``host:port`` or ``auto`` of a running Ray cluster; None: the fleet is this machine. Ray's token comes
            from Ray's own variables.
        engine: how a node makes its engine, from its number in the fleet (0, 1, …) and the number of nodes on its
            machine; picklable. Its ``net``: the path of the node's network on its machine, if the master sent it there.
        fallback: how the master's own machine makes the fallback's engine.
        report_port: the port to which nodes connect; 0: any free port. Set it if a firewall has to allow it.
        advertise: ``host:port`` to announce to the nodes, if they cannot reach the master by its own address.
        metrics: receives all measurements of the fleet.
        at_most: the number of nodes for which this machine has processors; the rest of ``nodes`` is left out. None: no
            limit.
        kinds: the engines of the nodes and the fallback; ``engine`` and ``fallback`` may make others instead.
    """

    def __init__(
        self,
        nodes: int = 2,
        address: str | None = None,
        engine: Callable[..., Engine] | None = None,
        fallback: Callable[[], Engine] | None = None,
        settings: Settings | None = None,
        sharing: SharingSettings | None = None,
        name: str = "gougi",
        report_port: int = 0,
        advertise: str | None = None,
        metrics: FleetMetrics | None = None,
        at_most: int | None = None,
        kinds: FleetSpec | None = None,
    ) -> None:
        wanted = nodes if at_most is None else min(nodes, at_most)
        if wanted < 1:
            raise ValueError(f"{wanted} nodes: at least one is needed")
        if address not in (None, "auto"):
            host, _, port = address.rpartition(":")
            if not host or not port.isdigit():
                raise FleetError(f"no Ray cluster at {address}: expected host:port or auto")
        self.name = name
        self._asked, self._wanted = nodes, wanted
        self._kinds = kinds or FleetSpec()
        self._engine = engine or self._kinds.build
        self._fallback_engine = fallback or self._kinds.fallback.build
        self._settings = settings or Settings()
        self._share = sharing or SharingSettings()
        self._report_port = report_port
        self._advertise = advertise
        self._metrics = metrics
        self._address = address
        self._fork_server: LocalForkServer | None = None
        """If the fleet is this machine."""
        self._supervisor: NodePlacement | None = None
        """If the fleet is several machines."""
        self._fleet = Fleet(host=machine_name())
        self._channel: ChannelServer | None = None
        self._fallback: Fallback | None = None
        self._host: CoordinatorHost | None = None
        self._sharing: FleetSharing | None = None
        self._status: StatusFile | None = None
        self._capacity: int | None = self._wanted if address is None else None
        """The number of slots for nodes; None: Ray has not reported it yet."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._refused: set[tuple[str, str]] = set()
        """Pairs of a refused sender and the reason, as far as they were logged."""
        self._faults = Faults(local=address is None)
        self._begun = False
        """`open` has returned: from then on a fault is reported as an event."""
        self._port = ""
        self._host_of_ray = "127.0.0.1"
        """This machine's address as the others see it, once Ray has reported it."""

    @property
    def live(self) -> tuple[str, ...]:
        """The nodes that are live now, and ``fallback`` if it is."""
        return self._fleet.live

    async def open(self, listener: Listener) -> None:
        """Compile if necessary, start the fallback, and start the nodes or connect to Ray, which starts them. Returns
        when a search can begin, for which the fallback is enough: nodes join as they arrive, even during a search.

        Reports progress to the listener: ``nodes_left_out``, ``compiling``, ``node_starting``, ``node_joined``; with an
        address ``ray_starting`` and ``ray_started``. A fault that would have stopped it from opening but is discovered
        later is reported as ``fleet_broken``: the searcher continues with the nodes that it has.

        Raises:
            FleetError: it cannot begin and waiting would not help: an engine cannot be made, or the cluster refuses us.
        """
        try:
            await self._open(listener)
        except BaseException:
            await self.close()
            raise

    async def new_game(self) -> None:
        """Notify every node that a new game begins."""
        for node_id in self._fleet.live:
            self.send(node_id, NewGame())

    async def close(self) -> None:
        """End the nodes and the fallback, and leave Ray. Idempotent."""
        host, self._host = self._host, None
        if host is not None:
            host.close()
        if self._sharing is not None:
            self._sharing.close()
        if self._status is not None:
            self._status.close()
        if self._metrics is not None:
            self._metrics.closed()
        for member in self._fleet.members.values():
            self._tell(member.hello.peer, End(again=False))
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._fallback is not None:
            await self._fallback.close()
            self._fallback = None
        if self._fork_server is not None:
            await self._fork_server.close()
            self._fork_server = None
        if self._supervisor is not None:
            await self._supervisor.close()
            self._supervisor = None
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def send(self, node_id: str, order: Order) -> None:
        """`cluster.drivers.host.Transport`. The node's heartbeats reveal a lost order, which is then sent again."""
        peer = self._fleet.peer(node_id)
        if peer is not None and self._channel is not None:
            self._channel.send(peer, order)
            if self._metrics is not None:
                self._metrics.sent(node_id, order)

    async def whole(self, patience_s: float) -> int:
        """Wait until every known node has joined, for callers that cannot start earlier; returns how many have joined
        by then.

        Raises:
            FleetError: waiting would not help, as in `open`.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._until(lambda: 0 < (self._capacity or 0) <= self._there())
        return self._there()

    async def _until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds. Raises FleetError if waiting would not help."""
        while not condition():
            if self._faults.broken:
                raise FleetError(self._faults.broken)
            self._changed.clear()
            await self._changed.wait()

    async def _open(self, listener: Listener) -> None:
        self._status = StatusFile(self.name)
        listener = self._status.watching(listener)
        if self._metrics is not None:
            listener = self._metrics.watching(listener, lambda: self._fleet.silences(now_ms()))
        host = self._host = CoordinatorHost(self._settings, self, listener)
        if self._address is None and self._wanted < self._asked:
            self.log("nodes_left_out", nodes=self._wanted, asked=self._asked)
        await prepare_this_machine(listener)
        listen = "127.0.0.1" if self._address is None else "0.0.0.0"
        channel = self._channel = ChannelServer(self._receive, self._refuse, listen, self._report_port)
        self._port = channel.open().rpartition(":")[2]
        self._fallback = Fallback(
            NodeSpec(FALLBACK, channel.admit(FALLBACK), self._fallback_engine, scale=self._kinds.scale_of(None)),
            lambda name, fields: host.log(name, **fields),
        )
        self._fallback.open()
        self._begin(self._look_for_the_silent())
        if self._share.depth:
            self._sharing = FleetSharing(
                self._share.bytes_per_s,
                channel.public_key,
                lambda: self._fleet.live,
                self.send,
                lambda name, fields: host.log(name, **fields),
            )
        if self._address is None:
            self._start_here()
        else:
            from cluster.drivers.node_placement import NodePlacement

            self._supervisor = NodePlacement(self._address, self)
            self._supervisor.open()
        await self._can_begin()

    def _start_here(self) -> None:
        """Start the nodes of a fleet of this machine."""
        fork_server = self._fork_server = LocalForkServer(lambda name, fields: self.log(name, **fields))
        fork_server.open()
        for node_id in map(node_name, range(1, self._wanted + 1)):
            self.log("node_starting", node=node_id)
            fork_server.start(self.spec(node_id, self._wanted, None))

    def spec(self, node_id: str, places: int, net: str | None) -> NodeSpec:
        """`cluster.drivers.node_placement.Master`. ``net``: None: the one of its engine."""
        channel = self._channel
        assert channel is not None
        url = f"tcp://{self._advertise or f'{self._host_of_ray}:{self._port}'}"
        address = replace(channel.admit(node_id), url=url)
        number = number_of(node_id) - 1
        engine = partial(self._engine, number, places)
        scale = self._kinds.scale_of(number)
        return NodeSpec(node_id, address, partial(engine, net=net) if net else engine, self._share.depth, scale)

    def net_of(self, node_id: str) -> str | None:
        """`cluster.drivers.node_placement.Master`."""
        return self._kinds.net_of(number_of(node_id) - 1)

    def cannot_start(self, node_id: str, why: str) -> None:
        """`cluster.drivers.node_placement.Master`."""
        self._failed(Failed(node_id, why[:1000]))

    def _there(self) -> int:
        return sum(node_id != FALLBACK for node_id in self._fleet.live)

    async def _can_begin(self) -> None:
        await self._until(lambda: bool(self._fleet.live))
        with suppress(TimeoutError):
            async with asyncio.timeout(_OPENING_S):
                local = self._address is None
                await self._until(lambda: self._there() == self._wanted if local else self._capacity is not None)
        if self._faults.broken:
            raise FleetError(self._faults.broken)
        self._begun = True

    def ray_found(self, facts: RayFacts) -> None:
        """`cluster.drivers.node_placement.Master`."""
        self._host_of_ray = facts.host
        self._capacity = facts.capacity
        self._changed.set()

    def has_places(self, places: int) -> None:
        """`cluster.drivers.node_placement.Master`."""
        self._capacity = max(self._capacity or 0, places)

    def ray_refused(self, why: str) -> None:
        """`cluster.drivers.node_placement.Master`: if the fleet is still opening, opening fails."""
        self._look_for_a_fault(lambda: self._faults.refused(why))

    def is_live(self, node_id: str) -> bool:
        """`cluster.drivers.node_placement.Master`."""
        return self._fleet.peer(node_id) is not None

    def adopted(self, node_id: str) -> None:
        """`cluster.drivers.node_placement.Master`. A node that was dismissed gives up its slot: another incarnation of
        it begins.
        """
        member = self._fleet.members.get(node_id)
        if member is not None and member.gone:
            self._tell(member.hello.peer, End(again=True))

    def log(self, name: str, **fields: object) -> None:
        """`cluster.drivers.node_placement.Master`: notify the listener."""
        if self._host is not None:
            self._host.log(name, **fields)

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _look_for_the_silent(self) -> None:
        while True:
            try:
                self._apply(self._fleet.expire(now_ms()))
            except Exception:  # after any error of one node, the next one is checked too
                _log.exception("a node's loss could not be handled")
            await asyncio.sleep(self._fleet.next_look_ms(now_ms()) / 1000)

    def _receive(self, peer: str, message: Message) -> None:
        """Handle any message of a node."""
        if isinstance(message, Order) or peer.rpartition("/")[0] != message.node_id:
            self._refuse(peer, f"a {type(message).__name__} that is not its own")
            return
        if isinstance(message, Begun):
            if message.peer == peer:
                self._apply(self._fleet.began(message))
            return
        if isinstance(message, Failed):
            self._failed(message)
            return
        if isinstance(message, Hello):
            if message.peer == peer:
                if changes := self._fleet.said_hello(message, now_ms()):
                    about = {"host": message.host, "pid": message.pid, "engine": message.engine}
                    self.log("node_ready", node=message.node_id, **about)
                if self._sharing is not None and not self._fleet.is_superseded(peer):
                    self._sharing.said_hello(message)
                self._apply(changes)
            return
        if isinstance(message, Leave):
            self._let_go(peer, message)
            return
        if isinstance(message, Heartbeat) and not message.idle and self._fleet.is_gone(peer):
            self._dismiss(peer, "it searches though it was sent away")
            return
        if isinstance(message, Heartbeat) and self._fleet.is_superseded(peer):
            self._tell(peer, End(again=False))
            return
        self._apply(self._fleet.heard(peer, now_ms()))
        if self._metrics is not None and message.node_id != FALLBACK:
            self._metrics.heard(message)
        if isinstance(message, Shared):
            if self._sharing is not None:
                self._sharing.heard(message)
            return
        if self._fleet.peer(message.node_id) != peer:
            return
        if isinstance(message, Starves):
            # The fallback must take only CPU time that the nodes leave.
            if message.node_id != FALLBACK:
                self.log("node_starves", node=message.node_id, percent=message.percent, cores=message.cores)
        elif self._host is not None:
            self._host.handle(Received(message))

    def _let_go(self, peer: str, message: Leave) -> None:
        """A node asks to leave: in a cluster because its machine or service ends; on this machine another replaces
        it."""
        if self._fleet.is_gone(peer):
            self._tell(peer, Stop(EVERY_JOB))  # it asks again: its dismissal was lost
        if self._fleet.peer(message.node_id) != peer:
            return
        self.log("node_leaves", node=message.node_id, why=message.reason)
        self._dismiss(peer, f"leaves: {message.reason}")
        if self._address is None:
            self._tell(peer, End(again=True))

    def _failed(self, message: Failed) -> None:
        """An engine cannot be made: if the fleet is still opening, opening fails; later there is another attempt."""
        self.log("node_failed", node=message.node_id, why=message.why)
        self._look_for_a_fault(lambda: self._faults.failed(message.node_id, message.why, self._capacity))

    def _look_for_a_fault(self, learn: Callable[[], None]) -> None:
        before = self._faults.broken
        learn()
        if self._begun and self._faults.broken != before:
            self.log("fleet_broken", why=self._faults.broken)
        self._changed.set()

    def _dismiss(self, peer: str, reason: str) -> None:
        """Give its work to others first, and only then end its search."""
        self._apply(self._fleet.gone(peer, reason))
        self._tell(peer, Stop(EVERY_JOB))

    def _tell(self, peer: str, order: Order) -> None:
        """Send an order to a node's process, whether it counts as that node now or not."""
        if self._channel is not None:
            self._channel.send(peer, order)

    def _refuse(self, peer: str, why: str) -> None:
        """Log a refusal once per sender and reason, because a refused sender tries again and again."""
        if len(self._refused) < _MOST_REFUSALS and (peer, why) not in self._refused:
            self._refused.add((peer, why))
            self.log("message_refused", why=f"{peer}: {why}" if peer else why)

    def _apply(self, changes: list[Change]) -> None:
        for change in changes:
            if isinstance(change, NodeJoined):
                self._faults.came_up(change.node_id)
            if self._host is not None:
                self._host.handle(change)
            if self._sharing is not None:
                if isinstance(change, NodeJoined):
                    self._sharing.joined(change.node_id)
                else:
                    self._sharing.fleet_changed()
        if changes:
            self._changed.set()
