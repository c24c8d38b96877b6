"""The whole fleet: the coordinator on real nodes, which are Ray actors, with the channel and the fallback."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from cluster.api import FleetError, Listener
from cluster.channel import ChannelAddress, ChannelServer
from cluster.events import FALLBACK, Received
from cluster.fallback import Fallback
from cluster.fleet import Change, Fleet
from cluster.host import CoordinatorHost, HostedSearcher, now_ms, prepare_this_machine
from cluster.messages import Hello, Job, Message, NewGame, Stop
from cluster.node_process import NodeSpec
from cluster.ray_cluster import NodeDied, RayCluster
from cluster.settings import EngineSpec, Settings
from worker.engine import Engine

_LOOK_S = 0.1
"""How often silent nodes are looked for."""
_LOCAL_FALLBACK_NODES = 20_000
"""Where the fallback shares the nodes' machine, it searches so many nodes (some 30 ms) and then rests."""
_LONGEST_PAUSE_S = 5.0
_REFUSED_AGAIN_MS = 10_000


class RaySearcher(HostedSearcher):
    """A `cluster.api.Searcher` over Ray nodes. One at a time in a process: Ray allows no more.

    Args:
        nodes: nodes of a cluster that is started on this machine; with ``address`` the number is what the machines of
            that cluster offer, one for each unit of their custom resource ``searcher``, and follows those that join.
        address: ``host:port`` or ``auto`` of a Ray cluster that runs. Its token comes from Ray's own variables.
        engine: how a node makes its engine; picklable.
        fallback: how the master's own machine makes the fallback's engine.
        start_timeout_s: how long `open` waits for nodes.
    """

    _in_use: ClassVar[bool] = False

    def __init__(
        self,
        nodes: int = 2,
        address: str | None = None,
        engine: Callable[[], Engine] | None = None,
        fallback: Callable[[], Engine] | None = None,
        settings: Settings | None = None,
        name: str = "gougi",
        start_timeout_s: float = 120.0,
    ) -> None:
        if nodes < 1:
            raise ValueError(f"{nodes} nodes: at least one is needed")
        self.name = name
        self._wanted = nodes
        self._engine = engine or EngineSpec().build
        self._fallback_engine = fallback or EngineSpec(hash_mb=16).build
        settings = settings or Settings()
        if address is None and settings.fallback_nodes is None:
            settings = replace(settings, fallback_nodes=_LOCAL_FALLBACK_NODES)
        self._settings = settings
        self._start_timeout_s = start_timeout_s
        self._cluster = RayCluster(address, nodes)
        self._fleet = Fleet()
        self._channel: ChannelServer | None = None
        self._channel_address: ChannelAddress | None = None
        self._fallback: Fallback | None = None
        self._host: CoordinatorHost | None = None
        self._keepers: list[asyncio.Task[None]] = []
        self._places = 0
        self._waiting = 0
        """Actors that were asked for and are not ready yet."""
        self._changed = asyncio.Event()
        self._refused: dict[str, int] = {}
        self._broken = ""
        """Why the first node that could not start did not."""

    @property
    def live(self) -> tuple[str, ...]:
        """The nodes that are there now, and ``fallback`` where that is."""
        return self._fleet.live

    async def open(self, listener: Listener) -> None:
        """Compile what is not yet, start or find Ray, the nodes and the fallback; returns when nodes can search.

        Tells the listener how far it is: ``compiling``, ``ray_starting``, ``ray_started``, ``node_starting``,
        ``node_joined``.

        Raises:
            FleetError: Ray or the nodes did not start, or another `RaySearcher` of this process is open.
        """
        if RaySearcher._in_use:
            raise FleetError("one RaySearcher at a time in a process: close the other one first")
        RaySearcher._in_use = True
        try:
            await self._open(listener)
        except BaseException:
            await self.close()
            raise

    async def new_game(self) -> None:
        """Tell every node that a new game begins."""
        for node_id in self._fleet.live:
            self.send(node_id, NewGame())

    async def close(self) -> None:
        """End the nodes, the fallback and, where it is our own, Ray. More than once does no harm."""
        host, self._host = self._host, None
        if host is not None:
            host.close()
        for keeper in self._keepers:
            keeper.cancel()
        for keeper in self._keepers:
            with contextlib.suppress(asyncio.CancelledError):
                await keeper
        self._keepers.clear()
        if self._fallback is not None:
            await self._fallback.close()
            self._fallback = None
        await self._cluster.close()
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        RaySearcher._in_use = False

    def send(self, node_id: str, order: Job | Stop | NewGame) -> None:
        """`cluster.host.Transport`. An order that gets lost is noticed by the node's heartbeats and sent again."""
        peer = self._fleet.peer(node_id)
        if peer is not None and self._channel is not None:
            self._channel.send(peer, order)

    async def _open(self, listener: Listener) -> None:
        host = self._host = CoordinatorHost(self._settings, self, listener)
        await prepare_this_machine(listener)
        host.log("ray_starting")
        await self._cluster.open()
        own_host = await self._cluster.own_host()
        self._channel = ChannelServer(self._receive, self._refuse, "127.0.0.1" if self._cluster.local else "0.0.0.0")
        self._channel_address = self._channel.open(own_host)
        host.log("ray_started")
        self._fallback = Fallback(
            NodeSpec(FALLBACK, replace(self._channel_address, url=self._own_url()), self._fallback_engine),
            lambda name, fields: host.log(name, **fields),
        )
        self._fallback.open()
        self._keepers.append(asyncio.ensure_future(self._look_for_the_silent()))
        wanted = self._wanted if self._cluster.local else 1 + await self._cluster.capacity()
        for _ in range(wanted):
            self._keep_another()
        await self._nodes_are_there(wanted if self._cluster.local else 1)

    def _own_url(self) -> str:
        assert self._channel_address is not None
        return f"tcp://127.0.0.1:{self._channel_address.url.rpartition(':')[2]}"

    async def _nodes_are_there(self, count: int) -> None:
        def there() -> int:
            return sum(node_id != FALLBACK for node_id in self._fleet.live)

        try:
            async with asyncio.timeout(self._start_timeout_s):
                while there() < count:
                    if self._broken:
                        raise FleetError(f"a node cannot start: {self._broken}")
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError as error:
            raise FleetError(
                f"{there()} of {count} nodes are there after {self._start_timeout_s:.0f} s: is a machine with the "
                "resource 'searcher' in the cluster?"
            ) from error

    def _keep_another(self) -> None:
        self._places += 1
        node_id = f"node-{self._places}"
        self._waiting += 1
        self._keepers.append(asyncio.ensure_future(self._keep(node_id)))

    async def _keep(self, node_id: str) -> None:
        """One node's place: an actor that ends is replaced, for ever.

        In a cluster that others grow, one actor always waits for a machine, and so starts by itself on one that joins.
        """
        pause_s = 0.1
        assert self._channel_address is not None
        while True:
            began = now_ms()
            incarnation = ""
            self._log("node_starting", node=node_id)
            actor = await self._cluster.spawn(NodeSpec(node_id, self._channel_address, self._engine))
            try:
                incarnation = await self._cluster.ready(actor)
                self._waiting -= 1
                if not self._waiting and not self._cluster.local:
                    self._keep_another()
                await self._cluster.watch(actor)
            except NodeDied as error:
                self._apply(self._fleet.died(node_id, incarnation, str(error)))
                if not incarnation:
                    self._waiting -= 1
                    self._broken = str(error)
                    self._log("node_failed", node=node_id, why=str(error))
                    self._changed.set()
            await self._cluster.end(actor)
            pause_s = 0.1 if now_ms() - began > 10_000 else min(pause_s * 2, _LONGEST_PAUSE_S)
            await asyncio.sleep(pause_s)
            self._waiting += 1

    async def _look_for_the_silent(self) -> None:
        while True:
            self._apply(self._fleet.expire(now_ms()))
            await asyncio.sleep(_LOOK_S)

    def _receive(self, peer: str, message: Message) -> None:
        """Everything that comes from a node."""
        if isinstance(message, Job | Stop | NewGame) or peer.rpartition("/")[0] != message.node_id:
            self._refuse(f"{peer}: a {type(message).__name__} that is not its own")
            return
        if isinstance(message, Hello):
            if message.peer == peer:
                self._log("node_ready", node=message.node_id, host=message.host, pid=message.pid, engine=message.engine)
                self._apply(self._fleet.said_hello(message, now_ms()))
            return
        self._apply(self._fleet.heard(peer, now_ms()))
        if self._fleet.peer(message.node_id) == peer and self._host is not None:
            self._host.handle(Received(message))

    def _refuse(self, why: str) -> None:
        """Say so, but not at every attempt: who is refused tries again and again."""
        now = now_ms()
        if now - self._refused.get(why, -_REFUSED_AGAIN_MS) >= _REFUSED_AGAIN_MS:
            if len(self._refused) > 100:
                self._refused.clear()
            self._refused[why] = now
            self._log("message_refused", why=why)

    def _apply(self, changes: list[Change]) -> None:
        for change in changes:
            if self._host is not None:
                self._host.handle(change)
        if changes:
            self._changed.set()

    def _log(self, name: str, **fields: object) -> None:
        if self._host is not None:
            self._host.log(name, **fields)
