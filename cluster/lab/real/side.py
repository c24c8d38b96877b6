"""A player of the laboratory in real time: a process of its own, on its cores, and the master of what searches for it.

What searches is what the product runs, so that its overhead is the product's: a fleet is `FleetSearcher` on this
machine, as `gougi usi` and `gougi play` open it, with nursery, node processes, channel and fallback; one node without a
fleet is `LocalSearcher`, the opponent in the embedded game of `gougi play`. The process, and with it all that it
starts, is bound to its cores before anything else. It ends when the other end of its pipe does.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Final

import uvloop

from cluster.api import Decision, FleetError, Listener, SearchListener, SearchRequest
from cluster.coordination.events import FALLBACK
from cluster.coordination.strategies import Strategy
from cluster.engine_spec import EngineSpec, FleetSpec
from cluster.machine.work_process import deaf_to_ctrl_c

if TYPE_CHECKING:
    from cluster.drivers.fleet_driver import FleetSearcher
    from cluster.drivers.local_driver import LocalSearcher

_WHOLE_S: Final = 120.0
"""Seconds that nodes have to start; one that died begins anew within that."""
_CLEARED_S: Final = 0.5
"""Nodes empty their tables when they hear of a new game; nobody tells when they have."""
_OPENING_S: Final = 600.0
"""Seconds that a player has to get ready, for its first game or another."""
_HANGS_S: Final = 30.0
"""A search that has not answered so long after its hard deadline never will."""
_ENDING_S: Final = 15.0
_POLL_S: Final = 0.1
_FALLBACK_HASH_MB: Final = 16
"""As `gougi usi` has it."""
_LOSSES: Final = frozenset({"node_lost", "node_failed", "nursery_lost", "fallback_failed"})
"""Events after which a game is no measurement of that fleet any more."""


class SideLost(Exception):
    """The player's process died, or was told to end; the text says which."""


@dataclass(frozen=True, slots=True)
class SideSpec:
    """The strategy of one side, and the engine and nodes that play it."""

    strategy: Strategy
    nodes: int
    """0: one node without a fleet."""
    engine: EngineSpec
    """Engine of the first node; the others differ from it as the strategy says."""
    cores: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a request, and what happened since the one before."""

    decision: Decision | None
    dealt: tuple[str, ...]
    """Reasons for each deal of the root in this search."""
    lost: tuple[str, ...]
    """Processes that died, in words."""
    starved: int
    """Number of times that a node said that it does not get its core."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The player cannot go on; the text says why."""

    why: str


class Side:
    """The handle of a player's process, for one thread.

    Args:
        ended: where it is set nothing is waited for any more.

    Raises (constructor and methods):
        SideLost: the process died, hangs, or ``ended`` is set.
        FleetError: what it searches with cannot be opened.
    """

    def __init__(self, spec: SideSpec, ended: threading.Event) -> None:
        self.spec = spec
        self._ended = ended
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_main, args=(theirs, spec), name=f"lab {spec.strategy.name}")
        with deaf_to_ctrl_c():
            self._process.start()
        theirs.close()
        try:
            self._answer(_OPENING_S)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid or 0

    def new_game(self) -> None:
        """Wait until all nodes are there and know nothing of what was played."""
        self._send("new_game")
        self._answer(_OPENING_S)

    def search(self, request: SearchRequest) -> Found:
        """Search to the decision."""
        assert request.hard_ms is not None
        self._send("search", request)
        return self._answer(request.hard_ms / 1000 + _HANGS_S)

    def ponder(self, request: SearchRequest) -> None:
        """Begin to search on the opponent's time, until the next request."""
        self._send("ponder", request)

    def rest(self) -> None:
        """End the pondering."""
        self._send("rest")

    def close(self) -> None:
        """End it with all that it has started. More than once does no harm."""
        self._connection.close()
        self._process.join(_ENDING_S)
        if self._process.is_alive():
            self._process.kill()  # what it leaves ends by itself: the nursery cleans up
            self._process.join()

    def _send(self, *order: object) -> None:
        with suppress(OSError):  # it died: the next answer tells
            self._connection.send(order)

    def _answer(self, patience_s: float) -> Found:
        deadline = time.monotonic() + patience_s
        try:
            while not self._connection.poll(_POLL_S):
                if self._ended.is_set():
                    raise SideLost("the laboratory ends")
                if time.monotonic() > deadline:
                    self._process.kill()
                    raise SideLost(f"the player's process has not answered for {patience_s:.0f} s")
            answer = self._connection.recv()
        except (EOFError, OSError):
            self._process.join(_ENDING_S)
            raise SideLost(f"the player's process died ({self._process.exitcode})") from None
        if isinstance(answer, Failed):
            raise FleetError(answer.why)
        assert isinstance(answer, Found)
        return answer


