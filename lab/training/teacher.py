"""Teacher games: shards of them, each the same bit for bit from net, settings, number and version of the code."""

from __future__ import annotations

import hashlib
import math
import random
import struct
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import worker
from lab.jit import FOLDER
from lab.selfplay.game import play
from lab.selfplay.opening import below, open_game, rewind
from lab.selfplay.state import LONGEST_GAME, new_record
from lab.selfplay.walk import pack
from lab.training import entering, shard
from lab.training.entering import entering_start
from lab.training.packed import PACKED_BYTES
from lab.training.shard import ENTERING, PLAYED_OUT, UNUSUAL, Game, Shard
from worker.jit.memory import aligned_zeros
from worker.jit.options import source_digest
from worker.nnue import Network, NnueState
from worker.rules import Rules
from worker.search.state import ThreadState
from worker.search.tt import TranspositionTable
from worker.shogi import Position

_HARD: Final = 8
"""A search is cut short at so many times its soft limit."""
_ENTERING_PLIES: Final = (2, 6)
"""Random plies from a start with the kings far up."""
_UNUSUAL_PLIES: Final = 60
"""On the way to an unusual position, after the opening: 1 to so many."""
_UNUSUAL_NODES: Final = 20
"""Soft limit of the searches on this way."""
_UNUSUAL_BALANCE: Final = 0.85
"""Probability, at most, with which the better side of an unusual position wins."""
_MOST_TWINS: Final = 1000
"""Openings in a row that the shard has already; then one may come twice: there are hardly others so short."""
_FEW_PIECES: Final = 24
"""On the board: of a game with so few an end is to be seen."""


@dataclass(frozen=True, slots=True)
class TeacherSettings:
    """Settings by which teacher games are made.

    Raises:
        ValueError: a value is out of range; the text names it.
    """

    seed: int = 1
    nodes: int = 700
    """Nodes of a move. No iteration begins after so many, so that the average is higher."""
    plies_from: int = 8
    plies_to: int = 16
    """Random moves of an opening."""
    balance: float = 0.55
    """Probability, at most, with which the better side of an opening wins."""
    scale: float = 2400.0
    """Centipawns to one unit of the logistic function: a score s wins with probability 1 / (1 + exp(-s / scale))."""
    decided: float = 0.97
    """A game ends where one side wins with this probability or more ..."""
    decided_plies: int = 6
    """... for this number of plies in a row."""
    played_out: float = 0.1
    """Share of the games that are played to the end all the same."""
    entering: float = 0.05
    """Share of the games that begin with the kings far up the board."""
    unusual: float = 0.5
    """Share of the games that begin in an unusual position."""
    max_moves: int = 320
    """Moves after the opening at which a game is a draw."""
    hash_mb: int = 4
    games: int = 1000
    """Games of a shard."""

    def __post_init__(self) -> None:
        for name, least, most in (
            ("seed", -(1 << 63), (1 << 63) - 1),
            ("nodes", 1, 1 << 40),
            ("plies_from", 0, self.plies_to),
            ("plies_to", 0, 60),
            ("balance", 0.5, 1),
            ("scale", 1, 1e5),
            ("decided", 0.5, 1),
            ("decided_plies", 1, LONGEST_GAME),
            ("played_out", 0, 1),
            ("entering", 0, 1),
            ("unusual", 0, 1),
            ("max_moves", 1, LONGEST_GAME),
            ("hash_mb", 1, 1 << 16),
            ("games", 1, 1 << 20),
        ):
            value = getattr(self, name)
            if not least <= value <= most:
                raise ValueError(f"{name} is {value}: expected {least} to {most}")

    def score_of(self, probability: float) -> int:
        """The centipawns that win with a probability; beyond every score for 1."""
        return 1 << 20 if probability >= 1 else round(self.scale * math.log(probability / (1 - probability)))


def code_version() -> str:
    """A digest of all sources that decide a shard's bytes."""
    digest = hashlib.sha256(source_digest().encode())
    digest.update(FOLDER.encode())
    folder = Path(worker.__path__[0])
    plain = (str(folder / name) for name in ("rules.py", "score.py", "shogi/position.py", "shogi/sfen.py"))
    for source in (__file__, entering.__file__, shard.__file__, *plain):
        digest.update(Path(source).read_bytes())
    return digest.hexdigest()[:16]


