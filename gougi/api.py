"""Gougi from Python: the contents of ``import gougi``. These names, their arguments and their fields are stable.

A position is ``startpos``, an SFEN, or either one with moves, as in USI: ``startpos moves 7g7f 3c3d``. Scores are
centipawns for the side to move. The first call compiles the searcher: once per version and CPU, one to three
minutes.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from worker.engine import SearchInfo
    from worker.search.engine import NumbaEngine

DEFAULT_NODES = 50_000


class GougiError(Exception):
    """A position, a network or a record cannot be used, or the searcher not be compiled; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class Line:
    """A variation that the search found, for one root move."""

    move: str
    """In USI notation."""
    score: int
    """Centipawns from the view of the side to move; a mate if beyond 30,000."""
    mate: int | None
    """Plies to mate, negative if the side to move is mated; None: no mate was found."""
    pv: tuple[str, ...]
    depth: int


@dataclass(frozen=True, slots=True)
class Result:
    """The end of a search."""

    move: str
    """In USI notation; ``resign``: there is no legal move; ``win``: the side to move may declare a win."""
    lines: tuple[Line, ...]
    """The best one first; empty if nothing had to be searched."""
    nodes: int
    seconds: float

    @property
    def score(self) -> int:
        """The score of the best line. Raises ValueError: nothing had to be searched."""
        return self._best.score

    @property
    def pv(self) -> tuple[str, ...]:
        """The moves of the best line. Raises ValueError: nothing had to be searched."""
        return self._best.pv

    @property
    def _best(self) -> Line:
        if not self.lines:
            raise ValueError(f"nothing was searched: {self.move}")
        return self.lines[0]


@dataclass(frozen=True, slots=True)
class JudgedMove:
    """A move of an analysed game."""

    number: int
    """Move number; 1 is the game's first move."""
    move: str
    best: str
    """The searcher's move; empty if nothing was searched."""
    score: int | None
    """Centipawns before the move, from the view of the side to move."""
    loss: float
    """Win probability that the move lost, 0 to 1."""
    quality: str
    """``best``, ``good``, ``inaccuracy``, ``dubious``, ``mistake``, ``blunder``, ``forced`` or ``unknown``."""

    @property
    def bad(self) -> bool:
        """Whether the move is dubious or worse."""
        return self.quality in ("dubious", "mistake", "blunder")


