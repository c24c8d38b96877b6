"""One search thread: iterative deepening with aspiration windows over the compiled root search.

Lazy SMP: helper threads skip depths (`skips`), and at the end all threads vote on the move (`elect`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from worker.engine import Bound
from worker.nnue import Network, NnueState
from worker.rules import Rules
from worker.score import INFINITE, MATE, MATE_BOUND, NO_SCORE, is_mate, mate_distance
from worker.search import parts
from worker.search.parameters import WINDOW
from worker.search.root import first_window, next_window, search_root_in
from worker.search.state import MAX_DEPTH, NEVER, PV_ROW, Histories, ThreadState, begin_search
from worker.search.tt import Outbox, TranspositionTable, entry_move, probe
from worker.shogi import Position

_BLOCKS: Final = ((1, 2), (2, 4), (3, 6), (4, 8))
"""(depths skipped in a row, number of such threads), for helper threads 1 to 20; then it repeats."""
_PATTERNS: Final = tuple((size, phase) for size, threads in _BLOCKS for phase in range(threads))
_LEAST_WEIGHT: Final = 14
"""The weight, per ply of depth, of the thread with the worst score."""


def skips(number: int, depth: int) -> bool:
    """Whether thread ``number`` skips the iteration of ``depth`` plies. The main thread, 0, skips none, and no thread
    skips the first, so there is a move however early the search ends.

    A helper searches ``size`` depths and skips the next ``size``, and helpers of the same size start at different
    phases (Stockfish 8 to 11), so that threads spread over depths without communication.
    """
    if number == 0 or depth == 1:
        return False
    size, phase = _PATTERNS[(number - 1) % len(_PATTERNS)]
    return (depth + phase) // size % 2 == 1


@dataclass(frozen=True, slots=True)
class Ballot:
    """The result of one thread."""

    move: int
    score: int
    depth: int
    """The deepest iteration that it finished."""


def elect(ballots: Sequence[Ballot]) -> int:
    """The index of the ballot that wins; ties go to the first of them.

    The shortest proven mate wins. Otherwise each ballot gives its move a weight by depth and by how far its score is
    above the worst (Stockfish, YaneuraOu). The move with the greatest weight wins, with its own strongest ballot. A
    ballot that sees its side mated counts only if all do; then the longest defence wins.
    """
    mates = [i for i, ballot in enumerate(ballots) if ballot.score >= MATE_BOUND]
    if mates:
        return max(mates, key=lambda i: ballots[i].score)
    open_ones = [i for i, ballot in enumerate(ballots) if ballot.score > -MATE_BOUND]
    if not open_ones:
        return max(range(len(ballots)), key=lambda i: ballots[i].score)
    worst = min(ballots[i].score for i in open_ones)
    weights = {i: (ballots[i].score - worst + _LEAST_WEIGHT) * ballots[i].depth for i in open_ones}
    votes: defaultdict[int, int] = defaultdict(int)
    for i, weight in weights.items():
        votes[ballots[i].move] += weight
    return max(open_ones, key=lambda i: (votes[ballots[i].move], weights[i]))


_MATE_SURE: Final = 2.5
"""Depth, in multiples of a mate's length, from which the mate counts as the shortest."""
_LAST_NODES: Final = 1024
"""Nodes (about a millisecond) in which `SearchThread.conclude` finds a line after a search was stopped."""


@dataclass(frozen=True, slots=True)
class PvLine:
    """The PV of one root move, with its result; moves as ints."""

    depth: int
    seldepth: int
    score: int
    bound: Bound
    pv: tuple[int, ...]


@dataclass(slots=True)
class Task:
    """The search that a thread has to do."""

    root_moves: list[int]
    multipv: int
    depth: int
    node_limit: int | None
    deadline_ns: int
    rules: Rules
    whole: bool = True
    """Whether ``root_moves`` are all legal moves; otherwise their best score is only a lower bound of the
    position's."""
    window: tuple[int, int] = (-INFINITE, INFINITE)
    """Scores (centipawns) at or outside of these two need not be exact."""
    number: int = 0
    """Number of the thread: 0, the main one, searches every depth; others skip some (`skips`)."""