class Teacher:
    """Plays games against itself.

    Args:
        net_digest: SHA-256 of the network's file, for the header.
    """

    def __init__(self, network: Network, net_digest: str, settings: TeacherSettings) -> None:
        self._settings = settings
        self._net_digest = net_digest
        self._nnue = NnueState(network)

    def make_shard(self, number: int, on_game: Callable[[int], None] = lambda _positions: None) -> Shard:
        """Play the games of shard ``number``; nothing of it depends on shards that were made before.

        Args:
            on_game: told of each game how many positions it has.
        """
        settings = self._settings
        state, table, sp = ThreadState(), TranspositionTable(settings.hash_mb), self._record(number)
        self._set_rules(state.record, table)
        rng = random.Random(f"{settings.seed}/{number}")
        seen: set[int] = set()
        parts: list[bytes] = []
        positions = 0
        even = Position.startpos()
        for _ in range(settings.games):
            flags = ENTERING if rng.random() < settings.entering else 0
            if rng.random() < settings.played_out:
                flags |= PLAYED_OUT
            # With none a seed gives the games that it gave before there were any (docs/nets.md).
            if settings.unusual and rng.random() < settings.unusual:
                flags |= UNUSUAL
            position, plies = self._open(state.record, sp, rng, flags, even, seen)
            game = self._play(position, plies, state.record, sp, flags)
            rewind(position.record)
            parts.append(game.to_bytes())
            positions += len(game.moves)
            on_game(len(game.moves))
        header = {
            "code": code_version(),
            "fv_scale": self._nnue.network.fv_scale,
            "games": settings.games,
            "net": self._net_digest,
            "nodes": int(sp.nodes),
            "positions": positions,
            "rejected": int(sp.rejected),
            "settings": asdict(settings),
            "shard": number,
        }
        return Shard(header, b"".join(parts))

    def _record(self, number: int) -> Any:
        settings, sp = self._settings, new_record()
        digest = hashlib.sha256(f"{settings.seed}/{number}".encode()).digest()
        sp.random = struct.unpack_from("<Q", digest)[0]
        sp.soft_nodes = sp.opening_nodes = settings.nodes
        sp.hard_nodes = settings.nodes * _HARD
        sp.quick_nodes = min(settings.nodes, _UNUSUAL_NODES)
        sp.decided_plies = settings.decided_plies
        sp.few_pieces = _FEW_PIECES
        sp.most_moves = settings.max_moves
        return sp

    @staticmethod
    def _set_rules(th: Any, table: TranspositionTable) -> None:
        rules = Rules()
        th.tt, th.tt_clusters = table.address, table.clusters
        th.every_move = int(rules.every_move)
        th.entering_rule = rules.entering.code
        th.draw_value[:] = rules.draw_values(0)

    def _open(
        self, th: Any, sp: Any, rng: random.Random, flags: int, even: Position, seen: set[int]
    ) -> tuple[Position, int]:
        """An opening, and its plies: one that this shard does not have yet, unless there seems to be none left."""
        settings = self._settings
        margin = settings.score_of(_UNUSUAL_BALANCE if flags & UNUSUAL else settings.balance)
        first, last = _ENTERING_PLIES if flags & ENTERING else (settings.plies_from, settings.plies_to)
        twins = 0
        while True:
            position = entering_start(rng) if flags & ENTERING else even
            plies = first + int(below(sp, np.uint64(last - first + 1)))
            quick = 1 + int(below(sp, np.uint64(_UNUSUAL_PLIES))) if flags & UNUSUAL else 0
            if open_game(position.record, self._nnue.record, th, sp, plies, quick, margin):
                twins += 1
                if position.key not in seen or twins > _MOST_TWINS:
                    seen.add(position.key)
                    return position, plies + quick
            rewind(position.record)

    def _play(self, position: Position, plies: int, th: Any, sp: Any, flags: int) -> Game:
        start = aligned_zeros(PACKED_BYTES, np.uint8)
        pack(position.record, start.ctypes.data)
        number = position.move_number
        sp.decided = 0 if flags & PLAYED_OUT else self._settings.score_of(self._settings.decided)
        play(position.record, self._nnue.record, th, sp)
        count = int(sp.count)
        return Game(
            start.tobytes(),
            number,
            int(sp.result),
            int(sp.end),
            flags,
            plies,
            sp.moves[:count].copy(),
            sp.scores[:count].copy(),
        )
