"""Search parameters judged by positions instead of games: which are worth tuning, and which way they should go.

    python -m benchmarks.screening RUN --params lmr,margins [--steps 2.5] [--pairs N] [--net nn.bin] [--nodes N]
                                   [--judge N] [--share S] [--concurrency N] [--seed N] --out FOLDER
    python -m benchmarks.screening OTHER --vector LATE_MOVES=4,RAZOR_BASE=550 [--net nn.bin] … --out FOLDER

RUN is a folder of ``gougi match``. Each side of each of its games is replayed: a searcher of the tuning build searches
the positions in which that side was to move and neither side was far ahead, one after the other, so that its tables are
as full as in the game. A pair of vectors has every parameter ``--steps`` steps up in the one where it is down in the
other (steps: `gougi tune --plan`). Where the two choose different moves, the searcher as it is judges both by a search
of ``--judge`` nodes behind each. The figure of a pair is the winning chance, 1 / (1 + e^(-cp / 400)), that the moves of
its first vector have more, on the average of all positions.

Which parameter is up in which pair follows the rows of a Hadamard matrix: over all of its rows each parameter is up as
often together with any other as against it, so effects of the others cancel out. Give as many ``--pairs`` as that
matrix has rows (the default), else parameters are mixed up with each other. Names with a plus sign between them move
together: ``REVERSE_SLOPE+REVERSE_SLOPE_MISS``.

The table at the end has what each parameter wins by a move up of ``--steps`` steps, with its standard error. Of many
effects the largest are too large by chance: compare the vector that they recommend with the search as it is
(``--vector``) in the positions of another match. The judge is a searcher too, with the same network: games decide
(`gougi match --sprt`). The same command goes on where an earlier one was interrupted.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from lab.match.folder import sources
from lab.tuning.play import BUILD
from lab.tuning.tunable import TunableError, tunable
from master.analysis.game import GameFileError, RecordedGame, read_games
from master.analysis.strength import network_hash
from worker.files import append_text, described
from worker.search.parameters import VectorError, parse_vector
from worker.search.tuning import GROUPS

if TYPE_CHECKING:
    from worker.search.engine import NumbaEngine

_SCALE_CP: Final = 400
_FAR_AHEAD_CP: Final = 1000
"""Positions in which the player's own score was larger are left out: there no move loses much."""
_LEAST_POSITIONS: Final = 8
_MATED_CP: Final = 31_000
NO_MOVES: Final = {"resign", "win"}

Judged = dict[str, dict[str, int]]
"""By position the scores of moves, centipawns for the side that makes them."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """One side of a game: the plies after whose moves it is searched for that side's next move."""

    name: str
    sfen: str
    moves: tuple[str, ...]
    plies: tuple[int, ...]

    def key(self, ply: int) -> str:
        """The name of a position of it."""
        return f"{self.name} {ply}"


@dataclass(frozen=True, slots=True)
class Direction:
    """Parameters that move together, with their values one move up and one move down."""

    name: str
    up: Mapping[str, int]
    down: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Effect:
    """Gain of one step up in a direction: winning chance, 0 to 1, and its standard error."""

    name: str
    gain: float
    error: float


def directions(words: Iterable[str], steps: float) -> list[Direction]:
    """Read names of parameters, of groups of them, and of parameters that move together.

    Raises:
        TunableError: a word is none of these, or a parameter would leave its range.
    """
    found = []
    for word in words:
        for name in GROUPS.get(word, (word,)):
            parts = [tunable(one) for one in name.split("+")]
            up = {one.name: round(one.start + steps * one.step) for one in parts}
            down = {one.name: round(one.start - steps * one.step) for one in parts}
            for one in parts:
                if not one.low <= down[one.name] < up[one.name] <= one.high:
                    raise TunableError(
                        f"{one.name}: {steps:g} steps from {one.start} lead to {down[one.name]} and {up[one.name]}; "
                        f"expected two values within {one.low} to {one.high}"
                    )
            found.append(Direction(name, up, down))
    return found


def compared(text: str) -> Direction:
    """A vector as a direction: up has its values, down those of the sources.

    Raises:
        VectorError: it cannot be read.
        TunableError: it names a parameter that may not be tuned.
    """
    vector = parse_vector(text)
    return Direction(text, vector, {name: tunable(name).start for name in vector})


def design(count: int) -> npt.NDArray[np.int64]:
    """The signs of ``count`` directions by pair, [pairs][count]: columns of a Hadamard matrix, its first left out."""
    matrix = np.array([[1]])
    while matrix.shape[1] < count + 1:
        matrix = np.kron(np.array([[1, 1], [1, -1]]), matrix)
    return matrix[:, 1 : count + 1]


def vectors_of(ways: Sequence[Direction], signs: npt.NDArray[np.int64]) -> tuple[dict[str, int], dict[str, int]]:
    """The two vectors of a pair: directions with the sign 1 are up in the first one, the others in the second."""
    first: dict[str, int] = {}
    second: dict[str, int] = {}
    for way, sign in zip(ways, signs, strict=True):
        first.update(way.up if sign > 0 else way.down)
        second.update(way.down if sign > 0 else way.up)
    return first, second


