"""Everything that touches Ray: a cluster of its own on this machine, or the way into one that runs; and its actors.

Ray places, starts, watches and ends the nodes' processes, and no more (`cluster.channel` says why). All calls are made
on one thread, which lives as long as the cluster: Ray's own processes are tied to the life of the *thread* that started
them (``PR_SET_PDEATHSIG``), and this way Ray leaves the main thread's signal handlers alone.

Measured (Ray 2.60, two cores): starting 3.8 s; a dead actor is known after 11 ms and replaced by us after 0.5 s, where
``max_restarts`` would let 1.8 s pass before anyone hears of it. Hence actors are made without restarts.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from cluster.api import FleetError
from cluster.node_process import NodeActor, NodeSpec

if TYPE_CHECKING:
    from ray.exceptions import RayError

_T = TypeVar("_T")

RESOURCE: Final = "searcher"
"""The custom Ray resource of which a machine has one for each node that it can run."""

_TOKEN: Final = secrets.token_hex(32)
"""Of the clusters that this process starts. Ray reads its token once in a process's life, hence not one for each."""

_ENVIRONMENT: Final = {
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    # Nodes give way to the master and to Ray's own processes, and the fallback (19) to the nodes.
    "RAY_worker_niceness": "5",
    # On one machine there is no cable to cut, and the death of a process is noticed by its socket. A health check can
    # only be wrong here: with tight ones a machine under a load of 11 declared its own raylet dead in mid-game.
    "RAY_health_check_initial_delay_ms": "30000",
    "RAY_health_check_period_ms": "5000",
    "RAY_health_check_timeout_ms": "30000",
    "RAY_health_check_failure_threshold": "10",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


class NodeDied(Exception):
    """A node's process, or its actor's constructor, failed; the text says how."""


class RayCluster:
    """A connection to Ray.

    Args:
        address: ``host:port`` or ``auto`` of a cluster that runs; None: start one on this machine.
        nodes: how many nodes a cluster of our own offers.
    """

    def __init__(self, address: str | None, nodes: int) -> None:
        self._address = address
        self._nodes = nodes
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="ray")
        self._folder: Path | None = None
        self._actors: list[Any] = []
        self._closed = False

    @property
    def local(self) -> bool:
        return self._address is None

    async def open(self) -> None:
        """Start or connect; `close` is due afterwards, also where it failed.

        Raises:
            FleetError: that failed; the text says why.
        """
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        if self.local:
            self._make_folder()
        try:
            await self._knock()
            await self._call(self._init)
        except Exception as error:
            where = "on this machine" if self.local else f"at {self._address}"
            raise FleetError(f"no Ray cluster {where}: {_last_line(error)}") from error
        finally:
            _take_back_sigterm()

    async def capacity(self) -> int:
        """How many nodes the cluster's machines offer now."""
        import ray

        resources = await self._call(ray.cluster_resources)
        return int(resources.get(RESOURCE, 0))

    async def own_host(self) -> str:
        """This machine's address as the others see it."""
        import ray

        return "127.0.0.1" if self.local else str(await self._call(ray.util.get_node_ip_address))

    async def spawn(self, spec: NodeSpec) -> Any:
        """Ask for a node's actor; it starts as soon as a machine has room for it."""
        actor = await self._call(lambda: self._spawn(spec))
        self._actors.append(actor)
        return actor

    async def ready(self, actor: Any) -> str:
        """Wait until the node can search; returns its incarnation.

        Raises:
            NodeDied: its process ended, or its engine cannot be made.
        """
        return str(await self._ask(lambda: actor.ready.remote()))

    async def watch(self, actor: Any) -> None:
        """Wait until the node was closed.

        Raises:
            NodeDied: its process ended by itself.
        """
        await self._ask(lambda: actor.watch.options(concurrency_group="watch").remote())

    async def end(self, actor: Any, patience_s: float = 2.0) -> None:
        """Close the node and end its process, by force where it does not heed."""
        import ray

        if actor in self._actors:
            self._actors.remove(actor)
        with contextlib.suppress(NodeDied, TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._ask(lambda: actor.close.remote())
        await self._call(lambda: ray.kill(actor))

    async def close(self) -> None:
        """End the actors and, where it is our own, the cluster. More than once does no harm; no call is valid after."""
        if self._closed:
            return
        self._closed = True
        await asyncio.gather(*(self.end(actor) for actor in list(self._actors)))
        if "ray" in sys.modules:
            import ray

            await self._call(ray.shutdown)
        self._executor.shutdown(wait=False)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    async def _knock(self) -> None:
        """Where nobody listens, Ray would try for minutes, on a thread that cannot be called back."""
        if self._address is None or self._address == "auto":
            return
        host, _, port = self._address.rpartition(":")
        if not host or not port.isdigit():
            raise ValueError(f"expected host:port or auto, got {self._address!r}")
        async with asyncio.timeout(5.0):
            _, writer = await asyncio.open_connection(host, int(port))
        writer.close()

    def _make_folder(self) -> None:
        """Ray's logs and sockets, and the token's file: readable by this user only, removed in the end."""
        remove_leftovers(Path(tempfile.gettempdir()))
        self._folder = Path(tempfile.mkdtemp(prefix=f"gougi-{os.getpid()}-"))
        if "RAY_AUTH_TOKEN" not in os.environ:
            token = self._folder / "token"
            token.touch(0o600)
            token.write_text(_TOKEN)
            os.environ["RAY_AUTH_TOKEN_PATH"] = str(token)

    def _init(self) -> None:
        import ray
        import ray._private.worker as ray_worker

        # Ray prints "a worker died" to standard output whatever its log options say; we log that ourselves.
        ray_worker._worker_logs_enabled = False
        quiet = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": True}
        if self._address is not None:
            ray.init(address=self._address, **quiet)
            return
        ray.init(
            address="local",
            num_cpus=0,
            resources={RESOURCE: self._nodes},
            include_dashboard=False,
            object_store_memory=80 * 1024 * 1024,  # nothing of ours goes through it; Ray's least is 75 MB
            _temp_dir=str(self._folder),
            **quiet,
        )

    def _spawn(self, spec: NodeSpec) -> Any:
        import ray

        actor_class = ray.remote(
            num_cpus=0,
            resources={RESOURCE: 1},
            max_restarts=0,
            max_task_retries=0,
            concurrency_groups={"watch": 1},
        )(NodeActor)
        return actor_class.remote(spec)

    async def _ask(self, call: Callable[[], Any]) -> Any:
        """Await an actor's answer."""
        from ray.exceptions import RayError

        def ask() -> Future[Any]:
            future: Future[Any] = call().future()
            return future

        try:
            return await asyncio.wrap_future(await self._call(ask))
        except RayError as error:
            raise NodeDied(_reason(error)) from error

    async def _call(self, function: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, function)


def remove_leftovers(folder: Path) -> None:
    """Remove what masters that were killed left in ``folder``: its name holds the process that made it."""
    for path in folder.glob("gougi-*-*"):
        owner = path.name.split("-")[1]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            shutil.rmtree(path, ignore_errors=True)


def _take_back_sigterm() -> None:
    """Ray's native code puts a handler of its own under Python's, which prints a stack and dies: Python's again."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))


def _reason(error: RayError) -> str:
    """Ray explains at length what may have killed a process; that it died is what is known."""
    return "its process died" if "worker process has died" in str(error) else _last_line(error)


def _last_line(error: BaseException) -> str:
    """What an exception says in one line: of a remote traceback, which Ray passes as text, the last one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:500] if lines else type(error).__name__
