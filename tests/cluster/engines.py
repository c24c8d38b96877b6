"""A deterministic engine for the cluster's tests: real moves, hashed scores, time and nodes as requested."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Sequence

from worker.engine import Bound, EngineError, InfoCallback, Limits, SearchInfo, SearchResult
from worker.rules import Rules
from worker.shogi import Position, move_to_usi


def hashed(*parts: object, span: int = 401) -> int:
    """A number in -span//2..span//2 that depends on ``parts`` alone."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % span - span // 2


class HashEngine:
    """An `Engine`. Depth d costs ``d * 100`` nodes, and ``pace_s`` seconds in real time.

    A move's score is a hash of position and move that wavers a little from depth to depth. ``score`` replaces it:
    called with the move and the depth.
    """

    def __init__(
        self, pace_s: float = 0.0, max_depth: int = 40, score: Callable[[str, int], int] | None = None
    ) -> None:
        self.name = "hash"
        self.can_split = True
        self.rules = Rules()
        self.pace_s = pace_s
        self.max_depth = max_depth
        self.score = score
        self.games = 0
        self.closed = False
        self.jobs: list[tuple[str, tuple[str, ...], Limits]] = []
        self._position = Position.startpos()
        self._set: tuple[str, tuple[str, ...]] = ("", ())
        self._stop = threading.Event()

    def new_game(self) -> None:
        self.games += 1

    def set_position(self, sfen: str, moves: Sequence[str] = ()) -> None:
        try:
            position = Position.from_sfen(sfen)
            position.push_all(moves)
        except ValueError as error:
            raise EngineError(str(error)) from error
        self._position, self._set = position, (sfen, tuple(moves))
        self._stop.clear()

    def go(self, limits: Limits, on_info: InfoCallback | None = None) -> SearchResult:
        self.jobs.append((*self._set, limits))
        legal = [move_to_usi(move) for move in self._position.legal_moves()]
        moves = [
            m for m in legal if (not limits.searchmoves or m in limits.searchmoves) and m not in limits.ignoremoves
        ]
        started, nodes, lines = time.monotonic(), 0, []
        key = self._position.key
        for depth in range(1, min(limits.depth or self.max_depth, self.max_depth) + 1):
            if not moves or (self.pace_s and self._stop.wait(self.pace_s)) or self._stop.is_set():
                break
            if limits.nodes is not None and nodes + depth * 100 > limits.nodes:
                nodes = limits.nodes
                break
            nodes += depth * 100
            elapsed = int((time.monotonic() - started) * 1000)
            if limits.movetime_ms is not None and elapsed >= limits.movetime_ms:
                break
            scores = {move: self._value(key, move, depth) for move in moves}
            best = sorted(moves, key=lambda move: -scores[move])[: limits.multipv]
            lines = [
                SearchInfo(depth, depth, scores[move], Bound.EXACT, nodes, elapsed, 0, self._pv(move), rank)
                for rank, move in enumerate(best, 1)
            ]
            for line in lines:
                if on_info is not None:
                    on_info(line)
        if limits.infinite:
            self._stop.wait()
        elapsed = int((time.monotonic() - started) * 1000)
        bestmove = lines[0].pv[0] if lines else moves[0] if moves else "resign"
        return SearchResult(bestmove, None, nodes, elapsed, tuple(lines))

    def stop(self) -> None:
        self._stop.set()

    def close(self) -> None:
        self.closed = True

    def _value(self, key: int, move: str, depth: int) -> int:
        if self.score is not None:
            return self.score(move, depth)
        return hashed(key, move) + hashed(key, move, depth, span=21)

    def _pv(self, move: str) -> tuple[str, ...]:
        """The move and the first reply to it."""
        self._position.push_usi(move)
        replies = self._position.legal_moves()
        self._position.pop()
        return (move, move_to_usi(replies[0])) if replies else (move,)


class DeafEngine(HashEngine):
    """Searches nothing, reports nothing, and ignores stops for a while."""

    def go(self, limits: Limits, on_info: InfoCallback | None = None) -> SearchResult:
        time.sleep(0.5)
        return SearchResult("resign", None, 0, 500)


def endless_engine(_number: int = 0, places: int = 0) -> HashEngine:
    """For other processes, which import their engine by name: searches until stopped, a depth every 10 ms. Its name
    gives the number of nodes on its machine."""
    engine = HashEngine(pace_s=0.01, max_depth=100_000)
    engine.name = f"hash, one of {places}" if places else "hash"
    return engine


def broken_engine(*_: object) -> HashEngine:
    """Fails to start."""
    raise EngineError("no such net: x.bin")
