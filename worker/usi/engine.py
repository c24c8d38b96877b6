"""UsiEngine: `worker.engine.Engine` for an external USI process, so that any engine can be a node or a match player.

How to use one::

    engine = UsiEngine(["/usr/games/fairy-stockfish"], {"Threads": "1"})
    engine.set_position(STARTPOS, ["7g7f"])
    result = engine.go(Limits(movetime_ms=500))
    engine.close()

Any fault of the engine (it dies, hangs or plays an illegal move) is an `EngineError` that names the command; its
process is then gone, and the next `UsiEngine.go` starts a new one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from worker.engine import Bound, EngineError, InfoCallback, Limits, SearchInfo, SearchResult
from worker.rules import Rules
from worker.shogi import STARTPOS, MoveError, Position, SfenError, move_to_usi
from worker.shogi.position import Replay
from worker.usi.process import UsiProcess, dialect_of, go_line, parse_bestmove, parse_info, parse_nodes


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Time limits for the answers of an engine, in seconds."""

    start_s: float = 20.0
    """From the start of the process to ``usiok``."""
    ready_s: float = 180.0
    """From ``isready`` to ``readyok``: networks and books are read in this time, and Gougi may compile itself."""
    stop_s: float = 3.0
    """From ``stop`` (or the end of the time) to ``bestmove``; then the process is killed."""


DEFAULT_TIMEOUTS: Final = Timeouts()


