"""A shard: games of self-play as a file, some 4.4 bytes a position.

Little endian: 8 bytes ``GOUGISP1``, u32 length of the header, the header (JSON in UTF-8), then the games one after
another. A game is 40 bytes (`_GAME`: start as PackedSfen, its move number, moves, result, end, flags, random plies
before the start), its moves as uint16 (`worker.shogi.pieces`, the low 16 bits) and their scores as int16, from the side
to move. The header says how the games were made, how many there are, and the SHA-256 of the data after it.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lab.selfplay.state import END_NAMES, LONGEST_GAME

MAGIC: Final = b"GOUGISP1"
_LENGTH: Final = struct.Struct("<I")
_GAME: Final = struct.Struct("<32sHHbBBB")
_COUNTS: Final = ("games", "positions", "nodes", "rejected", "shard")

PACKED_BYTES: Final = 32

PLAYED_OUT: Final = 1
"""Flag of a game that could not be adjudicated."""
ENTERING: Final = 2
"""Flag of a game that began with the kings far up the board."""
UNUSUAL: Final = 4
"""Flag of a game that began in an unusual position."""
NATURAL: Final = 8
"""Flag of a game whose opening consists of good moves."""


class ShardError(ValueError):
    """A shard cannot be used; the text says which one, and why."""


@dataclass(frozen=True, slots=True)
class TeacherGame:
    """A game. Arrays are views of the shard."""

    start: bytes
    """PackedSfen."""
    move_number: int
    """The number of the first move."""
    result: int
    """1: black has won, -1: white has won, 0: a draw."""
    end: int
    """The way it ended (`lab.selfplay.state.END_NAMES`)."""
    flags: int
    opening_plies: int
    moves: npt.NDArray[np.uint16]
    scores: npt.NDArray[np.int16]

    def to_bytes(self) -> bytes:
        """The bytes of the game in a shard."""
        head = _GAME.pack(
            self.start, self.move_number, len(self.moves), self.result, self.end, self.flags, self.opening_plies
        )
        return head + self.moves.astype("<u2").tobytes() + self.scores.astype("<i2").tobytes()


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard in memory, checked."""

    header: dict[str, Any]
    """``net`` (SHA-256), ``fv_scale``, ``code``, ``settings``, ``shard`` (its number), and the numbers of ``games``,
    ``positions``, ``nodes`` and ``rejected`` openings."""
    payload: bytes

    def games(self) -> Iterator[TeacherGame]:
        """Its games. Raises ShardError: they do not match the header."""
        at = games = positions = 0
        while at < len(self.payload):
            try:
                start, number, length, result, end, flags, plies = _GAME.unpack_from(self.payload, at)
                at += _GAME.size
                moves = np.frombuffer(self.payload, "<u2", length, at)
                scores = np.frombuffer(self.payload, "<i2", length, at + 2 * length)
            except (struct.error, ValueError) as error:
                raise ShardError(f"game {games}: {error}") from error
            if length > LONGEST_GAME or abs(result) > 1 or end not in END_NAMES:
                raise ShardError(f"game {games}: {length} moves, result {result}, end {end}")
            at += 4 * length
            games += 1
            positions += length
            yield TeacherGame(start, number, result, end, flags, plies, moves, scores)
        if (games, positions) != (self.header["games"], self.header["positions"]):
            raise ShardError(f"{games} games and {positions} positions; its header says otherwise")

    def to_bytes(self) -> bytes:
        """The file. The same games and header give the same bytes."""
        facts = {**self.header, "payload_sha256": hashlib.sha256(self.payload).hexdigest()}
        header = json.dumps(facts, sort_keys=True).encode()
        return MAGIC + _LENGTH.pack(len(header)) + header + self.payload


def parse_shard(data: bytes) -> Shard:
    """Read a shard and its checksum. Raises ShardError."""
    start = len(MAGIC) + _LENGTH.size
    if data[: len(MAGIC)] != MAGIC or len(data) < start:
        raise ShardError("no games of gougi selfplay")
    end = start + _LENGTH.unpack_from(data, len(MAGIC))[0]
    try:
        header = json.loads(data[start:end])
        known = header["payload_sha256"]
        if not all(isinstance(header[name], int) for name in _COUNTS):
            raise ShardError("its header has no counts")
        settings, net, code = dict(header["settings"]), str(header["net"]), str(header["code"])
    except (ValueError, KeyError, TypeError) as error:
        raise ShardError(f"its header is damaged: {error!r}") from error
    payload = data[end:]
    if hashlib.sha256(payload).hexdigest() != known:
        raise ShardError("its checksum is wrong: it is damaged, or not whole")
    return Shard({**header, "settings": settings, "net": net, "code": code}, payload)


def read_shard(path: Path) -> Shard:
    """Read a shard's file. Raises ShardError, which names it; OSError."""
    try:
        return parse_shard(path.read_bytes())
    except ShardError as error:
        raise ShardError(f"{path}: {error}") from error
