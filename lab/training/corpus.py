"""The training positions: the shards, their games for validation, and the order.

A shard holds games (`lab.selfplay.shard`), or is a block of a PSV file (`lab.training.psv`), which is never read as a
whole: one chunk of it is in memory at a time.

The order is deterministic: shards, chunks and batches follow from the seed, so a run resumes in the middle of an epoch
by reading one chunk again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lab.selfplay.shard import Shard, ShardError, read_shard
from lab.selfplay.state import LONGEST_GAME
from lab.selfplay.walk import QUIET_SCORE, RECORD_DTYPE
from lab.training.features import row_tables
from lab.training.psv import SUFFIX, Block, PsvError, blocks
from lab.training.replay import (
    CUT,
    ILLEGAL,
    NO_POSITION,
    TRAINING,
    VALIDATION,
    replay_games,
)
from worker.nnue.features import K_P, tables
from worker.shogi.state import new_record

CHUNK_SHARDS: Final = 32
"""Maximum number of shards whose positions are shuffled together: of 1,000 games each, some 2 million positions, 190
MB. Three such chunks are in memory: one is used, one waits, and one is made."""
CHUNK_POSITIONS: Final = 2_500_000
"""Maximum number of positions of a chunk, unless a single shard has more."""
_SHARD_FILE: Final = re.compile(r"shard-\d{6,}\.games")
_FAULTS: Final = {CUT: "it ends too early", NO_POSITION: "its start is no position", ILLEGAL: "move {} is not legal"}

_FLIP: Final = row_tables(K_P).flip
_MOST: Final = 30_000
"""Centipawns that a corrected score can have."""

Records = npt.NDArray[np.void]
"""Records of `RECORD_DTYPE`, [n]."""
Corrections = dict[str, npt.NDArray[np.float32]]
"""By `Source.net`: centipawns by number of K+P, [1710], which are added to the scores of its searches
(`lab.training.network.debias`)."""
Beside = Callable[[Records], npt.NDArray[np.float64]]
"""Centipawns that something beside a network adds to its evaluations of records, [n]."""


class CorpusError(Exception):
    """The games cannot be used, or are not those with which a run began; the text says which, and why."""


@dataclass(frozen=True, slots=True)
class Source:
    """A shard, and the numbers of its games and positions that a run uses."""

    path: str
    sha256: str
    """SHA-256 of its games as hexadecimal text."""
    games: int
    positions: int
    training: int
    """Number of training positions."""
    validation: int
    first: int = 0
    """For a PSV file: the number of the first position of the block (`lab.training.psv`)."""
    net: str = ""
    """SHA-256 of the network whose searches gave the scores; empty if not known."""


@dataclass(frozen=True, slots=True)
class Split:
    """The positions for training and for validation.

    Raises:
        ValueError: the share is out of range.
    """

    validation: float
    """Share of the games."""
    every: bool = False
    """Whether to use positions that are not quiet too; no run learns from them, but they show the shard's content."""
    decided: bool = False
    """Whether to use decided positions too (`lab.training.replay.QUIET_SCORE`)."""
    horizon: float = 0.0
    """Mean number of plies by which a position's score looks ahead in its game; 0: not at all."""

    def __post_init__(self) -> None:
        if not 0 < self.validation <= 0.5:
            raise ValueError(f"validation is {self.validation}: expected more than 0, up to 0.5")


def _threshold(validation: float) -> int:
    """Games with a hash below it are for validation."""
    return min(int(validation * 2.0**64), (1 << 64) - 1)


