"""One node: an engine on its own thread, driven by jobs and stops, answering with reports.

`NodeRunner` is the same in a node's process (`cluster.node.process`), in the fallback's and in the local driver.

**No stop is lost, whatever the order.** Jobs and stops carry the job's id, which rises over a master's life. A stop
ends its job and every earlier one, also one that arrives after it; and the engine's position is set (which clears the
engine's own stop flag) under the same lock under which stops come in.

**A job in the background** is searched on a thread of its own with the lowest priority. Who has lowered a priority may
not raise it again; so it is the thread's, and ends with its job. Threads that an engine begins there have that priority
too: helper threads, which stay, for good. The fallback, which alone gets such jobs, has none.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from cluster.network.messages import Done, Job, NewGame, Report, Starves, Stop
from cluster.processors import processors
from worker.engine import Engine, EngineError, SearchInfo, SearchResult
from worker.threads import core_time, give_way

_log = logging.getLogger(__name__)

Emit = Callable[[Report | Done | Starves], None]

_EARLY_S: Final = 0.005
"""Seconds from a job's first report on in which the deeper iterations end faster than anybody can use their lines: each
would cost the master as much as a late one, and the next one is there in a moment."""
_SEARCHES: Final = 0.5
"""Share of a search that a thread which searches runs, or waits for a core, at the least."""
_LOOKED_AT_S: Final = 3.0
_ENOUGH: Final = 0.75
_AGAIN_S: Final = 60.0


class CoreShare:
    """Whether a node gets the core that it searches on. Pure.

    A search is to have its core whenever it can run. Where its thread had to wait for one clearly often over some
    seconds, others want the same cores: more nodes than the machine has, a backup, somebody else's work.
    """

    def __init__(self) -> None:
        self._ran_s = self._waited_s = 0.0
        self._quiet_until_s = 0.0

    def note(self, ran_s: float, waited_s: float, now_s: float) -> int | None:
        """A search is over. The percentage of a core that the last ones had, if it is worth telling: it was too
        little over 3 s, and nothing was told within the last minute.

        Args:
            ran_s: how long its thread ran.
            waited_s: how long it could have run, and had no core.
            now_s: any steady clock.
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
    began: then by nothing. A newer job ends the running one. A `Starves` may follow: others had the core.
    """

    def __init__(self, node_id: str, engine: Engine, emit: Emit) -> None:
        self.node_id = node_id
        self.engine = engine
        self._emit = emit
        self._core_share = CoreShare()
        self._wake = threading.Condition()
        # All below is guarded by _wake.
        self._next: Job | None = None
        self._running: Job | None = None
        self._accepted = 0
        """The id of the last job that came."""
        self._stopped = 0
        """Every job up to this id is to end."""
        self._new_game = False
        self._closing = False
        self._thread = threading.Thread(target=self._loop, name=f"search-{node_id}", daemon=True)
        self._thread.start()

    def handle(self, order: Job | Stop | NewGame) -> None:
        """Take an order of the master. A job that is not newer than the last one, or is stopped, is passed over."""
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
        """The master is out of reach, and its stop would be too: end what nothing else would end soon."""
        with self._wake:
            if self._next is not None and self._next.movetime_ms is None:
                self._next = None
            if self._running is not None and self._running.movetime_ms is None:
                self.engine.stop()

    def status(self) -> tuple[int, bool]:
        """The id of the last job that came (0: none), and whether nothing is being searched."""
        with self._wake:
            idle = self._next is None and self._running is None and not self._new_game
            return self._accepted, idle

    def close(self, timeout_s: float = 2.0) -> None:
        """End the search and the thread, and close the engine. An engine that does not heed its stop is left behind."""
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
                # Under the lock: from here on the engine's stop flag counts for this job.
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
        self.engine.rules = job.rules(self.engine.rules)
        self.engine.set_position(job.sfen, job.moves)

    def _attempt(self, step: Callable[[], None]) -> str:
        """Try ``step`` of the engine; returns what went wrong, or ``""``."""
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
        # A window's news is waited for; of several lines only whole sets make sense.
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
            self._emit(Report.of(self.node_id, job, info))

        error, result = "", SearchResult("", None, 0, 0)
        began_s, before = time.monotonic(), core_time()
        try:
            result = self.engine.go(job.limits(), on_info)
        except EngineError as failure:
            error = str(failure)[:1000] or "engine error"
        except Exception as failure:
            _log.exception("%s: the engine failed in a search", self.node_id)
            error = f"{type(failure).__name__}: {failure}"[:1000]
        for info in result.lines:
            if last.get(info.multipv) != info:
                self._emit(Report.of(self.node_id, job, info))
        with self._wake:
            self._running = None
        self._emit(Done(self.node_id, job.search_id, job.job_id, result.nodes, result.time_ms, error))
        if not job.background:
            now_s = time.monotonic()
            ran_s, waited_s = (after - earlier for after, earlier in zip(core_time(), before, strict=True))
            # A thread that slept most of the time only listened to an engine that searches in a process of its own.
            searched = ran_s + waited_s >= _SEARCHES * (now_s - began_s)
            percent = self._core_share.note(ran_s, waited_s, now_s) if searched else None
            if percent is not None:
                self._emit(Starves(self.node_id, percent, processors()))