class UsiEngine:
    """An external engine. It is started at once, so that a wrong command or option shows at once.

    Args:
        command: program and arguments.
        options: USI options by their announced names. ``MultiPV`` follows each search's `Limits`, and the options of
            the move limit and the value of a draw follow ``rules``, if the engine has them and a search sets them.
        timeouts: its time limits.

    Raises:
        EngineError: the program does not start, is not a USI engine, or refuses an option.

    An engine without a ``MultiPV`` option gives one line, for any limits; ``can_split`` is then False.
    """

    def __init__(
        self,
        command: Sequence[str],
        options: Mapping[str, str] | None = None,
        *,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
    ) -> None:
        if not command:
            raise EngineError("no engine command is given")
        self._command = tuple(command)
        self._options = dict(options or {})
        self._timeouts = timeouts
        self._lock = threading.Lock()
        self._stopped_at: float | None = None
        self._searching = False
        self._sfen = STARTPOS
        self._moves: tuple[str, ...] = ()
        self._replay = Replay()
        self._position = Position.startpos()
        self.rules = Rules()
        """The rules of the game. An engine with the usual options receives the move limit and the draw values."""
        self._told: dict[str, str] = {}
        """The options through which the process received the rules."""
        self._multipv = 1
        self._process: UsiProcess | None = None
        self.name = self._running().name or self._command[0]
        self._dialect = dialect_of(self.name)
        self.can_split = self._dialect.searchmoves and "MultiPV" in self._running().options

    def _running(self) -> UsiProcess:
        """The process; it is started, set up and made ready if there is none."""
        if self._process is not None and self._process.ended:
            self._drop()  # it died while it was idle
        if self._process is None:
            process = UsiProcess(self._command, self._timeouts.start_s)
            try:
                process.set_options(self._options)
                process.ready(self._timeouts.ready_s)
                process.send("usinewgame")
            except BaseException:
                process.kill()
                raise
            self._multipv = int(self._options.get("MultiPV", "1"))
            self._told = {}
            self._process = process
        return self._process

    def _drop(self) -> None:
        """Discard the process; the next use starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def new_game(self) -> None:
        """Send ``isready`` and ``usinewgame``. Raises `EngineError` if that fails; the process is then gone."""
        process = self._running()
        try:
            process.ready(self._timeouts.ready_s)
            process.send("usinewgame")
        except EngineError:
            self._drop()
            raise

    def set_position(self, sfen: str, moves: Sequence[str] = ()) -> None:
        try:
            position = self._replay.position(sfen, moves)
        except (SfenError, MoveError) as error:
            raise EngineError(str(error)) from error
        with self._lock:
            self._stopped_at = None
        self._sfen, self._moves, self._position = sfen, tuple(moves), position

    def stop(self) -> None:
        with self._lock:
            if self._stopped_at is None:
                self._stopped_at = time.monotonic()
                process = self._process
                if self._searching and process is not None:
                    # The searching thread sends it: a write to a dead or stuck engine must not block this caller.
                    process.wake()

    def close(self) -> None:
        self.stop()
        process, self._process = self._process, None
        if process is not None:
            process.quit()

    def go(self, limits: Limits, on_info: InfoCallback | None = None) -> SearchResult:
        """Search; see `worker.engine.Engine.go`. At ``movetime_ms`` it sends the engine ``stop``.

        A mated side gets ``resign`` and a side that may declare gets ``win``, without asking the engine.

        Raises:
            EngineError: the engine does not support a limit (it stays alive); or it died, gave no ``bestmove`` in time,
                or gave one that is illegal or not among the requested moves (it is killed).
        """
        if self._position.can_declare(self.rules.entering.code):
            return SearchResult("win", None, 0, 0)
        legal = [move_to_usi(move) for move in self._position.legal_moves()]
        if not legal:
            return SearchResult("resign", None, 0, 0)
        allowed = self._root_moves(limits, legal)
        line = go_line(limits, allowed if len(allowed) < len(legal) else (), self._dialect)
        process = self._running()
        try:
            self._begin(process, limits, line)
            return self._follow(process, limits, frozenset(allowed), on_info)
        except BaseException:
            # After an exception no line of the old search may be mistaken for one of the next.
            self._drop()
            raise
        finally:
            with self._lock:
                self._searching = False

    def _root_moves(self, limits: Limits, legal: Sequence[str]) -> list[str]:
        known = frozenset(legal)
        for text in (*limits.searchmoves, *limits.ignoremoves):
            if text not in known:
                raise EngineError(f"{text} is not legal in {self._position.sfen()}")
        ignored = frozenset(limits.ignoremoves)
        moves = [move for move in limits.searchmoves or legal if move not in ignored]
        if not moves:
            raise EngineError("no root move is left to search: every legal move is ignored")
        return moves

    def _begin(self, process: UsiProcess, limits: Limits, line: str) -> None:
        if limits.multipv != self._multipv and "MultiPV" in process.options:
            most = process.options["MultiPV"].most or limits.multipv
            process.set_options({"MultiPV": str(min(limits.multipv, most))})
            self._multipv = limits.multipv
        self._tell_rules(process)
        start = "startpos" if self._sfen in (STARTPOS, "startpos") else f"sfen {self._sfen}"
        moves = f" moves {' '.join(self._moves)}" if self._moves else ""
        process.send(f"position {start}{moves}")
        process.send(line)
        with self._lock:
            self._searching = True

    def _tell_rules(self, process: UsiProcess) -> None:
        """Set the options for rules that have changed. A 0 changes nothing: the option stays as the user set it."""
        rules = self.rules
        for name, number in (
            ("MaxMovesToDraw", rules.max_moves),
            ("DrawValueBlack", rules.draw_black),
            ("DrawValueWhite", rules.draw_white),
        ):
            if not number and name not in self._told:
                continue
            wanted = str(number) if number else self._options.get(name, "0")
            announced = process.options.get(name)
            if announced is not None and announced.fault(name, wanted) is None and self._told.get(name) != wanted:
                process.set_options({name: wanted})
                self._told[name] = wanted

    def _follow(
        self, process: UsiProcess, limits: Limits, allowed: frozenset[str], on_info: InfoCallback | None
    ) -> SearchResult:
        """Read the search to its ``bestmove``."""
        began = time.monotonic()
        end = None if limits.movetime_ms is None else began + limits.movetime_ms / 1000
        give_up: float | None = None
        nodes = 0
        lines: dict[int, SearchInfo] = {}
        newest: dict[str, SearchInfo] = {}
        """The last line of each first move: an exact one if it has any, else a bound."""
        while True:
            now = time.monotonic()
            if give_up is None and (self._stopped_at is not None or (end is not None and now >= end)):
                process.send("stop")
                give_up = now + self._timeouts.stop_s
            text = process.receive(end if give_up is None else give_up)
            if text is None:
                if give_up is not None and time.monotonic() >= give_up:
                    raise EngineError(f"{process.label}: no bestmove {self._timeouts.stop_s:g} s after stop: killed")
                continue
            if text.startswith("bestmove"):
                return self._result(process, text, allowed, nodes, began, lines, newest)
            nodes = max(nodes, parse_nodes(text) or 0)
            info = parse_info(text, self._legal_pv)
            if info is not None and info.multipv <= limits.multipv:
                if info.bound == info.bound.EXACT:
                    lines[info.multipv] = info
                if info.bound == info.bound.EXACT or newest.get(info.pv[0], info).bound != info.bound.EXACT:
                    newest[info.pv[0]] = info
                if on_info is not None:
                    on_info(info)

    def _result(
        self,
        process: UsiProcess,
        text: str,
        allowed: frozenset[str],
        nodes: int,
        began: float,
        lines: Mapping[int, SearchInfo],
        newest: Mapping[str, SearchInfo],
    ) -> SearchResult:
        move, ponder = parse_bestmove(text)
        if move != "resign" and move not in allowed:
            fault = "declares a win that the rules do not give" if move == "win" else f"bestmove {move} is not allowed"
            raise EngineError(f"{process.label}: {fault} in {self._position.sfen()}")
        if ponder is not None and self._legal_pv((move, ponder)) != (move, ponder):
            ponder = None
        elapsed_ms = int((time.monotonic() - began) * 1000)
        found = tuple(lines[number] for number in sorted(lines))
        if not found and move not in ("resign", "win"):
            # Perhaps a move from its own book: it counts too, with an even score.
            found = (SearchInfo(0, 0, 0, Bound.EXACT, nodes, elapsed_ms, 0, (move,)),)
        elif found and move in allowed and found[0].pv[0] != move:
            # It has changed its choice since its last exact line: the move that it plays counts.
            best = newest.get(move) or replace(found[0], pv=(move,))
            found = (replace(best, multipv=1), *(line for line in found[1:] if line.pv[0] != move))
        return SearchResult(move, ponder, nodes, elapsed_ms, found)

    def _legal_pv(self, moves: Sequence[str]) -> tuple[str, ...]:
        """The beginning of ``moves`` that is legal from the current position."""
        return tuple(moves[: self._position.legal_length(moves)])