class Engine:
    """A searcher in this process. A context manager. Searches from several threads run one after the other.

    Args:
        hash_mb: size of its transposition table, in MiB.
        threads: number of search threads.
        net: a network file (``nn.bin``); None: the one that ships with Gougi.

    Raises:
        GougiError: one of these arguments cannot be used.
    """

    def __init__(self, *, hash_mb: int = 64, threads: int = 1, net: str | PathLike[str] | None = None) -> None:
        _compile()
        from worker.engine import EngineError
        from worker.search.engine import NumbaEngine

        self._lock = threading.RLock()
        try:
            self._engine: NumbaEngine | None = NumbaEngine(hash_mb, threads, None if net is None else str(net))
        except EngineError as error:
            raise GougiError(str(error)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self.close()

    def search(
        self,
        position: str = "startpos",
        *,
        nodes: int | None = None,
        seconds: float | None = None,
        depth: int | None = None,
        multipv: int = 1,
    ) -> Result:
        """Search a position until the first limit; without any, 50,000 nodes. Blocks.

        Args:
            multipv: number of root moves to compare.

        Raises:
            GougiError: the position or a limit cannot be used, or the engine is closed.
        """
        from worker.engine import EngineError, Limits

        for name, number, most in (("nodes", nodes, 1 << 53), ("seconds", seconds, 10**9), ("depth", depth, 1 << 53)):
            if number is not None and not 0 <= number <= most:
                raise GougiError(f"{name} is {number}: expected 0 to {most}")
        if multipv < 1:
            raise GougiError(f"multipv is {multipv}: expected 1 or more")
        if nodes is None and seconds is None and depth is None:
            nodes = DEFAULT_NODES
        sfen, moves = _parse(position)
        limits = Limits(None if seconds is None else round(seconds * 1000), nodes, depth, multipv)
        try:
            with self._lock:
                self._open.set_position(sfen, moves)
                found = self._open.go(limits)
        except EngineError as error:
            raise GougiError(str(error)) from error
        return Result(found.bestmove, tuple(map(_line, found.lines)), found.nodes, found.time_ms / 1000)

    def stop(self) -> None:
        """End the running search, if any. Any thread may call it."""
        if (engine := self._engine) is not None:
            engine.stop()

    def new_game(self) -> None:
        """Forget the results of earlier searches."""
        with self._lock:
            self._open.new_game()

    def close(self) -> None:
        """Free memory and threads. No search is possible afterwards."""
        engine, self._engine = self._engine, None  # a search that waits for its turn finds none
        if engine is not None:
            engine.stop()
            with self._lock:
                engine.close()

    @property
    def _open(self) -> NumbaEngine:
        if self._engine is None:
            raise GougiError("this engine is closed")
        return self._engine


def evaluate(position: str = "startpos", *, net: str | PathLike[str] | None = None) -> int:
    """The network's own opinion of a position, without a search, in centipawns for the side to move.

    Raises:
        GougiError: the position or the network cannot be used.
    """
    _compile()
    from worker.files import described
    from worker.nnue import NetworkFileError, NnueState, centipawns, evaluate_full, load_network
    from worker.shogi import MoveError, SfenError
    from worker.shogi.position import Replay

    sfen, moves = _parse(position)
    try:
        network = load_network(None if net is None else str(net))
        state, found = NnueState(network), Replay().position(sfen, moves)
    except (NetworkFileError, SfenError, MoveError, OSError) as error:
        raise GougiError(described(error)) from error
    # Both stay alive meanwhile: compiled code reads their memory by address.
    return int(centipawns(int(evaluate_full(found.record, state.record)), network.fv_scale))


def analyze(
    record: str | PathLike[str], *, nodes: int = DEFAULT_NODES, net: str | PathLike[str] | None = None
) -> list[JudgedMove]:
    """Judge each move of a record's first game (CSA, KIF, KI2, JKF), as ``gougi analyze`` does with one searcher.

    Args:
        record: its path.
        nodes: nodes of the search of each position.

    Raises:
        GougiError: the record or the network cannot be used.
    """
    from master.analysis.game import GameFileError, read_games
    from master.analysis.judgement import judge
    from master.analysis.plan import Evaluation, evaluations, plan, searches

    faults: list[GameFileError] = []
    try:
        game = read_games(Path(record), faults.append)[0]
        if game.number > 1:
            raise faults[0]
        points = plan(game)
    except GameFileError as error:
        raise GougiError(str(error)) from error
    found = {}
    with Engine(net=net) as engine:
        for moves in searches(points):
            result = engine.search(f"sfen {game.start_sfen} moves {' '.join(moves)}", nodes=nodes)
            best = result.lines[0]
            found[moves] = Evaluation(best.score, result.move, best.pv, best.depth, result.nodes)
    return [
        JudgedMove(
            move.number,
            move.usi,
            "" if move.before is None else move.before.best,
            None if move.before is None else move.before.score,
            move.loss,
            move.quality.word,
        )
        for move in judge(game, points, evaluations(points, found))
    ]


def _compile() -> None:
    from master.commands.common import tell
    from worker.warming import Warming, WarmingError

    warming = Warming()
    try:
        warming.run(lambda stage, number, total: tell(f"compiling the searcher {number}/{total}: {stage}"))
    except (WarmingError, OSError) as error:
        raise GougiError(f"the searcher is not compiled: {error}") from error
    finally:
        warming.end()


def _parse(text: str) -> tuple[str, Sequence[str]]:
    from worker.usi.words import parse_position

    words = text.split()
    if words[:1] not in (["startpos"], ["sfen"]):
        words = ["sfen", *words]
    if words[-1:] == ["moves"]:
        words.pop()
    try:
        return parse_position(words)
    except ValueError as error:
        raise GougiError(str(error)) from error


def _line(info: SearchInfo) -> Line:
    from worker.score import is_mate, mate_distance

    mate = mate_distance(info.score) if is_mate(info.score) else None
    return Line(info.pv[0], info.score, mate, info.pv, info.depth)
