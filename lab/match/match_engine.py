"""A contestant's process in a match: kept alive from game to game, restarted if it died.

It exchanges raw USI lines instead of using `worker.usi.engine`: a match has a clock for each side, and needs only the
last line of a search, so that the referee takes almost none of the players' time.
"""

from __future__ import annotations

import time
from typing import Final

from cluster.machine.processes import descendants, stat_of
from lab.match.referee import BestMove
from lab.match.settings import Contestant
from worker.engine import EngineError
from worker.usi.process import UsiProcess, dialect_of, parse_bestmove, parse_info, parse_nodes

_START_S: Final = 60.0
"""Seconds to ``usiok``; on a busy machine an interpreter needs time to load its libraries."""
_READY_S: Final = 900.0
"""Seconds to ``readyok``; Gougi may compile itself."""
_LONGEST_S: Final = 600.0
"""Seconds of a search without a clock after which the engine counts as hanging."""
_STOP_S: Final = 3.0
"""Seconds from ``stop`` to ``bestmove`` after which the process is ended."""


def reached(exact: str, scored: str) -> tuple[int | None, int]:
    """The score and the depth that a search reached, from its last line with an exact score and its last line with any.

    A depth with only a bound was not completed, but the depth before it was: an engine that omits lines when they come
    quickly may have shown its last exact score many depths earlier.
    """
    best, last = (parse_info(line, lambda words: tuple(words[:1])) for line in (exact, scored))
    depth = 0 if best is None else best.depth
    if last is not None and last.depth - 1 > depth:
        return last.score, last.depth - 1
    return (None if best is None else best.score), depth


class SilentError(EngineError):
    """An engine has given no best move in time. It stays alive if it gave one soon after ``stop``."""


class MatchEngine:
    """A contestant and its process. For one thread; `kill` may come from any."""

    def __init__(self, contestant: Contestant) -> None:
        self.contestant = contestant
        self._process: UsiProcess | None = None
        self._killed = False

    def start(self) -> None:
        """Start the process, set its options and wait until it is ready; does nothing if it is alive.

        Raises:
            EngineError: it does not start, or refuses an option.
        """
        if self._process is not None:
            return
        process = UsiProcess(self.contestant.command, _START_S, self.contestant.folder)
        self._process = process
        try:
            if self._killed:
                raise EngineError("ended")
            process.set_options(self.contestant.options)
            process.ready(_READY_S)
        except BaseException:
            self._drop()
            raise

    def understands(self, word: str) -> bool:
        """Whether the started engine knows ``nodes`` or ``depth`` after ``go``."""
        assert self._process is not None
        return bool(getattr(dialect_of(self._process.name), word, True))

    def new_game(self) -> None:
        """Prepare for another game; starts the process if it is gone. Raises EngineError."""
        alive = self._process is not None
        self.start()
        assert self._process is not None
        try:
            if alive:
                self._process.ready(_READY_S)
            self._process.send("usinewgame")
        except EngineError:
            # It died between two games: neither side loses by that.
            self._drop()
            if not alive:
                raise
            self.new_game()

    def think(self, position_line: str, go_line: str, allowed_ms: int | None) -> BestMove:
        """Ask for a move.

        Args:
            allowed_ms: time after which the search is stopped and its answer dropped; None: ten minutes.

        Raises:
            SilentError: no best move within that time.
            EngineError: the engine died. Its process is gone; `new_game` starts another one.
        """
        process = self._process
        if process is None:
            raise EngineError(f"{self.contestant.name} is not running")
        try:
            began = time.monotonic()
            process.send(f"{position_line}\n{go_line}")
            return self._follow(process, began, _LONGEST_S if allowed_ms is None else allowed_ms / 1000)
        except SilentError:
            raise
        except EngineError:
            self._drop()
            raise

    def _follow(self, process: UsiProcess, began: float, allowed_s: float) -> BestMove:
        """Read the search up to its best move."""
        exact = scored = counted = ""
        deadline = began + allowed_s
        while True:
            line = process.receive(deadline)
            if line is None:
                if time.monotonic() >= deadline:
                    self._interrupt(process)
                    raise SilentError(f"no move in {allowed_s:g} s")
                continue
            if line.startswith("bestmove"):
                break
            if line.startswith("info string"):
                continue
            if " nodes " in line:
                counted = line
            if " score " in line and (" multipv " not in line or " multipv 1 " in line):
                scored = line
                if "bound" not in line:
                    exact = line
        elapsed_ms = int((time.monotonic() - began) * 1000)
        move, _ = parse_bestmove(line)
        score, depth = reached(exact, scored)
        return BestMove(move, elapsed_ms, score, parse_nodes(counted) or 0, depth)

    def _interrupt(self, process: UsiProcess) -> None:
        """End a search that took too long; the process too, if it does not answer."""
        deadline = time.monotonic() + _STOP_S
        try:
            process.send("stop")
            while time.monotonic() < deadline:
                if (process.receive(deadline) or "").startswith("bestmove"):
                    return
        except EngineError:
            pass
        self._drop()

    def game_over(self, result: str) -> None:
        """Send the end of a game: ``win``, ``lose`` or ``draw``."""
        if self._process is not None:
            try:
                self._process.send(f"gameover {result}")
            except EngineError:
                self._drop()

    def cpu_ms(self) -> int:
        """CPU time of the process and its descendants so far, in ms; 0 if the system does not report it (Linux
        only)."""
        stat = None if self._process is None else stat_of(self._process.pid)
        if stat is None:
            return 0
        return round(1000 * sum(one.cpu_s for one in (stat, *descendants(stat.pid))))

    def _drop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the process by the protocol's ``quit``."""
        process, self._process = self._process, None
        if process is not None:
            process.quit()

    def kill(self) -> None:
        """End the process at once, from any thread: a thread that waits for it gets an EngineError."""
        self._killed = True
        process = self._process
        if process is not None:
            process.kill()