def replayed(game: RecordedGame, name: str) -> Iterator[Replayed]:
    """The two sides of a game, as far as there is something to search."""
    first = 1 if game.start_sfen.split()[1] == "w" else 0
    for side in (0, 1):
        plies = tuple(
            ply
            for ply, move in enumerate(game.moves)
            if ply % 2 == side and move.own_score is not None and abs(move.own_score) < _FAR_AHEAD_CP
        )
        if len(plies) >= _LEAST_POSITIONS:
            colour = "white" if (first + side) % 2 else "black"
            yield Replayed(f"{name} {colour}", game.start_sfen, tuple(move.usi for move in game.moves), plies)


def sides_of(run: Path) -> list[Replayed]:
    """Both sides of every game of a match.

    Raises:
        GameFileError: a record cannot be read, or there is none.
    """
    files = sorted((run / "records").glob("*.csa"))
    found = [side for file in files for game in read_games(file) for side in replayed(game, file.stem)]
    if not found:
        raise GameFileError(f"{run}: no records with scores; expected a folder of gougi match")
    return found


_engines: dict[tuple[str, int], NumbaEngine] = {}
"""The searchers of this process."""


def _engine(net: str, hash_mb: int) -> NumbaEngine:
    from worker.search.engine import NumbaEngine

    if (net, hash_mb) not in _engines:
        _engines[net, hash_mb] = NumbaEngine(hash_mb, eval_file=net or None)
    return _engines[net, hash_mb]


def compile_first() -> None:
    """Compile, where this was not done yet: one process does, the others wait for it."""
    from worker.warm import warm_up

    warm_up()


def choose(task: tuple[str, int, Mapping[str, int], Replayed]) -> list[str]:
    """The moves of a vector in the positions of one side of a game: network, nodes, vector, side."""
    net, nodes, vector, side = task
    from worker.engine import Limits

    engine = _engine(net, 16)
    engine.set_parameters(vector)
    engine.new_game()
    chosen = []
    for ply in side.plies:
        engine.set_position(side.sfen, side.moves[:ply])
        chosen.append(engine.go(Limits(nodes=nodes)).bestmove)
    return chosen


def judge(task: tuple[str, int, Replayed, int, Sequence[str]]) -> tuple[str, dict[str, int]]:
    """Scores of moves in a position: network, nodes behind each, side, ply, moves."""
    net, nodes, side, ply, moves = task
    from worker.engine import Limits

    engine = _engine(net, 32)
    engine.set_parameters({})
    engine.new_game()
    scores = {}
    for move in moves:
        engine.set_position(side.sfen, (*side.moves[:ply], move))
        result = engine.go(Limits(nodes=nodes))
        mated = _MATED_CP if result.bestmove == "resign" else -_MATED_CP
        scores[move] = -result.lines[0].score if result.lines else mated
    return side.key(ply), scores


def gains(
    sides: Sequence[Replayed], first: Sequence[Sequence[str]], second: Sequence[Sequence[str]], judged: Judged
) -> npt.NDArray[np.float64]:
    """Gain of the moves of ``first`` over those of ``second``, by position: winning chance, [positions]."""

    def chance(score: int) -> float:
        return 1 / (1 + math.exp(-score / _SCALE_CP))

    found = []
    for side, ours, theirs in zip(sides, first, second, strict=True):
        for ply, one, other in zip(side.plies, ours, theirs, strict=True):
            scores = judged.get(side.key(ply), {})
            known = one != other and one in scores and other in scores
            found.append(chance(scores[one]) - chance(scores[other]) if known else 0.0)
    return np.array(found)


def effects(names: Sequence[str], signs: npt.NDArray[np.int64], figures: npt.NDArray[np.float64]) -> list[Effect]:
    """The effects of the directions by the figures of the first pairs, [pairs]; the largest first.

    The error is that of the figures' spread once all effects are taken out of it, at least as far as pairs are left for
    it; where there are no more pairs than directions, it counts all of the spread.
    """
    columns = signs[: len(figures)]
    gain = columns.T @ figures / (2 * len(figures))
    free = len(figures) - len(names)
    left = figures - 2 * columns @ gain if free > 0 else figures
    error = math.sqrt(float(left @ left) / (free if free > 0 else len(figures))) / (2 * math.sqrt(len(figures)))
    found = [Effect(name, float(one), error) for name, one in zip(names, gain, strict=True)]
    return sorted(found, key=lambda effect: -abs(effect.gain))


def kept_settings(options: argparse.Namespace, sides: Sequence[Replayed]) -> dict[str, Any]:
    """The settings that all results of a folder have to have in common, as plain values.

    Raises:
        OSError: the network cannot be read.
    """
    names = ("params", "vector", "steps", "nodes", "judge", "share", "seed")
    same = {name: getattr(options, name) for name in names}
    same |= {"run": str(options.run.resolve()), "sides": len(sides)}
    return same | {"net": network_hash(options.net), "code": sources()}


