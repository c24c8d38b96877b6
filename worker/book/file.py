"""A book file: the same search over its bytes, in memory or on the disk."""

from __future__ import annotations

import io
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from worker.book.format import (
    POSITION_MARK,
    BookError,
    BookMove,
    is_comment,
    is_move,
    parse_move,
    parse_position,
    ranked,
    split_sfen,
)
from worker.files import reason

_NEXT_POSITION: Final = b"\n" + POSITION_MARK
_BOM: Final = b"\xef\xbb\xbf"
_CHECK_WHOLE: Final = 16 << 20
"""Files up to this many bytes are read completely when opened, even if they stay on the disk."""
_SAMPLES: Final = 256


class Book:
    """A book that is sorted by position: byte order of board, side and hands, as YaneuraOu writes it.

    Args:
        path: the file.
        on_the_fly: leave it on the disk, mapped into memory: then a book of many GB opens at once. It has to be sorted.
            If False, it is read into memory, checked line by line, and sorted if necessary.

    Raises:
        BookError: the file cannot be read; a line is neither position nor move nor comment; or the file is not sorted
            and would stay on the disk. If it stays on the disk and is larger than 16 MB, only 256 places are checked:
            `find` reports other damage when it reads it.
    """

    def __init__(self, path: Path, on_the_fly: bool = False) -> None:
        self._name = str(path)
        try:
            with path.open("rb") as file:
                if on_the_fly and path.stat().st_size:
                    self._data: bytes | mmap.mmap = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                else:
                    self._data = file.read()
        except (OSError, ValueError, MemoryError) as error:
            raise BookError(f"book {self._name}: {reason(error)}") from error
        self._start = len(_BOM) if self._data[:3] == _BOM else 0
        if not on_the_fly or len(self._data) <= _CHECK_WHOLE:
            unsorted = self._check()
            if unsorted and on_the_fly:
                raise self._error(unsorted, "positions are not sorted; BookOnTheFly needs a sorted book")
            if unsorted:
                self._data = self._sorted()
                self._start = 0
        else:
            self._sample()

    def find(self, sfen: str, any_ply: bool = False) -> list[BookMove]:
        """The candidates of a position, the most played first; empty if the book does not have it.

        Args:
            sfen: the position, with its move number.
            any_ply: accept entries of another ply too (``IgnoreBookPly``). Entries without a ply always count.

        Raises:
            BookError: a line that was read is damaged.
        """
        text, ply = split_sfen(sfen)
        key = text.encode()
        moves: list[BookMove] = []
        at = self._first(key)
        while at is not None:
            found, its_ply = self._position(at)
            if found != key:
                break
            if any_ply or its_ply in (None, ply):
                moves += self._moves(at)
            at = self._position_from(self._line_end(at))
        return ranked(moves)

    def _first(self, key: bytes) -> int | None:
        """The offset of the first position with this key or a greater one, by bisection over the bytes; None: none."""
        low, high = self._start, len(self._data)
        while low < high:
            middle = (low + high) // 2
            at = self._position_from(middle)
            if at is None or at >= high or self._position(at)[0] >= key:
                high = middle
            else:
                low = self._line_end(at)
        return self._position_from(low)

    def _position_from(self, at: int) -> int | None:
        """The offset of the first ``sfen`` line that starts at ``at`` or later; None: there is none."""
        if at <= self._start and self._data[self._start : self._start + len(POSITION_MARK)] == POSITION_MARK:
            return self._start
        found = self._data.find(_NEXT_POSITION, max(at - 1, 0))
        return None if found < 0 else found + 1

    def _line_end(self, at: int) -> int:
        """The offset of the line that follows the one at ``at``."""
        end = self._data.find(b"\n", at)
        return len(self._data) if end < 0 else end + 1

    def _position(self, at: int) -> tuple[bytes, int | None]:
        try:
            return parse_position(self._data[at : self._line_end(at)])
        except BookError as error:
            raise self._error(at, str(error)) from None

    def _moves(self, at: int) -> Iterator[BookMove]:
        """The candidates below the ``sfen`` line at ``at``."""
        at = self._line_end(at)
        while at < len(self._data) and self._data[at : at + len(POSITION_MARK)] != POSITION_MARK:
            end = self._line_end(at)
            line = self._data[at:end]
            if not is_comment(line):
                try:
                    move = parse_move(line)
                except BookError as error:
                    raise self._error(at, str(error)) from None
                if move is not None:
                    yield move
            at = end

    def _check(self) -> int:
        """Read every line. Returns the offset of the first position that is out of order; 0: there is none."""
        before, unsorted, at = b"", 0, self._start
        lines = io.BytesIO(self._data[self._start :])
        for number, line in enumerate(lines, start=1):
            try:
                if line.startswith(POSITION_MARK):
                    key, _ = parse_position(line)
                    if key < before and not unsorted:
                        unsorted = at
                    before = key
                elif not is_move(line):
                    if not is_comment(line):
                        parse_move(line)
                elif not before:
                    raise BookError("a move before the first 'sfen' line")
            except BookError as error:
                raise self._error(at, str(error), number) from None
            at += len(line)
        return unsorted

    def _sample(self) -> None:
        """Check positions all over the file, and the moves of the last one."""
        before = b""
        for sample in range(_SAMPLES):
            at = self._position_from(self._start + (len(self._data) - self._start) * sample // _SAMPLES)
            if at is None:
                break
            key, _ = self._position(at)
            if key < before:
                raise self._error(at, "positions are not sorted; BookOnTheFly needs a sorted book")
            before = key
        if not before:
            raise self._error(self._start, "no 'sfen' line")
        last = self._data.rfind(_NEXT_POSITION) + 1
        self._position(last)
        list(self._moves(last))

    def _sorted(self) -> bytes:
        """The book with its positions in order; equal ones keep their order."""
        starts = []
        at = self._position_from(self._start)
        while at is not None:
            starts.append(at)
            at = self._position_from(self._line_end(at))
        ends = [*starts[1:], len(self._data)]
        entries = [self._data[start:end].rstrip() + b"\n" for start, end in zip(starts, ends, strict=True)]
        keys = [self._position(start)[0] for start in starts]
        return b"".join(entries[number] for number in sorted(range(len(keys)), key=keys.__getitem__))

    def _error(self, at: int, what: str, line: int | None = None) -> BookError:
        place = f"byte {at}" if line is None else f"line {line} (byte {at})"
        return BookError(f"book {self._name}: {place}: {what}")
