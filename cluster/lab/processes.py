"""Games over several processes: each has an `Arena` of its own, for compiled engines share no process.

Nothing of a game depends on the process or on the games before it, so the records are the same whatever the number of
processes; only the order in which they come is not.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from cluster.lab.engines import MakeEngine
from cluster.lab.games import Arena
from cluster.lab.records import GameRecord
from cluster.lab.schedule import Game
from cluster.lab.settings import LabError, LabSettings

Task = tuple[Game, str]
"""A game and the SFEN of its opening."""


def play_all(
    settings: LabSettings, make_engine: MakeEngine, tasks: Iterable[Task], concurrency: int
) -> Generator[GameRecord]:
    """Play ``tasks`` in ``concurrency`` processes; the records, as the games end.

    Closing the iterator, or an exception in its caller (Ctrl-C), ends the processes and the games in them at once.

    Raises:
        LabError: a game could not be played, or a process died.
    """
    left = iter(tasks)
    context = multiprocessing.get_context("spawn")
    running: dict[Connection, tuple[BaseProcess, Game]] = {}
    started: list[BaseProcess] = []
    try:
        for _, (game, sfen) in zip(range(concurrency), left, strict=False):
            ours, theirs = context.Pipe()
            process: BaseProcess = context.Process(target=_work, args=(theirs, settings, make_engine), daemon=True)
            with deaf_to_ctrl_c():
                process.start()
                started.append(process)
            theirs.close()
            running[ours] = process, game
            ours.send((game, sfen))
        while running:
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                process, game = running.pop(ready)
                found = _answer(ready, process, game)
                following = next(left, None)
                if following is not None:
                    running[ready] = process, following[0]
                    ready.send(following)
                yield found
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.join()


@contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    """A process that is begun within never hears of Ctrl-C, which a terminal sends to all; this one does, later."""
    resource_tracker.ensure_running()  # with the first process it would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _answer(connection: Connection, process: BaseProcess, game: Game) -> GameRecord:
    try:
        found = connection.recv()
    except (EOFError, ConnectionResetError):
        process.join(5)
        raise LabError(f"{game}: its process died ({process.exitcode})") from None
    if isinstance(found, GameRecord):
        return found
    raise LabError(f"{game}: {found}")


def _work(connection: Connection, settings: LabSettings, make_engine: MakeEngine) -> None:
    """A process: play what comes, until the other end is closed."""
    arena = Arena(settings, make_engine)
    while True:
        try:
            game, sfen = connection.recv()
        except EOFError:
            return
        try:
            connection.send(arena.play(game, sfen))
        except BrokenPipeError:
            return
        except Exception as error:
            connection.send(f"{type(error).__name__}: {error}")
            return
