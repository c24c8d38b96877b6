"""The field's 32 bytes of a position (PackedSfen), read; `lab.selfplay.walk` writes them and has the layout."""

from __future__ import annotations

from typing import Final

from lab.selfplay.walk import CODE_BITS, CODES
from worker.shogi import Position, SfenError
from worker.shogi.pieces import GOLD, KING, PAWN, PROMOTED, SQUARES
from worker.shogi.sfen import Setup, write

PACKED_BYTES: Final = 32
_KINDS: Final = {(code, bits): kind for kind, (code, bits) in enumerate(zip(CODES, CODE_BITS, strict=True))}
_HAND_KINDS: Final = {(CODES[kind] >> 1, CODE_BITS[kind] - 1): kind for kind in range(PAWN, GOLD + 1)}
_LONGEST_CODE: Final = max(CODE_BITS)


class PackedError(ValueError):
    """32 bytes are no position; the text says why."""


class _Bits:
    def __init__(self, data: bytes) -> None:
        self._word = int.from_bytes(data, "little")
        self.left = 8 * len(data)

    def take(self, count: int) -> int:
        if count > self.left:
            raise PackedError("it ends too early")
        value = self._word & ((1 << count) - 1)
        self._word >>= count
        self.left -= count
        return value

    def kind(self, kinds: dict[tuple[int, int], int]) -> int:
        """The piece type whose code comes next."""
        code = 0
        for bits in range(_LONGEST_CODE):
            code |= self.take(1) << bits
            if (code, bits + 1) in kinds:
                return kinds[code, bits + 1]
        raise PackedError("no piece has such a code")


def unpack(data: bytes, move_number: int = 1) -> Setup:
    """The position of a PackedSfen with all 40 pieces.

    Raises:
        PackedError: the bytes are none.
    """
    if len(data) != PACKED_BYTES:
        raise PackedError(f"{len(data)} bytes instead of {PACKED_BYTES}")
    bits = _Bits(data)
    turn = bits.take(1)
    board = [0] * SQUARES
    for colour in range(2):
        king = bits.take(7)
        if king >= SQUARES or board[king]:
            raise PackedError(f"a king on square {king}")
        board[king] = colour << 4 | KING
    for sq in range(SQUARES):
        if board[sq]:
            continue
        kind = bits.kind(_KINDS)
        if kind:
            promoted = PROMOTED if kind != GOLD and bits.take(1) else 0
            board[sq] = bits.take(1) << 4 | promoted | kind
    hands = [[0] * 8, [0] * 8]
    while bits.left:
        kind = bits.kind(_HAND_KINDS)
        if kind != GOLD and bits.take(1):
            raise PackedError("a piece is missing from the set")
        hands[bits.take(1)][kind] += 1
    return Setup(tuple(board), (tuple(hands[0]), tuple(hands[1])), turn, move_number)


def unpacked_position(data: bytes, move_number: int = 1) -> Position:
    """`unpack`, with the rules looked at. Raises PackedError."""
    try:
        return Position.from_sfen(write(unpack(data, move_number)))
    except SfenError as error:
        raise PackedError(str(error)) from error
