"""The single searcher as a USI engine, for any GUI: ``gougi usi --single``.

The reading thread never searches: it answers ``stop`` and ``isready`` at once while one thread runs `NumbaEngine.go`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from worker.engine import STARTPOS, Bound, EngineError, Limits, SearchInfo, SearchResult
from worker.score import to_usi
from worker.search.engine import NumbaEngine
from worker.search.timing import TimeLeft, budget
from worker.warm import warm_up

_GO_NUMBERS: Final = ("btime", "wtime", "binc", "winc", "byoyomi", "movetime", "nodes", "depth")
_BOUND_WORDS: Final = {Bound.EXACT: "", Bound.LOWER: " lowerbound", Bound.UPPER: " upperbound"}


@dataclass(frozen=True, slots=True)
class Option:
    """A USI option: its type line, and its value (numbers within least..most)."""

    kind: str
    default: str
    least: int = 0
    most: int = 0

    def line(self, name: str) -> str:
        text = f"option name {name} type {self.kind} default {self.default}"
        return f"{text} min {self.least} max {self.most}" if self.kind == "spin" else text

    def check(self, name: str, value: str) -> str:
        """The value, or ValueError that says what was expected."""
        if self.kind == "check" and value not in ("true", "false"):
            raise ValueError(f"option {name}: {value!r} is neither true nor false")
        if self.kind == "spin":
            if not value.lstrip("-").isdigit() or not self.least <= int(value) <= self.most:
                raise ValueError(f"option {name}: {value!r} is not within {self.least} to {self.most}")
        return value


OPTIONS: Final = {
    "USI_Hash": Option("spin", "256", 1, 1 << 20),
    "USI_Ponder": Option("check", "false"),
    "Threads": Option("spin", "1", 1, 512),
    "MultiPV": Option("spin", "1", 1, 593),
    "EvalFile": Option("filename", "<empty>"),
    "FV_SCALE": Option("spin", "0", 0, 128),
    "NetworkDelay": Option("spin", "120", 0, 10_000),
}
"""By the field's names. ``FV_SCALE`` 0: what the network file names, else 16."""


def info_line(info: SearchInfo) -> str:
    """One ``info`` line."""
    score = to_usi(info.score) + _BOUND_WORDS[info.bound]
    return (
        f"info depth {info.depth} seldepth {info.seldepth} multipv {info.multipv} score {score} nodes {info.nodes} "
        f"nps {info.nps} hashfull {info.hashfull} time {info.time_ms} pv {' '.join(info.pv)}"
    )


def best_line(result: SearchResult) -> str:
    """The ``bestmove`` line."""
    return f"bestmove {result.bestmove}" + (f" ponder {result.ponder}" if result.ponder else "")


