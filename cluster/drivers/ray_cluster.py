"""Everything that touches Ray: a cluster of its own on this machine, or the way into one that runs; and its actors.

Ray says where nodes are to be, and has a keeper there (`cluster.drivers.keeper`), and no more: the nodes' processes are
not Ray's, and what they say goes another way (`cluster.network.channel` says why). Ray runs in a process of its own
(`cluster.drivers.ray_process` says why). All calls are made on one thread, which lives as long as the cluster: Ray's
own processes are tied to the life of the *thread* that started them (``PR_SET_PDEATHSIG``).

Measured (Ray 2.60): a dead actor is known after 11 ms, where ``max_restarts`` would let 1.8 s pass before anyone hears
of it. Hence actors are made without restarts.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from cluster.api import FleetError
from cluster.drivers.keeper import RESOURCE, Keeper
from cluster.machine.private_folder import PrivateFolder, remove_leftovers

if TYPE_CHECKING:
    from ray.exceptions import RayError

_T = TypeVar("_T")

_LOOK_S: Final = 0.25
"""Seconds between two checks that Ray's own processes live."""
_PATIENCE_S: Final = 10.0
"""A Ray that answers nothing for so long is of no use."""
_STARTING_S: Final = 90.0
"""Seconds that a raylet has to start; Ray itself would wait for 30 s, which a machine under a load of 15 needs."""

_LONGEST_PARENT: Final = 107 - len(
    "/gougi-abcdefgh/ray/session_2026-11-22_10-15-45_564657_1234567/sockets/plasma_store"
)
"""Bytes of the folder's name in which ours is made, for a socket's name may have 107; else it is made in ``/tmp``."""