def _main(connection: Connection, spec: SideSpec) -> None:
    """The process."""
    os.sched_setaffinity(0, spec.cores)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_Player(connection, spec).live())
    except Exception as error:
        with suppress(OSError):
            connection.send(Failed(str(error) if isinstance(error, FleetError) else f"{type(error).__name__}: {error}"))


class _Player:
    """The process's work: it opens its searcher, and answers request by request."""

    def __init__(self, connection: Connection, spec: SideSpec) -> None:
        self._connection = connection
        self._spec = spec
        self._fleet: FleetSearcher | None = None
        self._fallback_ready = asyncio.Event()
        self._dealt: list[str] = []
        self._lost: list[str] = []
        self._starved = 0
        self._pondered_id = 0
        self._decided: asyncio.Future[Decision] | None = None

    async def live(self) -> None:
        """Until the pipe's other end is closed. Raises FleetError: the searcher cannot be opened."""
        task = asyncio.current_task()
        assert task is not None
        orders = asyncio.Queue[tuple[Any, ...]]()
        asyncio.get_running_loop().add_reader(self._connection.fileno(), self._read, orders, task)
        searcher = self._make()
        try:
            await searcher.open(Listener(on_event=self._on_event))
            await self._whole()
            self._reply(None)
            while True:
                await self._obey(searcher, *await orders.get())
        except (asyncio.CancelledError, BrokenPipeError):
            task.uncancel()
        finally:
            await searcher.close()

    def _make(self) -> FleetSearcher | LocalSearcher:
        spec, how = self._spec, self._spec.strategy
        if not spec.nodes:
            from cluster.drivers.local_driver import LocalSearcher

            return LocalSearcher(spec.engine.build, how.settings)
        from cluster.drivers.fleet_driver import FleetSearcher

        engines = FleetSpec((spec.engine,), how.variety)
        fallback = replace(spec.engine, hash_mb=_FALLBACK_HASH_MB)
        self._fleet = FleetSearcher(spec.nodes, None, engines.build, fallback.build, how.settings, "lab")
        return self._fleet

    async def _whole(self) -> None:
        """All nodes are there, and the fallback."""
        if self._fleet is None:
            return
        there = await self._fleet.whole(_WHOLE_S)
        if there < self._spec.nodes:
            raise FleetError(f"{there} of {self._spec.nodes} nodes are there after {_WHOLE_S:.0f} s")
        with suppress(TimeoutError):  # without them the nodes search all the same
            async with asyncio.timeout(_WHOLE_S):
                await self._fallback_ready.wait()

    async def _obey(self, searcher: FleetSearcher | LocalSearcher, order: str, *arguments: Any) -> None:
        match order:
            case "new_game":
                await self._whole()
                await searcher.new_game()
                await asyncio.sleep(_CLEARED_S)
                self._lost.clear()
                self._starved = 0
                self._reply(None)
            case "search":
                (request,) = arguments
                self._dealt.clear()
                self._decided = asyncio.get_running_loop().create_future()
                searcher.start(request, SearchListener(on_decision=self._on_decision))
                self._reply(await self._decided)
            case "ponder":
                (request,) = arguments
                self._pondered_id = request.search_id
                searcher.ponder(request)
            case "rest":
                searcher.stop(self._pondered_id)

    def _read(self, orders: asyncio.Queue[tuple[Any, ...]], task: asyncio.Task[Any]) -> None:
        try:
            orders.put_nowait(self._connection.recv())
        except (EOFError, OSError):
            asyncio.get_running_loop().remove_reader(self._connection.fileno())
            task.cancel()

    def _reply(self, decision: Decision | None) -> None:
        lost, self._lost = tuple(self._lost), []
        starved, self._starved = self._starved, 0
        # The views of the nodes are for viewers.
        slim = None if decision is None else replace(decision, fleet=(), lines=decision.lines[:1])
        self._connection.send(Found(slim, tuple(self._dealt), lost, starved))

    def _on_decision(self, decision: Decision) -> None:
        if self._decided is not None and not self._decided.done():
            self._decided.set_result(decision)

    def _on_event(self, name: str, fields: dict[str, object]) -> None:
        match name:
            case "node_ready" if fields["node"] == FALLBACK:
                self._fallback_ready.set()
            case "fallback_failed":
                self._fallback_ready.clear()
            case "dealt":
                self._dealt.append(str(fields["why"]))
            case "node_starves":
                self._starved += 1
            case _:
                pass
        if name in _LOSSES and fields.get("node") != FALLBACK:
            facts = ", ".join(f"{key} {value}" for key, value in fields.items())
            self._lost.append(f"{name.replace('_', ' ')} ({facts})")