class UsiLoop:
    """The USI protocol around one engine.

    Args:
        write: sends one line; called from two threads, never at once.
    """

    def __init__(self, write: Callable[[str], None], version: str) -> None:
        self._send = write
        self._version = version
        self._values = {name: option.default for name, option in OPTIONS.items()}
        self._engine: NumbaEngine | None = None
        self._built_from: tuple[str, ...] = ()
        self._write_lock = threading.Lock()
        self._search: threading.Thread | None = None
        self._position: tuple[str, tuple[str, ...]] = (STARTPOS, ())
        # While the opponent thinks no bestmove may go out: it waits here for ponderhit or stop.
        self._may_answer = threading.Event()
        self._timer: threading.Timer | None = None
        self._ponder_budget: tuple[int, int] | None = None

    def run(self, lines: Iterable[str]) -> None:
        """Serve until ``quit`` or the end of the input."""
        for line in lines:
            words = line.split()
            if not words:
                continue
            if words[0] == "quit":
                break
            try:
                self._command(words)
            except (EngineError, ValueError) as error:
                self._write(f"info string error: {error}")
        self._end_search()

    def _write(self, line: str) -> None:
        with self._write_lock:
            self._send(line)

    def _command(self, words: list[str]) -> None:
        match words[0]:
            case "usi":
                self._write(f"id name Gougi {self._version}")
                self._write("id author the Gougi developers")
                for name, option in OPTIONS.items():
                    self._write(option.line(name))
                self._write("usiok")
            case "isready":
                self._ready()
                self._write("readyok")
            case "setoption":
                self._set_option(words[1:])
            case "usinewgame":
                self._end_search()
                self._ready().new_game()
            case "position":
                self._end_search()
                self._set_position(words[1:])
            case "go":
                self._go(words[1:])
            case "stop":
                self._release()
                if self._engine is not None:
                    self._engine.stop()
            case "ponderhit":
                self._ponder_hit()
            case "gameover":
                self._end_search()
            case other:
                raise ValueError(f"unknown command {other!r}")

    def _set_option(self, words: list[str]) -> None:
        if len(words) < 2 or words[0] != "name":
            raise ValueError("setoption: expected 'name N value V'")
        name = words[1]
        option = OPTIONS.get(name)
        if option is None:
            raise ValueError(f"unknown option {name!r}")
        value = " ".join(words[3:]) if words[2:3] == ["value"] else ""
        self._values[name] = option.check(name, value)

    def _ready(self) -> NumbaEngine:
        """The engine for the options as they are now, built where they changed."""
        wanted = tuple(self._values[name] for name in ("USI_Hash", "Threads", "EvalFile", "FV_SCALE"))
        if self._engine is None or wanted != self._built_from:
            self._end_search()
            warm_up(lambda stage, number, total: self._write(f"info string compiling {number}/{total} {stage}"))
            hash_mb, threads, eval_file, fv_scale = wanted
            self._engine = NumbaEngine(
                hash_mb=int(hash_mb),
                threads=int(threads),
                eval_file=None if eval_file in ("", "<empty>") else eval_file,
                fv_scale=int(fv_scale) or None,
            )
            self._built_from = wanted
            # Loads the compiled code, so that the first real search does not pay for it.
            self._engine.go(Limits(depth=2))
            self._engine.new_game()
            self._engine.set_position(*self._position)
        return self._engine

    def _set_position(self, words: list[str]) -> None:
        at = words.index("moves") if "moves" in words else len(words)
        if words[:1] == ["startpos"]:
            sfen = STARTPOS
        elif words[:1] == ["sfen"]:
            sfen = " ".join(words[1:at])
        else:
            raise ValueError("position: expected 'startpos' or 'sfen'")
        moves = tuple(words[at + 1 :])
        self._ready().set_position(sfen, moves)
        self._position = (sfen, moves)

    def _go(self, words: list[str]) -> None:
        engine = self._ready()
        self._end_search()
        engine.set_position(*self._position)
        if words[:1] == ["mate"]:
            self._write("checkmate notimplemented")
            return
        ponder = "ponder" in words
        numbers, moves = _parse_go(words)
        clock = self._budget(numbers)
        self._ponder_budget = clock if ponder else None
        limits = Limits(
            movetime_ms=numbers.get("movetime") or (clock[1] if clock and not ponder else None),
            soft_ms=clock[0] if clock and not ponder else None,
            nodes=numbers.get("nodes"),
            depth=numbers.get("depth"),
            multipv=int(self._values["MultiPV"]),
            searchmoves=tuple(moves),
        )
        if ponder:
            self._may_answer.clear()
        else:
            self._may_answer.set()
        self._search = threading.Thread(target=self._think, args=(engine, limits), name="search")
        self._search.start()

    def _budget(self, numbers: dict[str, int]) -> tuple[int, int] | None:
        if not numbers.keys() & {"btime", "wtime", "byoyomi", "binc", "winc"}:
            return None
        sfen, moves = self._position
        black = (sfen.split()[1] == "b") == (len(moves) % 2 == 0)
        left = TimeLeft(
            numbers.get("btime" if black else "wtime", 0),
            numbers.get("binc" if black else "winc", 0),
            numbers.get("byoyomi", 0),
        )
        return budget(left, int(self._values["NetworkDelay"]))

    def _think(self, engine: NumbaEngine, limits: Limits) -> None:
        try:
            result = engine.go(limits, lambda info: self._write(info_line(info)))
        except EngineError as error:
            self._write(f"info string error: {error}")
            result = SearchResult("resign", None, 0, 0)
        self._may_answer.wait()
        if self._timer is not None:
            self._timer.cancel()
        self._write(best_line(result))

    def _ponder_hit(self) -> None:
        """The opponent played the expected move: the search goes on, the own time begins."""
        engine = self._engine
        if engine is not None and self._ponder_budget is not None:
            self._timer = threading.Timer(self._ponder_budget[0] / 1000, engine.stop)
            self._timer.start()
        self._release()

    def _release(self) -> None:
        self._ponder_budget = None
        self._may_answer.set()

    def _end_search(self) -> None:
        """End a running search (its bestmove goes out) and wait for it."""
        self._release()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._search is not None:
            if self._engine is not None:
                self._engine.stop()
            self._search.join()
            self._search = None


def _parse_go(words: list[str]) -> tuple[dict[str, int], list[str]]:
    """The numbers of a ``go`` line by name, and its ``searchmoves``."""
    numbers: dict[str, int] = {}
    moves: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word in _GO_NUMBERS:
            if at >= len(words) or not words[at].lstrip("-").isdigit():
                raise ValueError(f"go: {word} needs a number")
            numbers[word] = max(0, int(words[at]))
            at += 1
        elif word == "searchmoves":
            moves = words[at:]
            at = len(words)
        elif word not in ("ponder", "infinite"):
            raise ValueError(f"go: unknown word {word!r}")
    return numbers, moves
