"""An open fleet of real processes with its event loop, for the tests that share one."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

from cluster.api import Decision, SearchRequest
from cluster.coordination.settings import Settings
from cluster.drivers.fleet_driver import FleetSearcher
from cluster.network.channel import ChannelAddress
from tests.cluster.engines import endless_engine
from tests.cluster.heard import Heard
from tests.cluster.proxy import Proxy
from worker.shogi import STARTPOS, Position

_T = TypeVar("_T")


class OpenFleet:
    """A searcher, its events, and the proxy through which its nodes reach it."""

    def __init__(self, runner: asyncio.Runner, searcher: FleetSearcher, heard: Heard, proxy: Proxy) -> None:
        self.searcher = searcher
        self.heard = heard
        self.proxy = proxy
        self._runner = runner
        self._last_id = 0
        self._request: SearchRequest | None = None

    def run(self, scenario: Coroutine[Any, Any, _T]) -> _T:
        """Run one test's part; earlier events are forgotten."""
        self.heard.forget()
        return self._runner.run(scenario)

    def start(self, soft_ms: int | None, hard_ms: int | None, *moves: str) -> int:
        """Begin a search of the position after ``moves``. Returns its id."""
        self._last_id += 1
        self._request = SearchRequest(self._last_id, STARTPOS, moves, soft_ms, hard_ms)
        self.searcher.start(self._request)
        return self._last_id

    def ponder(self, *moves: str) -> None:
        """Search on the opponent's time; the opponent is to move after ``moves``."""
        self._last_id += 1
        self.searcher.ponder(SearchRequest(self._last_id, STARTPOS, moves))

    def admit(self, node_id: str) -> ChannelAddress:
        """The channel's address for a node of that id."""
        assert self.searcher._channel is not None
        return self.searcher._channel.admit(node_id)

    def pid(self, node_id: str) -> int:
        """The process of the node's last incarnation."""
        return next(int(str(f["pid"])) for f in reversed(self.heard.named("node_ready")) if f["node"] == node_id)

    @property
    def ray(self) -> dict[str, Any]:
        """The fleet's facts of the current Ray, as `cluster.drivers.ray_cluster.RayFacts` has them."""
        return self.heard.named("ray_started")[-1]

    @property
    def nodes(self) -> list[str]:
        """The fleet's own nodes that are there, without the fallback."""
        return [node_id for node_id in self.searcher.live if node_id.startswith("node-")]

    async def event(self, name: str, timeout_s: float = 5.0, **fields: object) -> dict[str, Any]:
        """The first event of that name with these fields, as soon as it is there."""

        def found() -> list[dict[str, object]]:
            return [event for event in self.heard.named(name) if fields.items() <= event.items()]

        try:
            await self.heard.until(lambda: bool(found()), timeout_s)
        except TimeoutError as error:
            raise AssertionError(f"no {name} {fields} among {self.heard.events}") from error
        return found()[0]

    def dealt_after_the_loss_of(self, node_id: str) -> dict[str, str]:
        """Each node's leaf after the redeal that followed that loss."""
        names = [(name, fields.get("node")) for name, fields in self.heard.events]
        since = names.index(("node_lost", node_id))
        leaves: list[Any] = [fields["leaves"] for name, fields in self.heard.events[since:] if name == "dealt"]
        assert leaves, f"nothing was dealt after the loss of {node_id}: {self.heard.events}"
        return dict(leaves[0])

    async def there(self, condition: Callable[[], bool], timeout_s: float = 60.0) -> None:
        """Wait for a state of the fleet's members."""
        await self.heard.until(condition, timeout_s)

    async def decision(self) -> Decision:
        """The search's end, checked for the invariants: it is in time, and its line is legal."""
        request = self._request
        assert request is not None
        await self.heard.until(lambda: any(made.search_id == request.search_id for made in self.heard.decisions))
        (decision,) = (made for made in self.heard.decisions if made.search_id == request.search_id)
        Position.startpos().push_all((*request.moves, *(decision.pv or (decision.move,))))
        assert not decision.lines or decision.pv[0] == decision.move
        assert request.hard_ms is None or decision.elapsed_ms <= request.hard_ms
        return decision


@contextlib.contextmanager
def open_fleet(nodes: int, settings: Settings, address: str | None = None) -> Iterator[OpenFleet]:
    """Open a fleet of that many nodes on this machine or on the Ray cluster at that address; close it at the end."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    proxy = Proxy(port)
    searcher = FleetSearcher(
        nodes, address, endless_engine, endless_engine, settings, report_port=port, advertise=proxy.address
    )
    heard = Heard()

    async def opened() -> None:
        await searcher.open(heard.listener())

    with asyncio.Runner() as runner:
        runner.run(opened())
        try:
            yield OpenFleet(runner, searcher, heard, proxy)
        finally:
            runner.run(searcher.close())
            proxy.close()