class Replayer:
    """Replays shards; one for each thread.

    Args:
        scale: centipawns per logistic unit for the look-ahead of scores; None: no look-ahead.
        corrections: of the scores of indexed sources.
        beside: beside the network that learns from indexed sources. It is taken from the scores, so that the network
            learns the rest.
    """

    def __init__(
        self,
        split: Split,
        scale: float | None = None,
        corrections: Corrections | None = None,
        beside: Beside | None = None,
    ) -> None:
        self._split = split
        self._beside = beside
        self._corrections = corrections or {}
        self._own = 1.0 if scale is None else 1.0 / (1.0 + split.horizon)
        self._scale = 1.0 if scale is None else scale
        self._labels = np.empty(LONGEST_GAME, np.int16)
        self._tables = tables(K_P)
        self._position = new_record()
        self._below = np.uint64(_threshold(split.validation))

    def records(self, shard: Shard, part: int) -> Records:
        """The positions of a shard's training or validation games, in order.

        Raises:
            ShardError: it is damaged; the text names the game.
        """
        payload = np.frombuffer(shard.payload, np.uint8)
        room = max(1, int(shard.header["positions"]))
        found = np.zeros(room, RECORD_DTYPE)
        told = np.zeros(4, np.int64)
        kept = int(
            replay_games(
                self._position, payload.ctypes.data, len(payload), self._tables.ctypes.data, self._below, part,
                int(self._split.every), int(self._split.decided), self._own, self._scale, found.ctypes.data, room,
                self._labels.ctypes.data, told,
            )
        )  # fmt: skip
        games, positions, game, move = (int(value) for value in told)
        if -kept in _FAULTS:
            raise ShardError(f"game {game}: {_FAULTS[-kept].format(move + 1)}")
        if kept < 0 or (games, positions) != (shard.header["games"], shard.header["positions"]):
            raise ShardError(f"{games} games and {positions} positions; its header says otherwise")
        return found[:kept].copy()

    def psv_records(self, block: Block, part: int) -> Records:
        """The quiet positions of a block that belong to training or to validation. Raises PsvError: it is damaged."""
        return block.records(self._position, self._tables, self._below, part, self._split.decided)

    def again(self, source: Source, part: int) -> Records:
        """The positions of an indexed source, with corrected scores. Raises CorpusError: it has changed, or is gone."""
        records = self._read_again(source, part)
        table = self._corrections.get(source.net)
        if table is not None and len(records):
            pieces = records["pieces"]
            change = table[pieces].sum(1) - table[_FLIP[pieces]].sum(1)
            records["score"] = np.clip(np.rint(records["score"] + change), -_MOST, _MOST)
        if self._beside is not None and len(records):
            records["score"] = np.clip(np.rint(records["score"] - self._beside(records)), -_MOST, _MOST)
        return records

    def _read_again(self, source: Source, part: int) -> Records:
        path = Path(source.path)
        try:
            if path.suffix == SUFFIX:
                block = Block(path, source.first)
                if block.sha256 != source.sha256:
                    raise CorpusError(f"{path}: other positions than those the run was begun with")
                return self.psv_records(block, part)
            shard = read_shard(path)
        except (ShardError, PsvError) as error:
            raise CorpusError(str(error)) from error
        except FileNotFoundError as error:
            raise CorpusError(f"{path}: it is gone, and the run was begun with it") from error
        if hashlib.sha256(shard.payload).hexdigest() != source.sha256:
            raise CorpusError(f"{path}: other games than those the run was begun with")
        return self.records(shard, part)


def shard_files(folders: Sequence[Path], *, psv: bool = True) -> list[Path]:
    """The shards of folders of ``gougi selfplay``, and PSV files, in order, by their full paths.

    Args:
        folders: each is such a folder, or one of PSV files, or a PSV file.
        psv: whether PSV files count.

    Raises:
        CorpusError: a folder has none; the text names it.
        OSError: it cannot be read.
    """
    found: list[Path] = []
    for folder in folders:
        inside = [folder.resolve()] if folder.is_file() else folder.resolve().iterdir()
        files = sorted(path for path in inside if (psv and path.suffix == SUFFIX) or _SHARD_FILE.fullmatch(path.name))
        if not files:
            raise CorpusError(f"{folder}: no shards of gougi selfplay{', and no PSV file (.psv)' * psv}")
        found += files
    return found


