"""A mate search at the root, on its own thread beside the main search."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from worker.mate import MateResult, MateSolver, MateStatus
from worker.rules import EnteringKingRule, Rules
from worker.score import MATE, MATE_BOUND
from worker.shogi import Position
from worker.threads import give_way, show_name

_log = logging.getLogger(__name__)

_MOST_MEMORY_MB: Final = 16
_SHARE_OF_HASH: Final = 4
_LONGEST: Final = MATE - MATE_BOUND
"""Plies beyond which a mate has no score."""


def counts(result: MateResult, rules: Rules, move_number: int) -> bool:
    """Whether a result is a mate under the rules of the game.

    The solver knows no move limit: the longest defence must fit within it. A declaration cannot break a mate, because a
    king in check cannot declare.
    """
    left = rules.plies_left(move_number)
    return result.status is MateStatus.MATE and result.longest <= _LONGEST and (left is None or result.longest < left)


@dataclass(frozen=True, slots=True, eq=False)
class _Request:
    position: Position
    rules: Rules
    max_nodes: int
    allows: Callable[[int], bool]
    on_mate: Callable[[], None]


class RootMate:
    """Runs one `MateSolver` beside the search; its memory is allocated once.

    Its thread has the lowest priority: if every core is searching, the mate search gets a few hundredths of one; if a
    core is idle, all of it. So no code waits for it: a search that was told to end may run until it notices, and only
    then does the next one begin.

    Args:
        hash_mb: the engine's transposition table in MB; the mate search takes a quarter of that, 1 to 16 MB.
    """

    def __init__(self, hash_mb: int) -> None:
        self._solver = MateSolver(max(1, min(_MOST_MEMORY_MB, hash_mb // _SHARE_OF_HASH)), keep=True)
        self._lock = threading.Lock()
        # Everything below is guarded by _lock.
        self._next: _Request | None = None
        self._wanted: _Request | None = None
        """The request whose mate is still of interest."""
        self._runs = False
        self._line: tuple[int, ...] = ()

    @property
    def line(self) -> tuple[int, ...]:
        """The mate that the running or last search found: moves from the root; empty: none."""
        return self._line

    def start(
        self,
        position: Position,
        rules: Rules,
        max_nodes: int,
        allows: Callable[[int], bool],
        on_mate: Callable[[], None],
    ) -> None:
        """Begin to search ``position``, which must not change any more. With 0 nodes nothing is started.

        Nor under the try rule, by which a king in check may win by moving.

        Args:
            allows: whether a mate may begin with this move.
            on_mate: called once, from the thread, when a mate has been found.
        """
        begins = max_nodes > 0 and rules.entering is not EnteringKingRule.TRY
        with self._lock:
            self._line = ()
            if not begins:
                return
            self._wanted = self._next = _Request(position, rules, max_nodes, allows, on_mate)
            if self._runs:
                return
            self._runs = True
        threading.Thread(target=self._run, name="root mate").start()

    def finish(self) -> None:
        """End the search. Afterwards ``on_mate`` is not called. From any thread."""
        with self._lock:
            self._wanted = self._next = None
            self._solver.stop()

    def rehearse(self, position: Position, max_nodes: int) -> None:
        """Search once in the caller's thread, so that the code is loaded for the first real search."""
        self._solver.prepare()
        self._solver.solve(position, max_nodes=max_nodes)

    def _run(self) -> None:
        give_way()
        show_name("root mate")
        while True:
            with self._lock:
                request, self._next = self._next, None
                if request is None:
                    self._runs = False
                    return
                self._solver.prepare()
            try:
                result = self._solver.solve(request.position, max_nodes=request.max_nodes)
            except Exception:  # the next search has another position
                _log.exception("the search for a mate failed")
                continue
            fits = counts(result, request.rules, request.position.move_number)
            if fits and request.allows(result.line[0]):
                with self._lock:
                    if self._wanted is request:
                        self._line = result.line
                        request.on_mate()
