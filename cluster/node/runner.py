"""One node: an engine on its own thread, which takes jobs and stops and answers with reports.

`NodeRunner` is the same in a node's process (`cluster.node.process`), in the fallback's and in the local driver.

**No stop is lost, in any order.** Jobs and stops carry the job's id, which rises over a master's life. A stop
ends its job and every earlier one, even one that arrives after the stop. The engine's position is set (which clears the
engine's own stop flag) under the same lock as incoming stops.

**A job in the background** is searched on a thread of its own with the lowest priority. A process that has lowered its
priority may not raise it again, so the thread has its own priority and ends with its job. Threads that an engine starts
from it inherit that priority: helper threads, which live on, would keep it. Only the fallback gets such jobs, and it
has no helper threads.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from cluster.network.messages import COMMON, Done, Job, NewGame, Report, Starves, Stop
from cluster.network.scale import Scale
from cluster.processors import processors
from worker.engine import Engine, EngineError, SearchInfo, SearchResult
from worker.threads import core_time, give_way

_log = logging.getLogger(__name__)

Emit = Callable[[Report | Done | Starves], None]

_EARLY_S: Final = 0.005
"""Seconds after a job's first report in which iterations end faster than anyone can use their lines. Each would cost
the master as much as a later one, and the next arrives in a moment."""
_SEARCHES: Final = 0.5
"""The least share of a search for which a searching thread runs or waits for a core."""
_LOOKED_AT_S: Final = 3.0
_ENOUGH: Final = 0.75
_AGAIN_S: Final = 60.0


class CoreShare:
    """Whether a node gets the core that it searches on. Pure.

    A search should have its core whenever it can run. If its thread often had to wait for one during some seconds,
    others use the same cores: too many nodes for the machine, a backup, another user's work.
    """

    def __init__(self) -> None:
        self._ran_s = self._waited_s = 0.0
        self._quiet_until_s = 0.0

    def note(self, ran_s: float, waited_s: float, now_s: float) -> int | None:
        """Note the end of a search. Returns the percentage of a core that the last searches got, if it is worth a
        message: it was too low over 3 s, and there was no message in the last minute.

        Args:
            ran_s: how long its thread ran.
            waited_s: how long it could have run but had no core.
            now_s: the time by any monotonic clock.
        """
        self._ran_s += ran_s
        self._waited_s += waited_s
        wanted_s = self._ran_s + self._waited_s
        if wanted_s < _LOOKED_AT_S:
            return None
        share = self._ran_s / wanted_s
        self._ran_s = self._waited_s = 0.0
        if share >= _ENOUGH or now_s < self._quiet_until_s:
            return None
        self._quiet_until_s = now_s + _AGAIN_S
        return round(100 * share)


class NodeRunner:
    """Drives ``engine`` on a thread of its own.

    How to use one::

        runner = NodeRunner("node-1", engine, emit)    # emit is called from one thread at a time
        runner.handle(job)                             # any thread; returns at once
        runner.handle(Stop(job.job_id))                # any thread, any time
        runner.close()

    A job is answered by any number of `Report` and then one `Done`, unless a later job or a stop overtook it before it
    began: then there is no answer. A newer job ends the running one. A `Starves` may follow, if others took the core.
    """

    def __init__(self, node_id: str, engine: Engine, emit: Emit, scale: Scale = COMMON) -> None:
        """``scale``: that of the engine's scores."""
        self.node_id = node_id
        self.engine = engine
        self._scale = scale
        self._emit = emit
        self._core_share = CoreShare()
        self._wake = threading.Condition()
        # Everything below is guarded by _wake.
        self._next: Job | None = None
        self._running: Job | None = None
        self._accepted = 0
        """The id of the last job received."""
        self._stopped = 0
        """Every job up to this id has to end."""
        self._new_game = False
        self._closing = False
        self._thread = threading.Thread(target=self._loop, name=f"search-{node_id}", daemon=True)
        self._thread.start()

    def handle(self, order: Job | Stop | NewGame) -> None:
        """Take an order of the master. A job that is not newer than the last one, or is already stopped, is ignored."""
        with self._wake:
            match order:
                case Job():
                    if order.job_id <= max(self._accepted, self._stopped):
                        return
                    self._accepted = order.job_id
                    self._next = order
                    if self._running is not None:
                        self.engine.stop()
                    self._wake.notify()
                case Stop():
                    self._stopped = max(self._stopped, order.job_id)
                    if self._next is not None and self._next.job_id <= self._stopped:
                        self._next = None
                    if self._running is not None and self._running.job_id <= self._stopped:
                        self.engine.stop()
                case NewGame():
                    self._new_game = True
                    self._wake.notify()

    def master_lost(self) -> None:
        """Note that the master is unreachable, and so no stop can arrive: end any search that would not end soon by
        itself."""
        with self._wake:
            if self._next is not None and self._next.movetime_ms is None:
                self._next = None
            if self._running is not None and self._running.movetime_ms is None:
                self.engine.stop()

    def status(self) -> tuple[int, bool]:
        """The id of the last job received (0: none), and whether the node is idle."""
        with self._wake:
            idle = self._next is None and self._running is None and not self._new_game
            return self._accepted, idle

    def close(self, timeout_s: float = 2.0) -> None:
        """End the search and the thread, and close the engine. An engine that ignores its stop is abandoned."""
        with self._wake:
            if self._closing:
                return
            self._closing = True
            self._next = None
            self.engine.stop()
            self._wake.notify()
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            _log.warning("%s: the engine did not stop within %.1f s", self.node_id, timeout_s)
        else:
            self.engine.close()

    def _loop(self) -> None:
        while True:
            with self._wake:
                while self._next is None and not self._new_game and not self._closing:
                    self._wake.wait()
                if self._closing:
                    return
                new_game = self._new_game
            # Not under the lock: an external engine may take seconds, in which heartbeats and stops must go on.
            fault = self._attempt(self.engine.new_game) if new_game else ""
            with self._wake:
                if new_game:
                    self._new_game = False
                if self._next is None:
                    continue
                job, self._next = self._next, None
                # Under the lock: from here on the engine's stop flag is for this job.
                error = fault or self._attempt(partial(self._set_up, job))
                if not error:
                    self._running = job
            if error:
                self._emit(Done(self.node_id, job.search_id, job.job_id, 0, 0, error))
            elif job.background:
                thread = threading.Thread(target=self._search_modestly, args=(job,), name=f"background-{self.node_id}")
                thread.daemon = True
                thread.start()
                thread.join()
            else:
                self._search(job)

    def _search_modestly(self, job: Job) -> None:
        give_way()
        self._search(job)

    def _set_up(self, job: Job) -> None:
        self.engine.rules = job.rules(self.engine.rules, self._scale)
        self.engine.set_position(job.sfen, job.moves)

    def _attempt(self, step: Callable[[], None]) -> str:
        """Try ``step`` of the engine; returns the error, or ``""``."""
        try:
            step()
        except EngineError as error:
            return str(error)[:1000] or "engine error"
        except Exception as error:
            _log.exception("%s: the engine failed before a search", self.node_id)
            return f"{type(error).__name__}: {error}"[:1000]
        return ""

    def _search(self, job: Job) -> None:
        last: dict[int, SearchInfo] = {}
        # With a window, every result is awaited at once; with several lines, only complete sets make sense.
        plain = job.multipv == 1 and job.alpha is None and job.beta is None
        quiet_until_s = 0.0

        def on_info(info: SearchInfo) -> None:
            nonlocal quiet_until_s
            if plain:
                now_s = time.monotonic()
                if now_s < quiet_until_s:
                    return
                if not last:
                    quiet_until_s = now_s + _EARLY_S
            last[info.multipv] = info
            self._emit(Report.of(self.node_id, job, info, self._scale))

        error, result = "", SearchResult("", None, 0, 0)
        began_s, before = time.monotonic(), core_time()
        try:
            result = self.engine.go(job.limits(self._scale), on_info)
        except EngineError as failure:
            error = str(failure)[:1000] or "engine error"
        except Exception as failure:
            _log.exception("%s: the engine failed in a search", self.node_id)
            error = f"{type(failure).__name__}: {failure}"[:1000]
        for info in result.lines:
            if last.get(info.multipv) != info:
                self._emit(Report.of(self.node_id, job, info, self._scale))
        with self._wake:
            self._running = None
        self._emit(Done(self.node_id, job.search_id, job.job_id, result.nodes, result.time_ms, error))
        if not job.background:
            now_s = time.monotonic()
            ran_s, waited_s = (after - earlier for after, earlier in zip(core_time(), before, strict=True))
            # A thread that slept most of the time only waited for an engine that searches in its own process.
            searched = ran_s + waited_s >= _SEARCHES * (now_s - began_s)
            percent = self._core_share.note(ran_s, waited_s, now_s) if searched else None
            if percent is not None:
                self._emit(Starves(self.node_id, percent, processors()))
