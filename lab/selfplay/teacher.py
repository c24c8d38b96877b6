"""Teacher games: shards of them, each determined bit for bit by net, settings, number and version of the code."""

from __future__ import annotations

import hashlib
import math
import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import worker as worker_package
from lab.jit import FOLDER
from lab.selfplay import shard
from lab.selfplay.game import below, open_game, play, rewind
from lab.selfplay.shard import ENTERING, NATURAL, PACKED_BYTES, PLAYED_OUT, UNUSUAL, Shard, TeacherGame
from lab.selfplay.state import LONGEST_GAME, new_record
from lab.selfplay.walk import pack
from worker.jit.cache import source_digest
from worker.jit.memory import aligned_zeros
from worker.nnue import Network, NnueState
from worker.rules import Rules
from worker.search.state import ThreadState
from worker.search.tt import TranspositionTable
from worker.shogi import Position, SfenError
from worker.shogi.pieces import (
    BISHOP,
    GOLD,
    KING,
    KNIGHT,
    LANCE,
    PAWN,
    PROMOTED,
    ROOK,
    SILVER,
    SQUARES,
    WHITE,
    square,
)
from worker.shogi.sfen import Setup, write

_HARD: Final = 8
"""A search is aborted at this multiple of its soft limit."""
_ENTERING_PLIES: Final = (2, 6)
"""Random plies from a start with the kings far up the board."""
_UNUSUAL_PLIES: Final = 60
"""Maximum number of plies after the opening on the way to an unusual position; the minimum is 1."""
_UNUSUAL_NODES: Final = 20
"""Soft limit of the searches on the way there."""
_UNUSUAL_BALANCE: Final = 0.85
"""Maximum win probability of the better side of an unusual position."""
_MOST_TWINS: Final = 1000
"""Consecutive openings that the shard already has; then one may occur twice: there are hardly others this short."""
_MOST_REJECTED: Final = 10_000
"""Consecutive positions of a file at which no game can start."""
_FEW_PIECES: Final = 24
"""Pieces on the board: a game with this few is close to its end."""


@dataclass(frozen=True, slots=True)
class TeacherSettings:
    """Settings of teacher games.

    Raises:
        ValueError: a value is out of range; the text names it.
    """

    seed: int = 1
    nodes: int = 700
    """Nodes per move. No iteration begins after this number, so the average is higher."""
    loud_nodes: int = 0
    """The same for positions from which no net learns: checks, captures and promotions; 0: ``nodes``."""
    plies_from: int = 8
    plies_to: int = 16
    """Random moves of an opening."""
    balance: float = 0.55
    """Maximum win probability of the better side of an opening."""
    scale: float = 2400.0
    """Centipawns per logistic unit: a score s wins with probability 1 / (1 + exp(-s / scale))."""
    decided: float = 0.97
    """A game ends if one side wins with this probability or more ..."""
    decided_plies: int = 6
    """... for this number of plies in a row."""
    played_out: float = 0.1
    """Share of the games that are played to the end anyway."""
    entering: float = 0.05
    """Share of the games that begin with the kings far up the board."""
    unusual: float = 0.5
    """Share of the games that begin in an unusual position."""
    natural: float = 0.0
    """Share of the games whose opening consists of good moves, found by quick searches, instead of arbitrary ones."""
    natural_loss: float = 0.06
    """Maximum win probability that a move of such an opening gives away in an even position."""
    max_moves: int = 320
    """Moves after the opening at which a game is a draw."""
    hash_mb: int = 4
    games: int = 1000
    """Games of a shard."""
    starts: str = ""
    """Identifies the file of positions from which the games start; empty: the start position."""

    def __post_init__(self) -> None:
        for name, least, most in (
            ("seed", -(1 << 63), (1 << 63) - 1),
            ("nodes", 1, 1 << 40),
            ("loud_nodes", 0, 1 << 40),
            ("plies_from", 0, self.plies_to),
            ("plies_to", 0, 60),
            ("balance", 0.5, 1),
            ("scale", 1, 1e5),
            ("decided", 0.5, 1),
            ("decided_plies", 1, LONGEST_GAME),
            ("played_out", 0, 1),
            ("entering", 0, 1),
            ("unusual", 0, 1),
            ("natural", 0, 1),
            ("natural_loss", 0.001, 0.49),
            ("max_moves", 1, LONGEST_GAME),
            ("hash_mb", 1, 1 << 16),
            ("games", 1, 1 << 20),
        ):
            value = getattr(self, name)
            if not least <= value <= most:
                raise ValueError(f"{name} is {value}: expected {least} to {most}")

    def score_of(self, probability: float) -> int:
        """The centipawns that win with a probability; for 1, more than any score."""
        return 1 << 20 if probability >= 1 else round(self.scale * math.log(probability / (1 - probability)))


