"""NumbaEngine: our own searcher, an implementation of `Engine`.

Lazy SMP: all threads search the root on one table, and at the end they vote. A mate search runs in parallel.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Final

import numpy as np

from worker.clock.outlook import Signs
from worker.engine import (
    ROOT_MATE_NODES,
    Bound,
    EngineError,
    Entries,
    HistoryChanges,
    InfoCallback,
    Limits,
    SearchInfo,
    SearchResult,
)
from worker.files import described
from worker.jit.options import TUNING
from worker.nnue import Network, NetworkFileError, load_network
from worker.rules import EnteringKingRule, Rules
from worker.score import INFINITE, MAX_PLY, NO_SCORE, is_mate, mate_in
from worker.search import tt, tuning
from worker.search.history_exchange import NO_CHANGES, HistoryExchange
from worker.search.meaning import meaning, network_digest
from worker.search.root_mate import RootMate
from worker.search.state import MAX_DEPTH, NEVER, shared_histories
from worker.search.thread import Ballot, PvLine, SearchThread, Task, elect
from worker.search.tt import TranspositionTable, absorb
from worker.shogi import STARTPOS, MoveError, Position, SfenError, declaration, move_to_usi
from worker.shogi.position import Replay

_MATE_IN_ONE: Final = "8k/9/8P/9/9/9/9/9/9 b G 1"
_EFFORT_FROM_DEPTH: Final = 10
"""In shallower iterations the distribution of nodes over moves means nothing."""
_ONE_MOVE_DEPTH: Final = 6
"""A single legal move needs no time, but it needs a score and a reply to ponder on."""
_BOUNDS_FROM_MS: Final = 3000
"""After this time a score outside its window is reported; earlier, its exact value arrives soon enough."""
_CHANGES_FROM_DEPTH: Final = 3
"""From this depth on a new best move is reported within its iteration, because a fleet's coordinator may decide at any
time. Shallower iterations are over at once."""
_MOVE_ALONE: Final = np.uint64((NO_SCORE + tt._BIAS) << 16 | (NO_SCORE + tt._BIAS) << 32)
"""The word of a table entry with a move, but without score, evaluation, depth and bound."""


class NumbaEngine:
    """The numba searcher of one node.

    Args:
        hash_mb: size of the transposition table in MB.
        threads: search threads (Lazy SMP). With one thread and a node or depth limit a search is reproducible.
        eval_file: a network file, or its folder; None: the one in the package.
        fv_scale: raw network output to a centipawn; None: the value that `worker.nnue.load_network` finds.
        architecture: the short name of the network's shape; None or empty: detected from its bytes.
        network: a loaded network, instead of the last three; any number of engines may share it.
        number: the number of this engine among those of a fleet with the same search. All but number 0 skip depths, as
            helper threads do (`worker.search.thread`), unless the depth is limited.

    Raises:
        EngineError: the network cannot be read, or a size is out of range.
    """

    def __init__(
        self,
        hash_mb: int = 64,
        threads: int = 1,
        eval_file: str | None = None,
        fv_scale: int | None = None,
        architecture: str | None = None,
        *,
        network: Network | None = None,
        number: int = 0,
    ) -> None:
        if threads < 1:
            raise EngineError(f"{threads} threads: expected 1 or more")
        try:
            self._network: Network = network or load_network(eval_file, fv_scale=fv_scale, architecture=architecture)
            self._table = TranspositionTable(hash_mb)
        except (NetworkFileError, OSError, ValueError, MemoryError) as error:
            raise EngineError(described(error)) from error
        self.name = "gougi"
        self.can_split = True
        self.number = number
        self.rules = Rules()
        """The rules of the games; may be changed between searches."""
        self.root_mate_nodes = ROOT_MATE_NODES
        """Node limit of the mate search, which runs beside searches without node or depth limit; 0: no mate search. May
        be changed between searches."""
        self._root_mate = RootMate(hash_mb)
        self._histories = shared_histories(cleared=False)
        self._own = self._table, self._histories
        self._exchange: HistoryExchange | None = None
        # Touches all memory: page faults in the first search have delayed its stop by 100 ms.
        memory = threading.Thread(target=self._clear_tables, name="memory", daemon=True)
        memory.start()
        self._threads = [SearchThread(self._network, self._table, self._histories) for _ in range(threads)]
        # Permanent threads: starting sixteen of them for each search took milliseconds.
        self._pool = ThreadPoolExecutor(max(1, threads - 1), thread_name_prefix="helper")
        self._parameters = tuning.array_of(tuning.complete({})) if TUNING else None
        self._lock = threading.Lock()
        self._stopped = False
        self._replay = Replay()
        self._position = Position.startpos()
        self.set_position(STARTPOS)
        self._load_code()
        memory.join()
        self._histories.clear()  # of what loading the code has left
        for thread in self._threads:
            thread.clear_histories()
        self._is_clean = True

    def _load_code(self) -> None:
        """Run everything once on a table of its own: the first search must not pay for reading the compiled code."""
        thread = SearchThread(self._network, TranspositionTable(1), self._histories)
        moves = thread.position.legal_moves()
        thread.run(Task(moves, 1, 2, None, 0, self.rules), lambda _depth: True)
        thread.expected_reply(moves[0])
        self._table.hashfull()
        self._won_by_rule()
        self._root_mate.rehearse(Position.from_sfen(_MATE_IN_ONE), 100)

    def new_game(self) -> None:
        if self._is_clean:
            return
        self._is_clean = True
        self._clear_tables()
        for thread in self._threads:
            thread.clear_histories()

    def _clear_tables(self) -> None:
        for tables in self._own:
            tables.clear()
        if (exchange := self._exchange) is not None:  # read once: another thread may end the exchange
            exchange.forget()

    def set_position(self, sfen: str, moves: Sequence[str] = ()) -> None:
        try:
            position = self._replay.position(sfen, moves)
        except (SfenError, MoveError) as error:
            raise EngineError(str(error)) from error
        with self._lock:
            self._stopped = False
            self._position = position
            for thread in self._threads:
                thread.position.become(position)
                thread.set_stop(False)

    def set_parameters(self, vector: Mapping[str, int]) -> None:
        """Search with these parameter values from now on; the others keep their values in the source.

        Raises:
            EngineError: this is not the tuning build (`worker.search.tuning`), or there is no such parameter.
        """
        if self._parameters is None:
            raise EngineError("search parameters are compiled in: only the tuning build (GOUGI_TUNE=1) changes them")
        try:
            whole = tuning.complete(vector)
        except ValueError as error:
            raise EngineError(str(error)) from error
        self._parameters = tuning.array_of(whole)
        for thread in self._threads:
            thread.fill_logs(whole["REDUCTION_LOG"])

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for thread in self._threads:
                thread.set_stop(True)
            self._root_mate.finish()

    def close(self) -> None:
        self.stop()
        self._pool.shutdown(wait=False)

    def only_record(self) -> Any:
        """The Record of the only search thread, for a driver that pauses it (`TH_DTYPE`, ``pause_at``).

        Raises:
            EngineError: there are several threads.
        """
        if len(self._threads) > 1:
            raise EngineError("a search of several threads cannot be driven step by step")
        return self._threads[0].record

    def search_beside(self, first: NumbaEngine, *, table: bool, histories: bool) -> None:
        """From now on, use the table of ``first``, the shared histories of its threads, or both, like one of its
        threads. Otherwise, or if ``first`` is this engine, use its own. Must not be called during a search.
        """
        self._table = first._own[0] if table else self._own[0]
        self._histories = first._own[1] if histories else self._own[1]
        for thread in self._threads:
            thread.use(self._table, self._histories)

    def entries_meaning(self) -> str:
        """What entries and histories mean here (`worker.search.meaning`)."""
        return meaning(self._network_digest, self._network.fv_scale, self.rules)

    @functools.cached_property
    def _network_digest(self) -> str:
        return network_digest(self._network)

    def share(self, min_depth: int | None) -> None:
        """Collect table entries of ``min_depth`` and deeper for `take_entries` from now on; None: none."""
        for thread in self._threads:
            thread.fields.share_depth[0] = NEVER if min_depth is None else min_depth

    def take_entries(self) -> Entries:
        """The table entries written since the last call. Call it from one thread, which need not be that of the
        search."""
        taken = [thread.outbox.take() for thread in self._threads]
        return taken[0] if len(taken) == 1 else np.concatenate(taken)

    def absorb_entries(self, entries: Entries) -> int:
        """Take over table entries of other nodes; returns how many were useful. May run during a search."""
        self._is_clean = False
        entries = np.ascontiguousarray(entries, np.uint64)
        record = self._threads[0].record
        return int(absorb(record, entries.ctypes.data, len(entries)))

    def absorb_moves(self, entries: Entries) -> int:
        """Take over only the moves of table entries of nodes with another evaluation, for positions that the table does
        not know; returns how many were useful. May run during a search."""
        moves = entries[:, 1] & np.uint64(0xFFFF)
        hints = np.stack((entries[:, 0], moves | _MOVE_ALONE), axis=1)
        return self.absorb_entries(hints[moves != 0])

    def share_histories(self, wanted: bool) -> None:
        """From now on, exchange what is learned in the shared histories by `take_changes` and `absorb_changes`; or no
        longer."""
        if not wanted:
            self._exchange = None
        elif self._exchange is None:
            self._exchange = HistoryExchange(self._own[1])

    def take_changes(self, most: int) -> HistoryChanges:
        """The largest changes of the shared histories since the last call, at most ``most``."""
        return NO_CHANGES if self._exchange is None else self._exchange.take(most)

    def absorb_changes(self, heard: Sequence[HistoryChanges]) -> None:
        """Average the values that other nodes changed; see `HistoryExchange.absorb`. May run during a search."""
        if self._exchange is not None and heard:
            self._is_clean = False
            self._exchange.absorb(heard)

    @property
    def nodes(self) -> int:
        """Nodes of the running or last search, over all threads."""
        return sum(thread.nodes for thread in self._threads)

    def _won_by_rule(self) -> str | None:
        """``win`` if the entering king can declare, its move if it reaches the try square, otherwise None."""
        record, rule = self._position.record, self.rules.entering
        if not declaration.wins_by(record, rule.code):
            return None
        return move_to_usi(int(declaration.try_move(record))) if rule is EnteringKingRule.TRY else "win"

    def _root_moves(self, limits: Limits) -> list[int]:
        position = self._position
        try:
            ignored = {position.parse_usi(text) for text in limits.ignoremoves}
            if limits.searchmoves:
                moves = [position.parse_usi(text) for text in limits.searchmoves]
            else:
                moves = position.legal_moves(every=self.rules.every_move)
        except MoveError as error:
            raise EngineError(str(error)) from error
        left = [move for move in dict.fromkeys(moves) if move not in ignored]
        if not left and not limits.searchmoves:
            # The remaining moves may be ones that a search omits as useless (declined promotions).
            left = [move for move in position.legal_moves() if move not in ignored]
        return left

    def go(
        self,
        limits: Limits,
        on_info: InfoCallback | None = None,
        goes_on: Callable[[Signs], bool] | None = None,
        *,
        by_clock: bool = True,
    ) -> SearchResult:
        """Search; see `worker.engine.Engine.go`.

        Args:
            goes_on: called after each iteration; returns whether another one is worth its time. None: always, up to the
                limits. A search with ``goes_on`` ends by itself even without a limit: soon if there is only one legal
                move, and when a mate is found.
            by_clock: whether elapsed time decides which lines are reported; False for a search with pauses.
        """
        with nullcontext() if self._parameters is None else tuning.in_force(self._parameters):
            return self._go(limits, on_info, goes_on, by_clock)

    def _go(
        self,
        limits: Limits,
        on_info: InfoCallback | None,
        goes_on: Callable[[Signs], bool] | None,
        by_clock: bool,
    ) -> SearchResult:
        began = time.monotonic_ns()
        won = self._won_by_rule()
        if won is not None and (won == "win" or not limits.searchmoves or won in limits.searchmoves):
            return SearchResult(won, None, 0, 0)
        if limits.alpha is not None and limits.beta is not None and limits.alpha >= limits.beta:
            raise EngineError(f"a window from {limits.alpha} to {limits.beta} is empty")
        moves = self._root_moves(limits)
        if not moves:
            if self._position.is_mated():
                return SearchResult("resign", None, 0, 0)
            raise EngineError("no root move is left to search: every legal move is ignored")
        self._is_clean = False
        if self._table is self._own[0]:  # else its owner's search has begun, too
            self._table.new_search()
        deadline = 0 if limits.movetime_ms is None else began + limits.movetime_ms * 1_000_000
        depth = MAX_DEPTH if limits.depth is None else limits.depth
        number = self.number * len(self._threads) if limits.depth is None else 0
        window = (-INFINITE if limits.alpha is None else limits.alpha, INFINITE if limits.beta is None else limits.beta)
        # Each thread has its share.
        nodes = None if limits.nodes is None else -(-limits.nodes // len(self._threads))
        whole = not (limits.searchmoves or limits.ignoremoves)
        task = Task(moves, limits.multipv, depth, nodes, deadline, self.rules, whole, window, number)
        main, *rest = self._threads

        def elapsed_ms() -> int:
            return (time.monotonic_ns() - began) // 1_000_000

        shown = ""

        def show(infos: Sequence[SearchInfo]) -> None:
            nonlocal shown
            if on_info is not None and infos:
                shown = infos[0].pv[0]
                for info in infos:
                    on_info(info)

        def on_iteration(depth: int) -> bool:
            show(self._infos(main.lines, elapsed_ms()))
            if goes_on is None:
                return True
            top = main.lines[0]
            effort = main.effort if depth >= _EFFORT_FROM_DEPTH else None
            changes = main.take_changes()
            signs = Signs(elapsed_ms(), move_to_usi(top.pv[0]), top.score, changes=changes, effort=effort)
            return goes_on(signs) and (len(moves) > 1 or depth < _ONE_MOVE_DEPTH)

        def on_news(line: PvLine) -> None:
            if limits.multipv > 1:
                return
            # A caller that gave a window waits to learn that a score is above it.
            awaited = limits.alpha is not None and line.bound is Bound.LOWER and line.score > limits.alpha
            changed = line.bound is not Bound.UPPER and move_to_usi(line.pv[0]) != shown
            late = by_clock and elapsed_ms() >= _BOUNDS_FROM_MS
            if awaited or (changed and line.depth >= _CHANGES_FROM_DEPTH) or late:
                show(self._infos([line], elapsed_ms()))

        with self._lock:
            for thread in self._threads:
                thread.set_stop(self._stopped)
                # Otherwise a helper that starts late would still have those of its last search.
                thread.fields.nodes[0], thread.lines = 0, []
        helpers = [self._pool.submit(self._help, thread, task, number + i) for i, thread in enumerate(rest, start=1)]
        self._look_for_mate(limits)
        try:
            main.run(task, on_iteration, on_news)
            if nodes is not None and main.nodes >= nodes:
                # The limit covers all threads together: slower ones finish their shares too.
                wait(helpers)
        finally:
            for thread in rest:
                thread.set_stop(True)
            self._root_mate.finish()
            wait(helpers)
        for helper in helpers:
            helper.result()  # re-raises the helper's exception
        return self._result(task, elapsed_ms())

    def _look_for_mate(self, limits: Limits) -> None:
        """Start the mate search at the root; a mate ends the main thread's search.

        It does not run with a node or depth limit, whose searches are reproducible, or with several lines.
        """
        fits = limits.multipv == 1 and limits.nodes is None and limits.depth is None

        def allows(move: int) -> bool:
            text = move_to_usi(move)
            return text not in limits.ignoremoves and (not limits.searchmoves or text in limits.searchmoves)

        nodes, main = self.root_mate_nodes if fits else 0, self._threads[0]
        self._root_mate.start(self._position, self.rules, nodes, allows, lambda: main.set_stop(True))

    def _or_mate(self, lines: list[PvLine]) -> list[PvLine]:
        """``lines``, or the mate found at the root if that is better."""
        mate = self._root_mate.line
        plies = len(mate)
        if not mate or (lines and lines[0].score >= mate_in(plies)):
            return lines
        # Its depth is the mate's length: this shows the reader that the mate is proven.
        depth = min(plies, MAX_PLY)
        return [PvLine(depth, depth, mate_in(plies), Bound.EXACT, mate)]

    @staticmethod
    def _help(thread: SearchThread, task: Task, number: int) -> None:
        """A helper thread: searches depths of its own choice until it is stopped, or has searched its share."""
        apart = replace(task, multipv=1, number=number)
        thread.run(apart, lambda _depth: True)

    def _infos(self, lines: list[PvLine], time_ms: int) -> list[SearchInfo]:
        nodes, hashfull = self.nodes, self._table.hashfull()
        return [
            SearchInfo(
                depth=line.depth,
                seldepth=line.seldepth,
                score=line.score,
                bound=line.bound,
                nodes=nodes,
                time_ms=time_ms,
                hashfull=hashfull,
                pv=tuple(move_to_usi(move) for move in line.pv),
                multipv=number,
            )
            for number, line in enumerate(lines, start=1)
        ]

    def _best_thread(self, task: Task) -> SearchThread:
        """The thread whose line is played: by vote, if there is a choice."""
        voters = [thread for thread in self._threads if thread.lines]
        if task.multipv > 1 or len(task.root_moves) == 1 or not voters:
            return self._threads[0]
        tops = [thread.lines[0] for thread in voters]
        ballots = [Ballot(top.pv[0], top.score, thread.completed) for thread, top in zip(voters, tops, strict=True)]
        return voters[elect(ballots)]

    def _exact(self, line: PvLine, thread: SearchThread, window: tuple[int, int]) -> PvLine:
        """The final line for the same root move, if the search was stopped while ``line`` was only a bound: the deepest
        exact line of any thread, else the result of a short last search. A bound at the edge of the task's own window
        counts as a result, and a proven mate is kept."""
        if line.bound is Bound.EXACT or not window[0] < line.score < window[1]:
            return line
        move = line.pv[0]
        found = [one.exact[move] for one in self._threads if move in one.exact]
        known = max(found, key=lambda one: one.depth, default=None)
        decided = is_mate(line.score) and line.bound is (Bound.LOWER if line.score > 0 else Bound.UPPER)
        if known is None or known.depth < line.depth - 1 or (decided and not is_mate(known.score)):
            last = thread.conclude([move], line.depth)
            known = max((one for one in (last, known) if one is not None), key=lambda one: one.depth, default=None)
        return line if known is None or (decided and not is_mate(known.score)) else known

    def _result(self, task: Task, time_ms: int) -> SearchResult:
        thread = self._best_thread(task)
        lines = self._or_mate(thread.lines)
        if not lines:
            # Stopped before the first move was searched: use the table's move from an earlier search, else search one
            # ply.
            known = thread.table_move()
            last = thread.conclude([known] if known in task.root_moves else task.root_moves, 1)
            if last is None:  # any move is better than none, but it has no score
                return SearchResult(move_to_usi(task.root_moves[0]), None, self.nodes, time_ms)
            lines = [last]
        depth = lines[0].depth
        lines = [self._exact(line, thread, task.window) for line in lines]
        # The score of a line that had only a bound may be the best of its depth.
        lines.sort(key=lambda line: -line.score if line.depth >= depth else INFINITE)
        best = lines[0].pv
        if len(best) == 1 and (reply := thread.expected_reply(best[0])) is not None:
            # A score outside the window truncates the line after its first move.
            best = (*best, reply)
            lines = [replace(lines[0], pv=best), *lines[1:]]
        return SearchResult(
            bestmove=move_to_usi(best[0]),
            ponder=move_to_usi(best[1]) if len(best) > 1 else None,
            nodes=self.nodes,
            time_ms=time_ms,
            lines=tuple(self._infos(lines, time_ms)),
        )