class Corpus:
    """The shards of a run.

    Attributes:
        sources: each shard; ``training`` and ``validation``: total numbers of positions.
        scale: win-rate scale for the look-ahead of scores, in centipawns: initially fitted to the training positions;
            None: no scale fits.
        corrections: of the scores; initially none.
        beside: as that of `Replayer`; initially none.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        split: Split,
        scale: float | None,
        corrections: Corrections | None = None,
    ) -> None:
        self.sources = tuple(sources)
        self.split = split
        self.scale = scale
        self.corrections = corrections or {}
        self.beside: Beside | None = None
        self.training = sum(source.training for source in sources)
        self.validation = sum(source.validation for source in sources)

    @classmethod
    def index(
        cls,
        files: Sequence[Path],
        split: Split,
        on_shard: Callable[[int, int], None] = lambda _number, _total: None,
    ) -> Corpus:
        """Read all shards once: count, check, and fit the win-rate scale.

        Args:
            on_shard: callback with the number of shards read and their total.

        Raises:
            CorpusError: a shard is damaged, named; or no positions are left for training or for validation.
            OSError: one cannot be read.
        """
        replayer = Replayer(split)
        sources: list[Source] = []
        weights, points = np.zeros(BINS), np.zeros(BINS)
        for number, path in enumerate(files):
            on_shard(number, len(files))
            try:
                if path.suffix == SUFFIX:
                    for first in blocks(path):
                        block = Block(path, first)
                        parts = [replayer.psv_records(block, part) for part in (TRAINING, VALIDATION)]
                        add_points(weights, points, parts[TRAINING]["score"], parts[TRAINING]["result"])
                        counts = (0, len(block), len(parts[TRAINING]), len(parts[VALIDATION]))
                        sources.append(Source(str(path), block.sha256, *counts, first))
                    continue
                shard = read_shard(path)
                digest = hashlib.sha256(shard.payload).hexdigest()
                games, positions = shard.header["games"], shard.header["positions"]
                parts = [replayer.records(shard, part) for part in (TRAINING, VALIDATION)]
                add_points(weights, points, parts[TRAINING]["score"], parts[TRAINING]["result"])
            except (ShardError, PsvError) as error:
                text = str(error)
                raise CorpusError(text if str(path) in text else f"{path}: {text}") from error
            counts = (games, positions, len(parts[TRAINING]), len(parts[VALIDATION]))
            sources.append(Source(str(path), digest, *counts, net=str(shard.header["net"])))
        corpus = cls(sources, split, fitted_scale(weights, points))
        for name, count in (("training", corpus.training), ("validation", corpus.validation)):
            if not count:
                raise CorpusError(f"no positions for {name} in {len(files)} shards: more games are needed")
        return corpus

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        facts: dict[str, Any] = {"scale": self.scale, "shards": [asdict(source) for source in self.sources]}
        if self.corrections:
            facts["corrections"] = {net: table.tolist() for net, table in self.corrections.items()}
        return facts

    @classmethod
    def from_json(cls, facts: dict[str, Any], split: Split) -> Corpus:
        """Read the output of `to_json`. Raises TypeError, KeyError: it is not valid."""
        tables = {net: np.array(table, np.float32) for net, table in facts.get("corrections", {}).items()}
        return cls([Source(**one) for one in facts["shards"]], split, facts["scale"], tables)

    def validation_records(self, most: int) -> Records:
        """Positions for validation, at most ``most``, evenly from all shards.

        Raises:
            CorpusError: a shard has changed.
        """
        replayer = self._replayer()
        parts = [replayer.again(source, VALIDATION) for source in self.sources if source.validation]
        together = np.concatenate(parts)
        if len(together) > most:
            together = together[np.linspace(0, len(together) - 1, most).astype(np.int64)]
        return together

    def sample(self, most: int) -> list[Records]:
        """At most some ``most`` training positions, evenly from each source.

        The same positions follow for any look-ahead of the scores. Raises CorpusError.
        """
        replayer, step = self._replayer(), -(-self.training // most)
        return [replayer.again(source, TRAINING)[::step] for source in self.sources if source.training]

    def of_network(self, net: str, horizon: float) -> Corpus:
        """The games whose scores are of one network (`Source.net`), with another look-ahead and uncorrected."""
        sources = [source for source in self.sources if source.net == net]
        return Corpus(sources, replace(self.split, horizon=horizon), self.scale)

    def _replayer(self) -> Replayer:
        return Replayer(self.split, self.scale, self.corrections, self.beside)

    def chunks(self, seed: int, epoch: int) -> list[list[Source]]:
        """The shards of an epoch, in its order, grouped by the chunks in which their positions are shuffled
        together."""
        used = [source for source in self.sources if source.training]
        order = _generator(seed, epoch).permutation(len(used))
        count = min(len(used), max(-(-len(used) // CHUNK_SHARDS), -(-self.training // CHUNK_POSITIONS)))
        return [[used[place] for place in part] for part in np.array_split(order, count)]

    def chunk(
        self, sources: Sequence[Source], seed: int, epoch: int, number: int, pool: ThreadPoolExecutor, threads: int
    ) -> tuple[Records, npt.NDArray[np.int64]]:
        """Read a chunk: its records, and the order in which they are used."""
        lanes = [sources[lane::threads] for lane in range(min(threads, len(sources)))]

        def read(lane: Sequence[Source]) -> list[Records]:
            replayer = self._replayer()
            return [replayer.again(source, TRAINING) for source in lane]

        parts = list(pool.map(read, lanes))
        # Restore their order, so that the number of threads has no effect.
        inorder = [parts[place % len(lanes)][place // len(lanes)] for place in range(len(sources))]
        records = np.concatenate(inorder)
        return records, _generator(seed, epoch, number).permutation(len(records)).astype(np.int64)


def _generator(*key: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([part & (1 << 64) - 1 for part in key])))


def chunks_from(
    corpus: Corpus, seed: int, epoch: int, chunk: int, threads: int
) -> Iterator[tuple[int, int, bool, Records, npt.NDArray[np.int64]]]:
    """Endless epochs, from a chunk on: (epoch, chunk, whether it is its epoch's last, records, their order)."""
    with ThreadPoolExecutor(threads, "replay") as pool:
        while True:
            plan = corpus.chunks(seed, epoch)
            for number in range(chunk, len(plan)):
                records, order = corpus.chunk(plan[number], seed, epoch, number, pool, threads)
                yield epoch, number, number == len(plan) - 1, records, order
            epoch, chunk = epoch + 1, 0


_BIN: Final = 10
"""Width in centipawns of a bin of scores."""
BINS: Final = 2 * QUIET_SCORE // _BIN
"""The number of bins of scores for `fitted_scale`."""
_STEPS: Final = 50
_STEEPEST: Final = 1.0
"""Per centipawn: beyond it every score except 0 decides, and there is nothing to fit."""


def add_points(
    weights: npt.NDArray[np.float64],
    points: npt.NDArray[np.float64],
    scores: npt.NDArray[Any],
    outcomes: npt.NDArray[np.int8],
) -> None:
    """Count positions for `fitted_scale`; those with a score of `QUIET_SCORE` and more are skipped.

    Args:
        weights, points: float64 [`BINS`], added to.
        scores, outcomes: as the side to move sees them; 1 for a win, -1 for a loss.
    """
    wide = scores.astype(np.int64)
    near = np.abs(wide) < QUIET_SCORE
    bins = (wide[near] + QUIET_SCORE) // _BIN
    weights += np.bincount(bins, minlength=BINS)
    points += np.bincount(bins, (outcomes[near].astype(np.float64) + 1) / 2, minlength=BINS)


def fitted_scale(weights: npt.NDArray[np.float64], points: npt.NDArray[np.float64]) -> float | None:
    """The scale s in centipawns for which 1 / (1 + exp(-score / s)) fits the points best; None: there is none.

    Args:
        weights: positions by score, in bins of `_BIN` from -`QUIET_SCORE` on.
        points: their total points, 1 for a win of the side to move and 1/2 for a draw.
    """
    scores = (np.arange(len(weights)) + 0.5) * _BIN - QUIET_SCORE
    steepness = 1 / 1000
    for _ in range(_STEPS):
        expected = 1 / (1 + np.exp(-np.clip(steepness * scores, -500, 500)))
        slope = float(np.sum(scores * (points - weights * expected)))
        curve = float(np.sum(weights * scores**2 * expected * (1 - expected)))
        if curve <= 0:
            return None
        # Newton's method on a concave likelihood; steps are limited so that the sign cannot change.
        steepness = max(steepness / 4, min(steepness * 4, steepness + slope / curve))
        if steepness > _STEEPEST or steepness < 1e-6:
            return None
    return 1 / steepness
