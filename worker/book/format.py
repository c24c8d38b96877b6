"""The lines of a YaneuraOu book (``#YANEURAOU-DB2016 1.00``), and positions and moves rotated by 180°.

A book is lines of text, LF or CRLF. ``sfen BOARD SIDE HANDS [PLY]`` opens a position; each line below it is a
candidate, ``MOVE [PONDER [VALUE [DEPTH [COUNT]]]]``, with ``none`` for unknown fields. Lines that begin with ``#`` or
``//`` are comments; anything after the count (wins, draws, a remark) is ignored. A value is in centipawns from the side
to move.

Source: ``BookMove::from_string`` and ``MemoryBook::read_book`` of YaneuraOu's ``source/book/book.cpp``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

POSITION_MARK: Final = b"sfen "
NO_MOVES: Final = ("none", "resign")

_POSITION: Final = re.compile(
    rb"sfen +([1-9a-zA-Z+]+(?:/[1-9a-zA-Z+]+){8}) +([bw]) +(-|[0-9a-zA-Z]+)(?: +(\d{1,6}))?\s*"
)
_NUMBER: Final = rb"(-?\d{1,9}|none)"
_MOVE_WORD: Final = rb"([1-9][a-i][1-9][a-i]\+?|[PLNSBRG]\*[1-9][a-i]|none|resign)"
_MOVE: Final = re.compile(
    _MOVE_WORD + rb"(?:\s+" + _MOVE_WORD + rb"(?:\s+" + _NUMBER + rb"(?:\s+" + _NUMBER + rb"(?:\s+"
    rb"(\d{1,18}|none)(?:\s.*)?)?)?)?)?(?:\s+(?:#|//).*)?\s*",
    re.DOTALL,
)
_BOARD_ITEM: Final = re.compile(r"\+?[a-zA-Z]|[1-9/]")
_HAND_ITEM: Final = re.compile(r"\d*[a-zA-Z]")
_TURNED: Final = str.maketrans("123456789abcdefghi", "987654321ihgfedcba")


class BookError(ValueError):
    """A book cannot be read. The text names the file, the place in it, and the expected content."""


@dataclass(frozen=True, slots=True)
class BookMove:
    """A candidate of a position; missing fields have YaneuraOu's defaults."""

    move: str
    """The move in USI."""
    ponder: str | None = None
    value: int = 0
    """Centipawns, from the side to move."""
    depth: int = 0
    count: int = 1
    """The number of games of the book's source in which it was played."""


def is_comment(line: bytes) -> bool:
    """Whether a line is blank or a comment."""
    text = line.lstrip()
    return not text or text.startswith((b"#", b"//"))


def parse_position(line: bytes) -> tuple[bytes, int | None]:
    """A ``sfen`` line: the key (board, side and hands, as written) and the ply, None if it has none.

    Raises:
        BookError: the line is not an ``sfen`` line.
    """
    match = _POSITION.fullmatch(line)
    if match is None:
        raise BookError(f"expected 'sfen BOARD SIDE HANDS PLY', found {shown(line)}")
    ply = match[4]
    return b" ".join(match.group(1, 2, 3)), None if ply is None else int(ply)


def is_move(line: bytes) -> bool:
    """Whether `parse_move` would accept the line; takes a third of its time."""
    return _MOVE.fullmatch(line) is not None


def parse_move(line: bytes) -> BookMove | None:
    """The candidate in a line, None if its move is ``none`` or ``resign``.

    Raises:
        BookError: the line is not a candidate.
    """
    match = _MOVE.fullmatch(line)
    if match is None:
        raise BookError(f"expected 'MOVE PONDER VALUE DEPTH COUNT', found {shown(line)}")
    move, ponder, *numbers = (None if word is None else word.decode() for word in match.groups())
    if move is None or move in NO_MOVES:
        return None
    value, depth, count = (
        default if word is None or word == "none" else int(word)
        for word, default in zip(numbers, (0, 0, 1), strict=True)
    )
    return BookMove(move, None if ponder in NO_MOVES else ponder, value, depth, count)


def shown(line: bytes) -> str:
    """The beginning of a line, for an error's text."""
    text = line.decode("utf-8", "replace").rstrip()
    return repr(text if len(text) <= 60 else text[:60] + "…")


def ranked(moves: list[BookMove]) -> list[BookMove]:
    """The candidates, the most played first, among equals the higher value first. A move that occurs twice counts once,
    merged by `_merged`."""
    merged: dict[str, BookMove] = {}
    for move in moves:
        earlier = merged.get(move.move)
        merged[move.move] = move if earlier is None else _merged(earlier, move)
    return sorted(merged.values(), key=lambda move: (-move.count, -move.value))


def _merged(earlier: BookMove, later: BookMove) -> BookMove:
    """Merge two lines of one move: the deeper one counts, among equals the later. If it lacks a ponder move, the
    other's is used. The counts are added."""
    held, other = (later, earlier) if later.depth >= earlier.depth else (earlier, later)
    return replace(held, ponder=held.ponder or other.ponder, count=held.count + other.count)


def split_sfen(sfen: str) -> tuple[str, int]:
    """A position's key and its ply; 0: it has none."""
    board, side, hands, *ply = sfen.split()
    return f"{board} {side} {hands}", int(ply[0]) if ply else 0


def join_sfen(key: str, ply: int) -> str:
    """The opposite of `split_sfen`."""
    return f"{key} {ply}" if ply else key


def flip_key(key: str) -> str:
    """The key of the position rotated by 180°, with the colours swapped."""
    board, side, hands = key.split()
    turned = "".join(reversed(_BOARD_ITEM.findall(board))).swapcase()
    held = _HAND_ITEM.findall(hands)
    swapped = [item for item in held if item[-1].islower()] + [item for item in held if item[-1].isupper()]
    return f"{turned} {'w' if side == 'b' else 'b'} {''.join(swapped).swapcase() or '-'}"


def flip_move(move: str) -> str:
    """The same move on the rotated board."""
    piece, drop, target = move.rpartition("*")
    return piece + drop + target.translate(_TURNED)


def flip_entry(entry: BookMove) -> BookMove:
    """The same candidate of the rotated position."""
    return replace(entry, move=flip_move(entry.move), ponder=flip_move(entry.ponder) if entry.ponder else None)
