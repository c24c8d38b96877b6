"""YaneuraOu DB files, position by position: read without holding one in memory, and written as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Final, NamedTuple

from worker.book import BookError, BookMove
from worker.book.format import POSITION_MARK, is_comment, join_sfen, parse_move, parse_position, ranked, split_sfen
from worker.files import reason, replacing

_SQLITE: Final = b"SQLite format 3\0"
HEADER: Final = "#YANEURAOU-DB2016 1.00\n"


class WrittenMove(NamedTuple):
    """A candidate's line, and a remark after it that engines skip."""

    entry: BookMove
    remark: str = ""


def is_sqlite(path: Path) -> bool:
    """Whether a file is a book that learns (`master.book.learned`), by its content. Raises OSError."""
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except FileNotFoundError:
        return False


def check_target(path: Path) -> None:
    """Raises BookError: a book that learns would be overwritten by a book file."""
    try:
        if is_sqlite(path):
            raise BookError(f"book {path}: a book that learns is there, and would be lost: choose another name")
    except OSError as error:
        raise BookError(f"book {path}: {reason(error)}") from error


def read_positions(path: Path) -> Iterator[tuple[str, list[BookMove]]]:
    """The positions of a file in its order, each an SFEN, without a ply if the file has none. Raises BookError: the
    file cannot be read, or a line is damaged; the text names it."""
    sfen: str | None = None
    moves: list[BookMove] = []
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                    if line.startswith(POSITION_MARK):
                        if sfen is not None:
                            yield sfen, ranked(moves)
                        key, ply = parse_position(line)
                        sfen, moves = join_sfen(key.decode(), ply or 0), []
                    elif not is_comment(line):
                        move = parse_move(line)
                        if sfen is None:
                            raise BookError("a move before the first 'sfen' line")
                        if move is not None:
                            moves.append(move)
                except BookError as error:
                    raise BookError(f"book {path}: line {number}: {error}") from None
    except OSError as error:
        raise BookError(f"book {path}: {reason(error)}") from error
    if sfen is not None:
        yield sfen, ranked(moves)


def write_positions(path: Path, positions: Iterable[tuple[str, list[WrittenMove]]]) -> int:
    """Write a book file, which replaces an older one once it is complete. Returns the number of positions.

    Args:
        positions: in byte order of board, side and hands, which engines need for their search; each an SFEN, with or
            without a ply.

    Raises:
        BookError: writing to disk failed, or a book that learns has this name; the older file is unchanged.
        ValueError: the positions are not in order.
    """
    try:
        check_target(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            return _write(file, positions)
    except OSError as error:
        raise BookError(f"book {path}: {reason(error)}") from error


def _write(file: IO[bytes], positions: Iterable[tuple[str, list[WrittenMove]]]) -> int:
    file.write(HEADER.encode())
    before, count = "", 0
    for sfen, moves in positions:
        key, _ = split_sfen(sfen)
        if key <= before:
            raise ValueError(f"positions are not in order: {key!r} after {before!r}")
        before = key
        count += 1
        file.write(f"sfen {sfen}\n".encode("ascii"))
        for entry, remark in moves:
            line = f"{entry.move} {entry.ponder or 'none'} {entry.value} {entry.depth} {entry.count}"
            file.write((f"{line} # {remark}\n" if remark else f"{line}\n").encode("ascii"))
    return count