class Folder:
    """Results so far: scores of moves, and figures of pairs, each a line of a file."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self._judged, self._pairs, about = path / "judged.jsonl", path / "pairs.jsonl", path / "screening.json"
        if about.exists() and json.loads(about.read_text("utf-8")) != settings:
            raise ValueError(f"{path} has results of other settings: give another folder")
        about.write_text(json.dumps(settings), "utf-8")
        self.judged: Judged = {}
        for key, scores in self._lines(self._judged):
            self.judged.setdefault(key, {}).update(scores)
        self.figures: list[tuple[float, float]] = [(figure, error) for figure, error in self._lines(self._pairs)]

    @staticmethod
    def _lines(path: Path) -> list[Any]:
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []

    def note_scores(self, key: str, scores: dict[str, int]) -> None:
        """Keep scores of moves."""
        self.judged.setdefault(key, {}).update(scores)
        append_text(self._judged, json.dumps([key, scores]) + "\n")

    def note_figure(self, figure: float, error: float) -> None:
        """Keep the figure of the next pair, with its standard error."""
        self.figures.append((figure, error))
        append_text(self._pairs, json.dumps([figure, error]) + "\n")


class Screening:
    """The search for moves in pairs of vectors, and their judging, by a pool of processes of the tuning build."""

    def __init__(self, sides: Sequence[Replayed], folder: Folder, options: argparse.Namespace, pool: Any) -> None:
        self._sides, self._folder, self._options, self._pool = sides, folder, options, pool

    def pair(self, number: int, vectors: Sequence[Mapping[str, int]]) -> npt.NDArray[np.float64]:
        """Let two vectors choose, judge, keep the figure: what the first one's moves have more, [positions]."""
        options, folder = self._options, self._folder
        rng = random.Random(f"{options.seed} {number}")
        sides = rng.sample(self._sides, max(1, round(options.share * len(self._sides))))
        tasks = [(options.net, options.nodes, vector, side) for side in sides for vector in vectors]
        chosen = self._pool.map(choose, tasks, chunksize=2)
        first, second = chosen[::2], chosen[1::2]
        unknown = [
            (options.net, options.judge, side, ply, moves)
            for side, ours, theirs in zip(sides, first, second, strict=True)
            for ply, *both in zip(side.plies, ours, theirs, strict=True)
            if len(set(both)) == 2
            and (moves := sorted(set(both) - NO_MOVES - folder.judged.get(side.key(ply), {}).keys()))
        ]
        for key, scores in self._pool.imap_unordered(judge, unknown, chunksize=4):
            folder.note_scores(key, scores)
        found = gains(sides, first, second, folder.judged)
        folder.note_figure(float(found.mean()), float(found.std() / math.sqrt(len(found))))
        return found


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.screening", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of gougi match")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--params", default="", help="parameters, groups, or A+B, with commas")
    what.add_argument("--vector", default="", help="compare these values with those of the sources")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--net", default="", help="default: ours")
    parser.add_argument("--steps", type=float, default=2.5)
    parser.add_argument("--pairs", type=int, default=0, help="default: as many as the design has")
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--judge", type=int, default=120_000, help="nodes behind each move")
    parser.add_argument("--share", type=float, default=0.1, help="share of the games' sides that a pair searches")
    parser.add_argument("--concurrency", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not 0 < options.share <= 1:
        parser.error(f"--share {options.share:g}: expected more than 0, 1 at most")
    try:
        sides = sides_of(options.run)
        ways = [compared(options.vector)] if options.vector else directions(options.params.split(","), options.steps)
        folder = Folder(options.out, kept_settings(options, sides))
    except (GameFileError, TunableError, VectorError, OSError, ValueError) as error:
        parser.error(described(error))
    signs = np.array([[1]]) if options.vector else design(len(ways))
    pairs = min(options.pairs or len(signs), len(signs))
    positions = sum(len(side.plies) for side in sides)
    print(f"{len(ways)} directions, {pairs} pairs; {positions:,} positions of {len(sides)} sides", file=sys.stderr)
    os.environ[BUILD] = "1"  # for the processes that search
    with multiprocessing.get_context("spawn").Pool(options.concurrency, initializer=compile_first) as pool:
        screening = Screening(sides, folder, options, pool)
        for number in range(len(folder.figures), pairs):
            began = time.monotonic()
            count = len(screening.pair(number, vectors_of(ways, signs[number])))
            gain, spread = folder.figures[-1]
            print(
                f"pair {number + 1} of {pairs}: {gain:+.3%} (± {spread:.3%}), {count} positions, "
                f"{time.monotonic() - began:.0f} s",
                file=sys.stderr,
            )
    if options.vector:
        gain, spread = folder.figures[0]
        print(f"winning chance by the vector: {gain:+.3%} (± {spread:.3%})")
        return
    print(f"{'winning chance by a move up':45}{'gain':>9}{'error':>9}")
    for effect in effects(
        [way.name for way in ways], signs, np.array([figure for figure, _ in folder.figures[:pairs]])
    ):
        print(f"{effect.name:45}{effect.gain:>+9.3%}{effect.error:>9.3%}")


if __name__ == "__main__":
    main()
