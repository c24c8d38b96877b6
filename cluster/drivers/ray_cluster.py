"""Everything that touches Ray: the connection to a running cluster, and its actors.

Ray only chooses the nodes' machines, and runs a supervisor there (`cluster.drivers.supervisor_actor`). The nodes'
processes are not Ray's, and their messages do not go through Ray (`cluster.network.channel` explains why). Ray's driver
runs in a separate process (`cluster.drivers.ray_process` explains why). All calls are made on one thread, because they
block.

Measured (Ray 2.60): a dead actor is reported after 11 ms, but with ``max_restarts`` only after 1.8 s. Hence actors are
made without restarts.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeVar

from cluster.api import FleetError
from cluster.drivers.supervisor_actor import RESOURCE, SupervisorActor
from cluster.node.sent_nets import SentNet
from worker.files import described

if TYPE_CHECKING:
    from ray.exceptions import RayError

_T = TypeVar("_T")

_LOOK_S: Final = 0.25
"""Seconds between two checks that the raylet here lives."""
_PATIENCE_S: Final = 10.0
"""Seconds without an answer after which Ray counts as lost."""

_ENVIRONMENT: Final = {
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    # How often Ray tries, a second apart, to connect to a cluster that refuses it.
    "RAY_NUM_REDIS_GET_RETRIES": "3",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


class RayRefused(FleetError):
    """A refusal that a second attempt would not change."""


def require_ray() -> None:
    """Check that Ray, an optional dependency, is installed.

    Raises:
        RayRefused: it is not installed.
    """
    if find_spec("ray") is None:
        raise RayRefused("Ray is missing: pip install 'gougi[fleet]'")


class ActorDied(Exception):
    """A supervisor's process ended, or a call of it failed; the text says why."""


@dataclass(frozen=True, slots=True)
class RayFacts:
    """Facts about Ray, once it is connected."""

    host: str
    """This machine's address as the others see it."""
    capacity: int
    """The number of nodes for which the cluster's machines have room."""
    address: str
    """``host:port`` of its head."""


@dataclass(slots=True)
class _Lent:
    """A network in the object store: as long as a machine fetches it."""

    chunks: asyncio.Task[list[Any]]
    machines: int = 0


