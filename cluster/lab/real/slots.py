"""Games in real time side by side: a thread for each slot, which waits for its players and does little else."""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Final

from cluster.api import FleetError
from cluster.engine_spec import EngineSpec
from cluster.lab.processes import Task
from cluster.lab.real.cores import Seating
from cluster.lab.real.games import OpenSide, RealArena, VoidGame
from cluster.lab.real.side import Side, SideLost
from cluster.lab.records import GameRecord
from cluster.lab.settings import LabError, LabSettings

_POLL_S: Final = 0.2
"""A wait without an end would keep Ctrl-C waiting too."""


def play_all_real(
    settings: LabSettings,
    engine: EngineSpec,
    tasks: Iterable[Task],
    seating: Seating,
    tell: Callable[[str], None],
    open_side: OpenSide = Side,
) -> Generator[GameRecord]:
    """Play ``tasks``, as many at a time as ``seating`` has slots; the records, as the games end.

    Closing the iterator, or an exception in its caller (Ctrl-C), ends the players and the games in progress.

    Args:
        engine: of every player's first node.
        tell: called from any thread with what the user should know.

    Raises:
        LabError: a game could not be played.
    """
    left = _Shared(tasks)
    ended = threading.Event()
    results = queue.SimpleQueue[GameRecord | Exception | None]()

    def work(slot: int) -> None:
        # Ctrl-C is the main thread's, which Python hands it to; its processes shall not have it either.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        arena = RealArena(settings, engine, seating, slot, ended, tell, open_side)
        try:
            for game, sfen in left:
                if ended.is_set():
                    break
                results.put(arena.play(game, sfen))
        except (SideLost, VoidGame):
            pass  # it was told to end
        except FleetError as error:
            results.put(LabError(f"{game}: {error}"))
        except Exception as error:
            results.put(error)
        finally:
            arena.close()
            results.put(None)

    threads = [threading.Thread(target=work, args=(slot,), name=f"lab {slot}") for slot in range(seating.slots)]
    try:
        for thread in threads:
            thread.start()
        running = len(threads)
        while running:
            try:
                found = results.get(timeout=_POLL_S)
            except queue.Empty:
                continue
            if isinstance(found, Exception):
                raise found
            if found is None:
                running -= 1
            else:
                yield found
    finally:
        ended.set()
        for thread in threads:
            if thread.ident is not None:
                thread.join()


class _Shared(Iterator[Task]):
    """An iterator that many threads take from."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks = iter(tasks)
        self._lock = threading.Lock()

    def __next__(self) -> Task:
        with self._lock:
            return next(self._tasks)