_ENVIRONMENT: Final = {
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    # How often Ray tries, a second apart, to connect to a cluster that refuses it.
    "RAY_NUM_REDIS_GET_RETRIES": "3",
    "RAY_enable_metrics_collection": "0",
    # Keepers wait, they do not compute: all may start at once.
    "RAY_worker_maximum_startup_concurrency": "8",
    # On one machine there is no cable to cut, and the death of a process is noticed by its socket. A health check can
    # only be wrong here: with tight ones a machine under a load of 11 declared its own raylet dead in mid-game.
    "RAY_health_check_initial_delay_ms": "30000",
    "RAY_health_check_period_ms": "5000",
    "RAY_health_check_timeout_ms": "30000",
    "RAY_health_check_failure_threshold": "10",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


class RayRefused(FleetError):
    """A refusal that no second attempt changes."""


class ActorDied(Exception):
    """A keeper's process ended, or a call of it failed; the text says how."""


@dataclass(frozen=True, slots=True)
class RayFacts:
    """Facts about Ray once it is there."""

    host: str
    """This machine's address as the others see it."""
    capacity: int
    """The number of nodes for which the cluster's machines have room."""
    address: str
    """``host:port`` of its head."""
    processes: dict[str, int]
    """Ray's own processes (``gcs_server``, ``raylet``) by name, where we started them."""
    folder: str
    """The folder of their logs, and of the token of a cluster of our own (``token``, mode 600); empty: not ours to
    say."""


class RayCluster:
    """A connection to Ray. Actors go by numbers.

    Args:
        address: ``host:port`` or ``auto`` of a cluster that runs; None: start one on this machine.
        nodes: how many nodes a cluster of our own offers.
    """

    def __init__(self, address: str | None, nodes: int) -> None:
        self._address = address
        self._nodes = nodes
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="ray")
        self._folder: PrivateFolder | None = None
        self._numbers = count(1)
        self._actors: dict[int, Any] = {}
        self._shared: dict[int, Any] = {}
        self._remote: dict[Callable[..., Any], Any] = {}
        """Ray's form of the functions of `run_task`."""

    @property
    def local(self) -> bool:
        return self._address is None

    async def open(self) -> RayFacts:
        """Start or connect; `close` is due afterwards, also where it failed.

        Raises:
            FleetError: that failed; the text says why.
        """
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        try:
            if self.local:
                # Ray takes its own machine by the loopback where it takes this to be a desktop, and so listens there
                # only; it turns an address of the loopback that it is given into one that others reach.
                os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
                self._make_folder()
            await self._knock()
            return await self._call(self._init)
        except Exception as error:
            where = "on this machine" if self.local else f"at {self._address}"
            if _refused(error):
                raise RayRefused(f"no Ray cluster {where}: its token is not ours (RAY_AUTH_TOKEN)") from error
            raise FleetError(f"no Ray cluster {where}: {_last_line(error)}") from error

    async def places(self) -> int:
        """The number of nodes for which the machines have room now."""
        return await self._call(_places)

    async def spawn(self, run: str) -> int:
        """Ask for a keeper of that master's run; it starts as soon as a machine has room for it."""
        number = next(self._numbers)
        self._actors[number] = await self._call(lambda: self._spawn(run))
        return number

    async def share(self, value: object) -> int:
        """Put something where every task can read it; `run_task` gets it by the number returned."""
        import ray

        number = next(self._numbers)
        self._shared[number] = await self._call(lambda: ray.put(value))
        return number

    async def run_task(self, function: Callable[..., _T], shared: int, *arguments: object) -> _T:
        """Run ``function(what was shared, *arguments)`` on a machine that has room for a node, and return its result.

        Raises:
            ActorDied: the process that ran it died, or it raised; the text says which.
        """
        import ray

        task = self._remote.get(function)
        if task is None:  # each that is made anew is sent to the head, and kept there
            task = self._remote[function] = ray.remote(num_cpus=0, resources={RESOURCE: 1}, max_retries=0)(function)
        result: _T = await self._ask(lambda: task.remote(self._shared[shared], *arguments))
        return result

    async def placed(self, number: int) -> int:
        """Wait until a machine has room for the keeper; `cluster.drivers.keeper.Keeper.placed`.

        Raises:
            ActorDied: it ended, as all that follows.
        """
        actor = self._actors[number]
        return int(await self._ask(lambda: actor.placed.remote()))

    async def orphan(self, number: int) -> str:
        """`cluster.drivers.keeper.Keeper.orphan`."""
        actor = self._actors[number]
        return str(await self._ask(lambda: actor.orphan.remote()))

    async def keep(self, number: int, node_id: str, spec: bytes) -> None:
        """`cluster.drivers.keeper.Keeper.keep`."""
        actor = self._actors[number]
        await self._ask(lambda: actor.keep.remote(node_id, spec))

    async def watch(self, number: int) -> None:
        """Wait for the keeper's end."""
        actor = self._actors[number]
        await self._ask(lambda: actor.watch.options(concurrency_group="watch").remote())

    async def end(self, number: int) -> None:
        """End the keeper's process. More than once does no harm."""
        import ray

        actor = self._actors.pop(number, None)
        if actor is not None:
            await self._call(lambda: ray.kill(actor))

    async def lost(self) -> str:
        """Wait until Ray is of no use any more: its processes here died, or its head does not answer. Returns why."""
        while True:
            await asyncio.sleep(_LOOK_S)
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    why = await self._call(self._dead_process if self.local else self._cut_off)
            except TimeoutError:
                return f"no answer for {_PATIENCE_S:.0f} s"
            except Exception as error:
                return _last_line(error)
            if why:
                return why

    async def leave(self) -> None:
        """Say goodbye to a cluster that goes on without us: it ends the keepers. No call is valid after."""
        if "ray" in sys.modules:
            import ray

            await self._call(ray.shutdown)

    def remove_folder(self) -> None:
        """Remove Ray's folder, at the end, when its processes are gone."""
        if self._folder is not None:
            self._folder.remove()
            self._folder = None

    def _dead_process(self) -> str:
        import ray._private.worker as ray_worker

        # The others (log monitor, agents) can die without harm to the nodes.
        dead = [name for name, _ in ray_worker._global_node.dead_processes() if name in ("gcs_server", "raylet")]
        return f"its {' and '.join(dead)} died" if dead else ""

    def _cut_off(self) -> str:
        import ray

        own = ray.get_runtime_context().get_node_id()
        alive = any(node["NodeID"] == own and node["Alive"] for node in ray.nodes())
        return "" if alive else "this machine's raylet is dead"

    async def _knock(self) -> None:
        """Try whether anybody listens. Ray itself would try for minutes, on a thread that cannot be called back."""
        if self._address is None or self._address == "auto":
            return
        host, _, port = self._address.rpartition(":")
        if not host or not port.isdigit():
            raise ValueError(f"expected host:port or auto, got {self._address!r}")
        async with asyncio.timeout(5.0):
            _, writer = await asyncio.open_connection(host, int(port))
        writer.close()

    def _make_folder(self) -> None:
        """Ray's logs and sockets, and the token's file: for this user only, removed in the end."""
        parent = Path(tempfile.gettempdir())
        if len(os.fsencode(parent)) > _LONGEST_PARENT:
            parent = Path("/tmp")
        remove_leftovers(parent)
        self._folder = PrivateFolder(parent)
        if "RAY_AUTH_TOKEN" not in os.environ:
            token = self._folder.path / "token"
            token.touch(0o600)
            token.write_text(secrets.token_hex(32))
            os.environ["RAY_AUTH_TOKEN_PATH"] = str(token)

    def _init(self) -> RayFacts:
        import ray
        import ray._private.worker as ray_worker

        quiet = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": True}
        if self._address is not None:
            ray.init(address=self._address, **quiet)
            address = ray.get_runtime_context().gcs_address
            return RayFacts(str(ray.util.get_node_ip_address()), _places(), address, {}, "")
        assert self._folder is not None
        _leave_out_what_is_not_needed()
        ray.init(
            address="local",
            num_cpus=0,
            resources={RESOURCE: self._nodes},
            include_dashboard=False,
            object_store_memory=80 * 1024 * 1024,  # nothing of ours goes through it; Ray's least is 75 MB
            _temp_dir=str(self._folder.path / "ray"),  # Ray opens it to everybody: nobody gets to it there
            **quiet,
        )
        running = ray_worker._global_node.all_processes
        processes = {name: running[name][0].process.pid for name in ("gcs_server", "raylet")}
        address = ray.get_runtime_context().gcs_address
        return RayFacts("127.0.0.1", self._nodes, address, processes, str(self._folder.path))

    def _spawn(self, run: str) -> Any:
        import ray

        actor_class = ray.remote(
            num_cpus=0,
            resources={RESOURCE: 1},
            max_restarts=0,
            max_task_retries=0,
            concurrency_groups={"watch": 1},
        )(Keeper)
        # On the master's own machine the master has started the nursery.
        return actor_class.remote(run, not self.local)

    async def _ask(self, call: Callable[[], Any]) -> Any:
        """Await the answer of an actor, or of a task."""
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