class RayCluster:
    """A connection to Ray. Actors are identified by numbers.

    Args:
        address: ``host:port`` or ``auto``.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="ray")
        self._numbers = count(1)
        self._actors: dict[int, Any] = {}
        self._shared: dict[int, Any] = {}
        self._remote: dict[Callable[..., Any], Any] = {}
        """Ray's form of the functions of `run_task`."""
        self._nets: dict[str, asyncio.Task[SentNet]] = {}
        """The networks of this run, by path."""
        self._lent: dict[SentNet, _Lent] = {}
        """The networks that machines fetch at the moment."""

    async def open(self) -> RayFacts:
        """Connect.

        Raises:
            FleetError: the connection failed; the text says why.
        """
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        try:
            await self._knock()
            return await self._call(self._init)
        except Exception as error:
            where = f"at {self._address}"
            if _refused(error):
                raise RayRefused(f"no Ray cluster {where}: its token is not ours (RAY_AUTH_TOKEN)") from error
            raise FleetError(f"no Ray cluster {where}: {_last_line(error)}") from error

    async def places(self) -> int:
        """The number of nodes for which the machines have room now."""
        return await self._call(_places)

    async def spawn(self, run: str) -> int:
        """Request a supervisor for that master's run; it starts as soon as a machine has room for it."""
        number = next(self._numbers)
        self._actors[number] = await self._call(lambda: self._spawn(run))
        return number

    async def share(self, value: object) -> int:
        """Store a value that every task can read; `run_task` gets it by the returned number."""
        import ray

        number = next(self._numbers)
        self._shared[number] = await self._call(lambda: ray.put(value))
        return number

    async def run_task(self, function: Callable[..., _T], shared: int, *arguments: object) -> _T:
        """Run ``function(shared value, *arguments)`` on a machine that has room for a node, and return its result.

        Raises:
            ActorDied: the process that ran it died, or it raised; the text says which.
        """
        import ray

        task = self._remote.get(function)
        if task is None:  # each new remote function is sent to the head, and kept there
            task = self._remote[function] = ray.remote(num_cpus=0, resources={RESOURCE: 1}, max_retries=0)(function)
        result: _T = await self._ask(lambda: task.remote(self._shared[shared], *arguments))
        return result

    async def placed(self, number: int) -> int:
        """Wait until a machine has room for the supervisor; `cluster.drivers.supervisor_actor.SupervisorActor.placed`.

        Raises:
            ActorDied: it ended. The methods below raise this too.
        """
        actor = self._actors[number]
        return int(await self._ask(lambda: actor.placed.remote()))

    async def orphan(self, number: int) -> str:
        """`cluster.drivers.supervisor_actor.SupervisorActor.orphan`."""
        actor = self._actors[number]
        return str(await self._ask(lambda: actor.orphan.remote()))

    async def lend_net(self, number: int, path: str) -> str:
        """Send the network at that path to the supervisor's machine if it lacks it; returns its path there.

        Machines fetch it in chunks through Ray's object stores, also from each other, and check its SHA-256.

        Raises:
            FleetError: it cannot be read here, or not be kept there.
        """
        actor = self._actors[number]
        try:
            if path not in self._nets:
                self._nets[path] = asyncio.ensure_future(asyncio.to_thread(SentNet.at, path))
            net = await asyncio.shield(self._nets[path])
            found: str = await self._ask(lambda: actor.found_net.remote(net))
            return found or await self._send_net(actor, net)
        except (OSError, FleetError) as error:
            self._nets.pop(path, None)  # it may have changed
            raise FleetError(f"the network cannot be sent: {described(error)}") from error

    async def _send_net(self, actor: Any, net: SentNet) -> str:
        lent = self._lent.get(net)
        if lent is None:
            lent = self._lent[net] = _Lent(asyncio.ensure_future(self._put(net)))
        lent.machines += 1
        try:
            chunks = await asyncio.shield(lent.chunks)
            found, why = await self._ask(lambda: actor.keep_net.remote(net, chunks))
        finally:
            lent.machines -= 1
            if not lent.machines:
                del self._lent[net]
        if why:
            raise FleetError(why)
        return str(found)

    async def _put(self, net: SentNet) -> list[Any]:
        """References to all chunks of a network in Ray's object store, which moves them to disk if they do not fit."""
        import ray

        def put(number: int) -> Any:
            return ray.put(net.part(number))

        return [await self._call(partial(put, number)) for number in range(net.parts)]

    async def keep(self, number: int, node_id: str, spec: bytes) -> None:
        """`cluster.drivers.supervisor_actor.SupervisorActor.keep`."""
        actor = self._actors[number]
        await self._ask(lambda: actor.keep.remote(node_id, spec))

    async def watch(self, number: int) -> None:
        """Wait for the supervisor's end."""
        actor = self._actors[number]
        await self._ask(lambda: actor.watch.options(concurrency_group="watch").remote())

    async def end(self, number: int) -> None:
        """End the supervisor's process. Idempotent."""
        import ray

        actor = self._actors.pop(number, None)
        if actor is not None:
            await self._call(lambda: ray.kill(actor))

    async def lost(self) -> str:
        """Wait until Ray is lost: the raylet here died, or its head does not answer. Returns the reason."""
        while True:
            await asyncio.sleep(_LOOK_S)
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    why = await self._call(self._cut_off)
            except TimeoutError:
                return f"no answer for {_PATIENCE_S:.0f} s"
            except Exception as error:
                return _last_line(error)
            if why:
                return why

    async def leave(self) -> None:
        """Disconnect from a cluster that continues without us: it ends the supervisors. No call is valid afterwards."""
        if "ray" in sys.modules:
            import ray

            await self._call(ray.shutdown)

    def _cut_off(self) -> str:
        import ray

        own = ray.get_runtime_context().get_node_id()
        alive = any(node["NodeID"] == own and node["Alive"] for node in ray.nodes())
        return "" if alive else "this machine's raylet is dead"

    async def _knock(self) -> None:
        """Check whether anything listens at the address. Ray itself would try for minutes, on a thread that cannot be
        interrupted."""
        if self._address == "auto":
            return
        host, _, port = self._address.rpartition(":")
        if not host or not port.isdigit():
            raise ValueError(f"expected host:port or auto, got {self._address!r}")
        async with asyncio.timeout(5.0):
            _, writer = await asyncio.open_connection(host, int(port))
        writer.close()

    def _init(self) -> RayFacts:
        import ray

        ray.init(address=self._address, log_to_driver=False, logging_level="ERROR", configure_logging=True)
        address = ray.get_runtime_context().gcs_address
        return RayFacts(str(ray.util.get_node_ip_address()), _places(), address)

    def _spawn(self, run: str) -> Any:
        import ray

        actor_class = ray.remote(
            num_cpus=0,
            resources={RESOURCE: 1},
            max_restarts=0,
            max_task_retries=0,
            concurrency_groups={"watch": 1},
        )(SupervisorActor)
        return actor_class.remote(run)

    async def _ask(self, call: Callable[[], Any]) -> Any:
        """Wait for the answer of an actor or a task."""
        from ray.exceptions import RayError

        def ask() -> Future[Any]:
            future: Future[Any] = call().future()
            return future

        try:
            return await asyncio.wrap_future(await self._call(ask))
        except RayError as error:
            raise ActorDied(_reason(error)) from error

    async def _call(self, function: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, function)


def _places() -> int:
    import ray

    return int(ray.cluster_resources().get(RESOURCE, 0))


def _refused(error: BaseException) -> bool:
    """Whether the cluster refused our token; Ray says so somewhere in the text of the cause."""
    return "AuthenticationError" in str(error) or (error.__cause__ is not None and _refused(error.__cause__))


def _reason(error: RayError) -> str:
    """The error in short. Ray lists at length the possible causes of a process's death; only the death is certain."""
    died = ("worker process has died", "worker died unexpectedly")  # for an actor, for a task
    return "its process died" if any(words in str(error) for words in died) else _last_line(error)


def _last_line(error: BaseException) -> str:
    """An exception in one line; of a remote traceback, which Ray passes as text, the last line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:500] if lines else type(error).__name__
