"""One engine in a thread of this process, with the same interface as a fleet: no Ray, no network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from cluster.api import FleetError, Listener
from cluster.coordination.events import NodeJoined, Received
from cluster.coordination.settings import Settings
from cluster.drivers.host import CoordinatorHost, HostedSearcher, prepare_this_machine
from cluster.engine_spec import EngineSpec
from cluster.network.messages import Done, Job, NewGame, Report, Starves, Stop
from cluster.node.runner import NodeRunner
from worker.engine import Engine, EngineError

NODE_ID = "local"


class LocalSearcher(HostedSearcher):
    """A `cluster.api.Searcher` with a single node.

    Args:
        engine: makes the engine; called once by `open`, in a thread, because it may compile.
    """

    def __init__(
        self, engine: Callable[[], Engine] | None = None, settings: Settings | None = None, name: str = "local"
    ) -> None:
        self.name = name
        self._make_engine = engine or EngineSpec().build
        self._settings = settings or Settings()
        self._host: CoordinatorHost | None = None
        self._runner: NodeRunner | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def open(self, listener: Listener) -> None:
        """Compile if necessary, and make the engine; returns when a search can start.

        Raises:
            FleetError: the engine cannot be made (the cause says why), or this searcher is already open.
        """
        if self._host is not None:
            raise FleetError(f"{self.name} is open already")
        self._loop = asyncio.get_running_loop()
        try:
            await prepare_this_machine(listener)
            engine = await asyncio.to_thread(self._make_engine)
        except (EngineError, OSError, ValueError) as error:
            raise FleetError(f"{self.name}: the engine cannot be made: {error}") from error
        self._host = CoordinatorHost(self._settings, self, listener)
        self._runner = NodeRunner(NODE_ID, engine, self._emit)
        self._host.handle(NodeJoined(NODE_ID))

    async def new_game(self) -> None:
        """Notify the engine that a new game begins."""
        self.send(NODE_ID, NewGame())

    async def close(self) -> None:
        """End the engine and its thread. The listener is not called again. Idempotent."""
        host, runner = self._host, self._runner
        self._host = self._runner = None
        if host is not None:
            host.close()
        if runner is not None:
            await asyncio.to_thread(runner.close)

    def send(self, node_id: str, order: Job | Stop | NewGame) -> None:
        """`cluster.drivers.host.Transport`: an order for the runner."""
        if self._runner is not None:
            self._runner.handle(order)

    def _emit(self, message: Report | Done | Starves) -> None:
        """Pass a message from the runner's thread to the loop. A closed loop ignores it."""
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(self._receive, message)
        except RuntimeError:
            if not self._loop.is_closed():
                raise

    def _receive(self, message: Report | Done | Starves) -> None:
        if self._host is None:
            return
        if isinstance(message, Starves):
            self._host.log("node_starves", node=message.node_id, percent=message.percent, cores=message.cores)
        else:
            self._host.handle(Received(message))