def _leave_out_what_is_not_needed() -> None:
    """Ray has no option for it: no autoscaler, no dashboard (which it starts even where it is to leave it out) and no
    forwarding of logs, three Python processes; and a raylet gets the time that it takes on a busy machine.

    Its two agents have to be: a raylet without them ends.
    """
    import ray._private.node as ray_node
    import ray._private.services as ray_services

    for start in ("start_monitor", "start_api_server", "start_log_monitor"):
        setattr(ray_node.Node, start, lambda *_, **__: None)
    get_node = ray_services.get_node

    def wait_for_node(*arguments: Any) -> Any:
        deadline = time.monotonic() + _STARTING_S
        while True:
            try:
                return get_node(*arguments)
            except RuntimeError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.1)

    ray_services.get_node = wait_for_node


def _refused(error: BaseException) -> bool:
    """Whether the cluster did not like our token; Ray says so somewhere down in the text of the cause."""
    return "AuthenticationError" in str(error) or (error.__cause__ is not None and _refused(error.__cause__))


def _reason(error: RayError) -> str:
    """Ray explains at length what may have killed a process; that it died is what is known."""
    died = ("worker process has died", "worker died unexpectedly")  # of an actor, of a task
    return "its process died" if any(words in str(error) for words in died) else _last_line(error)


def _last_line(error: BaseException) -> str:
    """An exception in one line; a remote traceback, which Ray passes as text, by its last line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:500] if lines else type(error).__name__
