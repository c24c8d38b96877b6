"""A search for mate at the root, in a thread of its own beside the main search."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from worker.mate import MateResult, MateSolver, MateStatus
from worker.score import MATE, MATE_BOUND
from worker.search.rules import EnteringKingRule, Rules
from worker.shogi import Position

_MOST_MEMORY_MB: Final = 16
_SHARE_OF_HASH: Final = 4
_LONGEST: Final = MATE - MATE_BOUND
"""Plies beyond which a mate has no score."""


def counts(result: MateResult, rules: Rules, move_number: int) -> bool:
    """Whether a result is a mate that stands under the rules of the game.

    The solver knows no move limit: the longest defence has to fit in. A declaration breaks no mate, since a king in
    check cannot declare.
    """
    left = rules.plies_left(move_number)
    return result.status is MateStatus.MATE and result.longest <= _LONGEST and (left is None or result.longest < left)


class RootMate:
    """Runs one `MateSolver` in a thread; its memory is taken once.

    Args:
        hash_mb: the engine's transposition table in MB; the mate search takes a quarter of that, 1 to 16 MB.
    """

    def __init__(self, hash_mb: int) -> None:
        self._solver = MateSolver(max(1, min(_MOST_MEMORY_MB, hash_mb // _SHARE_OF_HASH)), keep=True)
        self._thread: threading.Thread | None = None
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
        """Begin to search ``position``, which nobody may change until `finish`. With 0 nodes nothing is begun.

        Nor is it under the try rule, where a king in check may win by moving.

        Args:
            allows: whether a mate may begin with this move.
            on_mate: called once, from the thread, when a mate has been found.
        """
        self._line = ()
        if max_nodes == 0 or rules.entering is EnteringKingRule.TRY:
            return

        def search() -> None:
            result = self._solver.solve(position, max_nodes=max_nodes)
            if counts(result, rules, position.move_number) and allows(result.line[0]):
                self._line = result.line
                on_mate()

        self._solver.prepare()
        self._thread = threading.Thread(target=search, name="root mate")
        self._thread.start()

    def stop(self) -> None:
        """End the search soon. From any thread."""
        self._solver.stop()

    def finish(self) -> None:
        """End the search and wait for it. Afterwards ``on_mate`` is not called."""
        if self._thread is not None:
            self.stop()
            self._thread.join()
            self._thread = None
