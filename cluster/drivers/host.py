"""The part that all real-time drivers share: it feeds the coordinator, runs its timer and carries out its
instructions."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol

from cluster.api import (
    SILENT,
    Decision,
    FleetError,
    Listener,
    Pondered,
    PonderSearch,
    Progress,
    Searcher,
    SearchListener,
    SearchOrder,
    StartSearch,
)
from cluster.coordination.coordinator import Coordinator
from cluster.coordination.events import (
    Event,
    Instruction,
    LogEvent,
    SendJob,
    StopNode,
    Tick,
)
from cluster.coordination.root import prepare_rules
from cluster.coordination.settings import Settings
from cluster.network.messages import Job, NewGame, Stop
from worker.threads import spare_the_collector
from worker.warming import Warming, WarmingError

_log = logging.getLogger(__name__)


class Transport(Protocol):
    """Sends orders to the nodes. Must return at once and raise nothing: an unreachable node is a lost node."""

    def send(self, node_id: str, order: Job | Stop | NewGame) -> None: ...


def now_ms() -> int:
    """The clock of all real drivers: monotonic, in milliseconds."""
    return time.monotonic_ns() // 1_000_000


async def prepare_this_machine(listener: Listener) -> None:
    """Compile if necessary, in a separate process that ends if this call is cancelled; then load the compiled code that
    this process needs.

    The listener gets a ``compiling`` event for each stage.

    Raises:
        FleetError: it cannot be compiled.
    """
    loop = asyncio.get_running_loop()

    def compiling(stage: str, number: int, total: int) -> None:
        fields: dict[str, object] = {"stage": stage, "number": number, "total": total}
        loop.call_soon_threadsafe(listener.on_event, "compiling", fields)

    warming = Warming()
    try:
        await asyncio.to_thread(warming.run, compiling)
    except (WarmingError, OSError) as error:
        raise FleetError(f"the searcher is not compiled: {error}") from error
    finally:
        warming.end()
    await asyncio.to_thread(prepare_rules)
    spare_the_collector()


class CoordinatorHost:
    """Runs a `Coordinator` on the running asyncio loop. All calls come from that loop's thread."""

    def __init__(self, settings: Settings, transport: Transport, listener: Listener) -> None:
        self.coordinator = Coordinator(settings)
        self._transport = transport
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._searches: dict[int, SearchListener] = {}
        """The listener of each running search or pondering, by search id."""

    def begin(self, event: StartSearch | PonderSearch, listener: SearchListener) -> None:
        """Feed the start of a search or of pondering, with its ``listener``.

        Raises:
            ValueError: as `Coordinator.handle`; nothing changed.
        """
        search_id = event.request.search_id
        if search_id in self._searches:
            self.handle(event)  # if it is refused, the listener of the running search stays
        self._searches[search_id] = listener
        try:
            self.handle(event)
        except ValueError:
            del self._searches[search_id]
            raise
        for before in [found for found in self._searches if found < search_id]:  # each was decided or ended by this one
            del self._searches[before]

    def handle(self, event: Event) -> None:
        """Feed one event and carry out the resulting instructions.

        Raises:
            ValueError: as `Coordinator.handle`; nothing changed.
        """
        now = now_ms()
        try:
            instructions = self.coordinator.handle(event, now)
        except ValueError:
            raise
        except Exception:
            words = "; ".join(f"{at_ms}: {what!r}"[:300] for at_ms, what in self.coordinator.history)
            _log.error("the coordinator failed at %r; before that: %s", event, words)
            raise
        for instruction in instructions:
            self._carry_out(instruction)
        self._set_timer(now)

    def log(self, name: str, **fields: object) -> None:
        """Notify the listener of an event that the coordinator does not know of."""
        _guarded(lambda: self._listener.on_event(name, fields))

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _carry_out(self, instruction: Instruction) -> None:
        match instruction:
            case SendJob(node_id, job):
                self._transport.send(node_id, job)
            case StopNode(node_id, job_id):
                self._transport.send(node_id, Stop(job_id))
            case Decision() as decision:
                self._hear(decision.search_id, lambda hears: hears.on_decision(decision))
                self._searches.pop(decision.search_id, None)
            case Progress() as progress:
                self._hear(progress.search_id, lambda hears: hears.on_progress(progress))
            case Pondered() as pondered:
                self._hear(pondered.search_id, lambda hears: hears.on_pondered(pondered))
            case LogEvent(name, fields):
                _guarded(lambda: self._listener.on_event(name, fields))

    def _hear(self, search_id: int, tell: Callable[[SearchListener], None]) -> None:
        for listener in (self._searches.get(search_id, SILENT), self._listener.searches):
            _guarded(partial(tell, listener))

    def _set_timer(self, handled_ms: int) -> None:
        """The loop's own timer triggers the next tick, and so the hard deadline: no node can delay it.

        Anything that became due since ``handled_ms``, the time of the last event, is handled at once.
        """
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        wake = self.coordinator.wake_ms(handled_ms)
        if wake is not None:
            self._timer = self._loop.call_later(max(0, wake - now_ms()) / 1000, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self.handle(Tick())


class HostedSearcher(Searcher):
    """A `cluster.api.Searcher` that uses a `CoordinatorHost`. ``_host`` is None while it is not open."""

    _host: CoordinatorHost | None

    def handle(self, order: SearchOrder, listener: SearchListener = SILENT) -> None:
        """See `cluster.api.OpenSearcher.handle`."""
        if isinstance(order, StartSearch | PonderSearch):
            if self._host is None:
                raise FleetError(f"{self.name} is not open")
            self._host.begin(order, listener)
        elif self._host is not None:
            self._host.handle(order)


def _guarded(call: Callable[[], None]) -> None:
    """Call a listener. Its fault must not stop the coordinator's other instructions."""
    try:
        call()
    except Exception:
        _log.exception("a listener failed")