def code_version() -> str:
    """A digest of all sources that determine a shard's bytes."""
    digest = hashlib.sha256(source_digest().encode())
    digest.update(FOLDER.encode())
    folder = Path(worker_package.__path__[0])
    plain = (str(folder / name) for name in ("rules.py", "score.py", "shogi/position.py", "shogi/sfen.py"))
    for source in (__file__, shard.__file__, *plain):
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

    def make_shard(self, number: int, starts: Sequence[str] = ()) -> Shard:
        """Play the games of shard ``number``; they do not depend on earlier shards.

        Args:
            starts: SFENs of positions from which its games start, chosen at random.

        Raises:
            ValueError: hardly a game can start there.
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
            # With none of them, a seed gives the same games as before they existed (docs/nets.md).
            if settings.unusual and rng.random() < settings.unusual:
                flags |= UNUSUAL
            if settings.natural and not flags & ENTERING and rng.random() < settings.natural:
                flags |= NATURAL
            position, plies = self._open(state.record, sp, rng, flags, even, seen, starts)
            game = self._play(position, plies, state.record, sp, flags)
            rewind(position.record)
            parts.append(game.to_bytes())
            positions += len(game.moves)
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
        sp.loud_nodes = settings.loud_nodes or settings.nodes
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
        self,
        th: Any,
        sp: Any,
        rng: random.Random,
        flags: int,
        even: Position,
        seen: set[int],
        starts: Sequence[str],
    ) -> tuple[Position, int]:
        """An opening, and its plies: one that this shard does not have yet, unless none seems to be left."""
        settings = self._settings
        margin = settings.score_of(_UNUSUAL_BALANCE if flags & UNUSUAL or starts else settings.balance)
        first, last = _ENTERING_PLIES if flags & ENTERING else (settings.plies_from, settings.plies_to)
        sp.natural = settings.score_of(0.5 + settings.natural_loss) if flags & NATURAL else 0
        twins = 0
        before = int(sp.rejected)
        while int(sp.rejected) - before <= _MOST_REJECTED or not starts:
            position = even
            if flags & ENTERING:
                position = entering_start(rng)
            elif starts:
                position = Position.from_sfen(starts[_below(rng, len(starts))])
            plies = first + int(below(sp, np.uint64(last - first + 1)))
            quick = 1 + int(below(sp, np.uint64(_UNUSUAL_PLIES))) if flags & UNUSUAL else 0
            if open_game(position.record, self._nnue.record, th, sp, plies, quick, margin):
                twins += 1
                if position.key not in seen or twins > _MOST_TWINS:
                    seen.add(position.key)
                    return position, plies + quick
            rewind(position.record)
        raise ValueError(f"{_MOST_REJECTED} positions in a row are in check, or one side has as good as won there")

    def _play(self, position: Position, plies: int, th: Any, sp: Any, flags: int) -> TeacherGame:
        start = aligned_zeros(PACKED_BYTES, np.uint8)
        pack(position.record, start.ctypes.data)
        number = position.move_number
        sp.decided = 0 if flags & PLAYED_OUT else max(1, self._settings.score_of(self._settings.decided))
        play(position.record, self._nnue.record, th, sp)
        count = int(sp.count)
        return TeacherGame(
            start.tobytes(),
            number,
            int(sp.result),
            int(sp.end),
            flags,
            plies,
            sp.moves[:count].copy(),
            sp.scores[:count].copy(),
        )


_PIECES: Final = {PAWN: 9, LANCE: 2, KNIGHT: 2, SILVER: 2, GOLD: 2, BISHOP: 1, ROOK: 1}
"""Pieces of each side."""
_KING_RANKS: Final = (2, 5)
"""Ranks from and to, as black sees them."""
_IN_CAMP: Final = (4, 8)
"""Number of a side's pieces in the enemy's camp, from and to."""


def entering_start(rng: random.Random) -> Position:
    """A random position with black to move, no check, and all pieces."""
    while True:
        try:
            position = Position.from_sfen(write(_draw(rng)))
        except SfenError:  # two pawns on a file, a piece without a move, a king that could be taken
            continue
        if not position.in_check() and not position.is_mated():
            return position


def _draw(rng: random.Random) -> Setup:
    board = [0] * SQUARES
    hand = [0] * 8

    def put(piece: int, sq: int) -> bool:
        """Put a piece and its twin; False: there is no room."""
        twin = SQUARES - 1 - sq
        if board[sq] or board[twin] or sq == twin:
            return False
        board[sq], board[twin] = piece, piece | WHITE << 4
        return True

    _put_somewhere(rng, put, KING, _KING_RANKS)
    pieces = [kind for kind, count in _PIECES.items() for _ in range(count)]
    first, last = _IN_CAMP
    for _ in range(first + _below(rng, last - first + 1)):
        kind = pieces.pop(_below(rng, len(pieces)))
        promoted = kind != GOLD and (kind in (PAWN, LANCE, KNIGHT) or _below(rng, 2) == 0)
        _put_somewhere(rng, put, kind | (PROMOTED if promoted else 0), (1, 3))
    for kind in pieces:
        if _below(rng, 3):
            _put_somewhere(rng, put, kind, (4, 9))
        else:
            hand[kind] += 1
    return Setup(tuple(board), (tuple(hand), tuple(hand)), 0, 1)


def _put_somewhere(rng: random.Random, put: Callable[[int, int], bool], piece: int, ranks: tuple[int, int]) -> None:
    first, last = ranks
    while not put(piece, square(_below(rng, 9) + 1, first + _below(rng, last - first + 1))):
        pass


def _below(rng: random.Random, limit: int) -> int:
    """A number from 0 to ``limit - 1``, by a method that is the same in every version of Python."""
    return int(rng.random() * limit)