class SearchThread(ThreadState):
    """Position, evaluation and search state of one thread.

    `run` blocks and releases the GIL inside compiled code; `stop` may come from any thread.
    """

    def __init__(self, network: Network, table: TranspositionTable, shared: Histories | None = None) -> None:
        super().__init__(shared)
        self._nnue = NnueState(network)
        self.outbox = Outbox(self.record)
        # Needed before any search: entries from other nodes may arrive at any time.
        self.use(table, self._shared)
        self.position = Position.startpos()
        self.lines: list[PvLine] = []
        self.exact: dict[int, PvLine] = {}
        """By root move, the deepest line of the last search with an exact score."""
        self.completed = 0
        """The deepest iteration that the last search finished."""

    def use(self, table: TranspositionTable, shared: Histories) -> None:
        """Use this table and these shared histories from now on."""
        self._table = table
        self.fields.tt[0], self.fields.tt_clusters[0] = table.address, table.clusters
        self.use_histories(shared)

    @property
    def nodes(self) -> int:
        """Nodes of the running or last search; may be read while it runs."""
        return int(self.fields.nodes[0])

    @property
    def effort(self) -> float:
        """The share of the search's nodes so far spent on its first move."""
        return float(self.fields.root_efforts[0]) / max(1, self.nodes)

    def take_changes(self) -> int:
        """The number of times since the last call that a move other than an iteration's first took over; resets it."""
        changes = int(self.fields.root_changes[0])
        self.fields.root_changes[0] = 0
        return changes

    def table_move(self) -> int | None:
        """The table's move in the current position."""
        data = np.uint64(probe(self.record, np.uint64(self.position.key)))
        move = int(entry_move(self.position.record, data))
        return move if self.position.is_legal(move) else None

    def expected_reply(self, move: int) -> int | None:
        """The table's move after ``move``, for a line that ends with its first move."""
        self.position.push(move)
        try:
            return self.table_move()
        finally:
            self.position.pop()

    def conclude(self, moves: Sequence[int], depth: int) -> PvLine | None:
        """Search once more after a search was stopped, for a missing line: the best of ``moves``, each a root move, as
        deep as `_LAST_NODES` nodes reach, but not beyond ``depth``. None: they reach no result.

        It ignores limits and `stop`, and its nodes are not counted.
        """
        th = self.fields
        records = self.position.memory, self._nnue.memory, self.memory
        before = {name: int(getattr(th, name)[0]) for name in ("nodes", "node_limit", "pause_at")}
        # From index 1 on, like the moves of a second line, so that the root's table entry stays unchanged.
        moves = moves[: len(th.root_moves) - 1]
        th.root_moves[1 : len(moves) + 1] = moves
        th.root_count[0] = len(moves) + 1
        th.stopped[0] = 0
        th.node_limit[0] = th.next_poll[0] = before["nodes"] + _LAST_NODES
        th.pause_at[0] = NEVER
        found: PvLine | None = None
        for plies in range(1, depth + 1):
            th.seldepth[0], th.root_depth[0] = 0, plies
            score = int(search_root_in(*records, -INFINITE, INFINITE, plies, 1, 1))
            while th.root_next[0] < th.root_count[0] and not th.stopped[0]:
                score = int(search_root_in(*records, score, INFINITE, plies, 1, int(th.root_next[0])))
            if th.root_improved[0]:
                found = self._line(plies, int(th.root_scores[1]), -INFINITE, INFINITE)
            if th.stopped[0]:
                break
        for name, value in before.items():
            getattr(th, name)[0] = value
        return found

    def _prepare(self, task: Task) -> None:
        begin_search(self.record)
        th, moves = self.fields, task.root_moves
        th.node_limit[0] = NEVER if task.node_limit is None else task.node_limit
        th.deadline_ns[0] = task.deadline_ns
        th.tt_generation[0] = self._table.generation
        rules, position = task.rules, self.position
        th.every_move[0] = int(rules.every_move)
        th.entering_rule[0] = rules.entering.code
        th.draw_value[:] = rules.draw_values(position.turn)
        left = rules.plies_left(position.move_number)
        th.draw_ply[0] = NEVER if left is None else position.plies + left
        th.root_whole[0] = int(task.whole)
        th.root_count[0] = len(moves)
        th.root_moves[: len(moves)] = moves
        th.root_scores[: len(moves)] = -MATE
        th.root_averages[: len(moves)] = NO_SCORE
        th.root_efforts[: len(moves)] = 0

    def run(
        self,
        task: Task,
        on_iteration: Callable[[int], bool],
        on_news: Callable[[PvLine], None] = lambda _line: None,
    ) -> None:
        """Search until a limit or `stop`; ``lines`` then holds the best lines, as many as ``task.multipv``.

        Args:
            on_iteration: called with each finished depth, ``lines`` in place; False ends the search.
            on_news: called within an iteration: with each line whose score fell out of its aspiration window, before it
                is searched again, and with the line of each move that takes over from the iteration's first.
        """
        self._prepare(task)
        stopped = self.fields.stopped
        wanted = min(task.multipv, len(task.root_moves))
        self.lines = []
        self.exact = {}
        self.completed = 0
        for depth in range(1, min(task.depth, MAX_DEPTH) + 1):
            if skips(task.number, depth):
                continue
            fresh: list[PvLine] = []
            for first in range(wanted):
                line = self._search_line(depth, first, task.window, on_news)
                if line is not None:
                    fresh.append(line)
                if stopped[0]:
                    break
            self._adopt(fresh, complete=not stopped[0])
            if not stopped[0]:
                self.completed = depth
                self._note_lines()
            if stopped[0] or not on_iteration(depth) or (wanted == 1 and self._settled(task, depth)):
                return

    def _search_line(
        self, depth: int, first: int, window: tuple[int, int], on_news: Callable[[PvLine], None]
    ) -> PvLine | None:
        """The best line among the root moves from ``first`` on; None if the search was stopped before it had one.

        Outside of ``window`` a score stays a bound. If the last iteration ended at one of its edges, this one only asks
        whether that still holds, with a null window, as a scout does.
        """
        th = self.fields
        records = self.position.memory, self._nnue.memory, self.memory
        before = self.lines[first].score if first < len(self.lines) else 0
        delta, centre = 2 * INFINITE, before
        if parts.ASPIRATION and first < len(self.lines) and not is_mate(before):
            centre, delta = first_window(self.record, first)
        floor, ceiling = window
        alpha, beta = max(floor, centre - delta), min(ceiling, centre + delta)
        if floor > -INFINITE and (not self.lines or before <= floor or beta <= floor):
            alpha, beta, delta = floor, floor + 1, WINDOW
        elif ceiling < INFINITE and (before >= ceiling or alpha >= ceiling):
            alpha, beta, delta = ceiling - 1, ceiling, WINDOW
        th.seldepth[0] = 0
        th.root_depth[0] = depth
        failed_high = 0
        found: PvLine | None = None
        while True:
            # A score above the window is as good from a shallower search, and cheaper.
            less = max(1, depth - failed_high)
            score = int(search_root_in(*records, alpha, beta, less, first, first))
            while th.root_next[0] < th.root_count[0] and not th.stopped[0]:
                on_news(self._line(depth, score, alpha, beta))
                score = int(search_root_in(*records, score, beta, less, first, int(th.root_next[0])))
            if th.stopped[0]:
                # Results proven before the stop are kept: a move above the window, or the first one within it.
                if th.root_improved[0] and int(th.root_scores[first]) > alpha:
                    found = self._line(depth, int(th.root_scores[first]), alpha, beta)
                return found
            found = self._line(depth, score, alpha, beta)
            if (score > alpha or alpha == floor) and (score < beta or beta == ceiling):
                return found
            on_news(found)
            failed_high = 0 if score <= alpha else failed_high + 1
            alpha, beta, delta = next_window(alpha, beta, delta, score, floor, ceiling)

    def _settled(self, task: Task, depth: int) -> bool:
        """Whether a mate was searched far beyond its length, so that more depth would change nothing."""
        top = self.lines[0]
        mate = is_mate(top.score) and top.bound is Bound.EXACT
        return mate and task.depth >= MAX_DEPTH and (abs(mate_distance(top.score)) + 2) * _MATE_SURE < depth

    def _note_lines(self) -> None:
        """Make the next iteration search the lines in their new order, and follow the best one."""
        th = self.fields
        moves = th.root_moves[: th.root_count[0]]
        for place, line in enumerate(self.lines):
            if moves[place] == line.pv[0]:
                continue
            i = int(np.flatnonzero(moves == line.pv[0])[0])
            for column in (moves, th.root_scores, th.root_efforts, th.root_averages, th.root_squares):
                column[place : i + 1] = np.roll(column[place : i + 1], 1)
        pv = self.lines[0].pv
        th.last_pv[: len(pv)] = pv
        th.last_pv_length[0] = len(pv)

    def _line(self, depth: int, score: int, alpha: int, beta: int) -> PvLine:
        th = self.fields
        bound = Bound.UPPER if score <= alpha else Bound.LOWER if score >= beta else Bound.EXACT
        pv = tuple(th.pv[: min(int(th.pv_length[0]), PV_ROW)].tolist())
        line = PvLine(depth, max(depth, int(th.seldepth[0])), score, bound, pv)
        if bound is Bound.EXACT:
            self.exact[pv[0]] = line
        return line

    def _adopt(self, fresh: list[PvLine], *, complete: bool) -> None:
        """Take over an iteration's lines, the best first; of an interrupted one, only those that it finished."""
        best_first = sorted(fresh, key=lambda line: (line.bound is not Bound.EXACT, -line.score))
        if not complete:
            taken = {line.pv[0] for line in fresh}
            kept = [line for line in self.lines if line.pv[0] not in taken]
            self.lines = (best_first + kept)[: max(len(self.lines), len(fresh))]
        else:
            self.lines = best_first
