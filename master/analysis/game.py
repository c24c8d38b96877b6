"""Game records as plain values: CSA (V2, V3, several games in a file), KIF, KI2 and JKF, in UTF-8 or Shift_JIS.

rsshogi reads the formats. It passes over what it does not understand, so the moves it found are counted against those
that the text has: a record with a move in its midst that cannot be read is refused, with its line. One that breaks off
within its last line, or has no ending, is read as far as it goes, and says so.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from rsshogi.record import Record

from worker.files import reason

_CSA_MOVE: Final = re.compile(r"[+-]\d")
_KIF_MOVE: Final = re.compile(r"\s*\d+\s+(?:[１-９1-9]|同)")
_KIF_BRANCH: Final = re.compile(r"\s*変化[：:]")
_KI2_MOVE: Final = re.compile(r"[▲△▽☗☖▼]")
_INDEX: Final = re.compile(r"index (\d+)")
_FORMATS: Final = {
    ".csa": "CSA",
    ".kif": "KIF",
    ".kifu": "KIF",
    ".ki2": "KI2",
    ".ki2u": "KI2",
    ".jkf": "JKF",
    ".json": "JKF",
}


class GameFileError(Exception):
    """A record cannot be used; the text names the file, the line where there is one, and why."""


@dataclass(frozen=True, slots=True)
class PlayedMove:
    """A move of the record."""

    usi: str
    ms: int | None = None
    """The time it took; None: the record does not say."""
    own_score: int | None = None
    """Score that the player gave, where the record has it: centipawns, black's view."""


@dataclass(frozen=True, slots=True)
class Game:
    """A game to analyse."""

    file: str
    number: int
    """Number of the game in the file, from 1; 0 where it holds one."""
    names: tuple[str, str]
    """Black, white; ``black`` and ``white`` where the record has none."""
    start_sfen: str
    moves: tuple[PlayedMove, ...]
    event: str = ""
    date: str = ""
    ending: str = ""
    """The ending in rsshogi's word (``RESIGN``, ``TIME_UP`` …); empty: the record does not say."""
    winner: int | None = None
    """A colour; None for a draw, and where there is no result."""
    notice: str = ""
    """A notice for the user: that the record breaks off, and where; empty: it is whole."""
    record: Any = field(default=None, compare=False, repr=False)
    """The `rsshogi.record.Record`, for the writers of annotated records."""

    @property
    def key(self) -> str:
        """Start position and moves, hashed: what is known of one file serves another of the same game."""
        text = " ".join((self.start_sfen, *(move.usi for move in self.moves)))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def source(self) -> str:
        """The file; ``file#2`` for the second game of it."""
        return self.file + (f"#{self.number}" if self.number else "")

    @property
    def stem(self) -> str:
        """A name for files about it."""
        return Path(self.file).stem + (f"-{self.number}" if self.number else "")


def read_games(path: Path) -> list[Game]:
    """The games of a file, at least one.

    Raises:
        GameFileError: it cannot be read, is no record, has no move, or one that is not legal.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise GameFileError(f"{path}: {reason(error)}") from error
    return parse_games(data, str(path))


def parse_games(data: bytes, name: str) -> list[Game]:
    """As `read_games`, from the content of a file called ``name``. Pure.

    Raises:
        GameFileError: as there.
    """
    text = _decoded(data, name)
    kind = _FORMATS.get(Path(name).suffix.lower()) or _guess(text)
    lines = text.splitlines()
    cut = not text.endswith("\n")
    if kind != "CSA":
        return [_game(lines, 0, name, 0, kind, cut)]
    parts = list(_csa_parts(lines))
    if len(parts) == 1:
        return [_game(parts[0][1], 0, name, 0, kind, cut)]
    return [
        _game(part, first, name, number, kind, cut and number == len(parts))
        for number, (first, part) in enumerate(parts, start=1)
    ]


def _decoded(data: bytes, name: str) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise GameFileError(f"{name}: UTF-16; expected UTF-8 or Shift_JIS")
    for encoding in ("utf-8-sig", "cp932"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError as error:
            if error.end == len(data) and b"\n" in data[: error.start]:
                return data[: error.start].decode(encoding)  # cut within a character; `_game` says where
            fault = error
    line = data.count(b"\n", 0, fault.start) + 1
    raise GameFileError(f"{name}, line {line}: neither UTF-8 nor Shift_JIS")


def _guess(text: str) -> str:
    """The format of a file whose name does not tell."""
    if text.lstrip().startswith("{"):
        return "JKF"
    lines = text.splitlines()
    if any(_KIF_MOVE.match(line) for line in lines):
        return "KIF"
    return "KI2" if any(_KI2_MOVE.match(line) for line in lines) else "CSA"


def _csa_parts(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """The games of a CSA file, each with the number of lines before it; ``/`` stands between two."""
    first = 0
    for number in [*(n for n, line in enumerate(lines) if line.strip() == "/"), len(lines)]:
        part = lines[first:number]
        if first == 0 or any(line.strip() and not line.startswith("'") for line in part):
            yield first, part
        first = number + 1


def _csa_moves(lines: list[str]) -> Iterator[int]:
    for number, line in enumerate(lines):
        if line[:1] not in ("'", "N", "$", "V", "P"):
            yield from (number for part in line.split(",") if _CSA_MOVE.match(part))


def _kif_moves(lines: list[str]) -> Iterator[int]:
    for number, line in enumerate(lines):
        if _KIF_BRANCH.match(line):
            return
        if _KIF_MOVE.match(line):
            yield number


def _ki2_moves(lines: list[str]) -> Iterator[int]:
    for number, line in enumerate(lines):
        if _KIF_BRANCH.match(line):
            return
        if not line.startswith("*"):
            yield from (number for _ in _KI2_MOVE.finditer(line))


_READERS: Final[dict[str, tuple[Callable[[str], Any], Callable[[list[str]], Iterator[int]] | None]]] = {
    "CSA": (Record.from_csa_str, _csa_moves),
    "KIF": (Record.from_kif_str, _kif_moves),
    "KI2": (Record.from_ki2_str, _ki2_moves),
    "JKF": (Record.from_jkf_str, None),
}


class _Broken(Exception):
    """A line that cannot be read: its index, where it is known, and why."""

    def __init__(self, why: str, line: int | None) -> None:
        super().__init__(why)
        self.line = line


def _game(lines: list[str], first: int, name: str, number: int, kind: str, cut: bool) -> Game:
    """The game of these lines; where it breaks off within the last one, read up to there.

    Args:
        first: how many lines of the file stand before.
        cut: the last line has no end.
    """
    try:
        record = _record(lines, first, name, kind)
        notice = ""
    except _Broken as error:
        if not cut or error.line != len(lines) - 1:
            raise GameFileError(str(error)) from error
        try:
            record = _record(lines[:-1], first, name, kind)
        except _Broken:
            raise GameFileError(str(error)) from error
        if not record.moves:
            raise GameFileError(str(error)) from error
        place = f"{name}, line {first + len(lines)}"
        notice = f"{place}: the record breaks off there; the {len(record.moves)} moves before it are read"
    if not record.moves:
        raise GameFileError(f"{name}{f', game {number}' if number else ''}: no moves in it (read as {kind})")
    game = _plain(record, name, number, kind)
    if not notice and not game.ending and kind in ("CSA", "KIF"):
        notice = f"{game.source}: no ending behind move {len(game.moves)}: the record may be cut short"
    return replace(game, notice=notice)


def _record(lines: list[str], first: int, name: str, kind: str) -> Any:
    """rsshogi's record of all these lines.

    Raises:
        _Broken: one cannot be read, or holds a move that is not legal.
    """
    read, find_moves = _READERS[kind]
    places = None if find_moves is None else list(find_moves(lines))

    def broken(index: int, why: str) -> _Broken:
        line = places[index] if places is not None and index < len(places) else None
        place = f"move {index + 1}" if line is None else f"line {first + line + 1}"
        return _Broken(f"{name}, {place}: {why}", line)

    try:
        record = read("\n".join(lines) + "\n")
    except ValueError as error:
        found = _INDEX.search(str(error))
        if found is not None:
            raise broken(int(found[1]), f"move {int(found[1]) + 1} is not legal") from error
        quoted = str(error).rpartition(": ")[2]
        at = next((index for index, line in enumerate(lines) if quoted in line), None)
        where = "" if at is None else f", line {first + at + 1}"
        raise _Broken(f"{name}{where}: no {kind} record: {error}", at) from error
    count = len(record.moves)
    if places is not None and len(places) != count:
        raise broken(count, f"move {count + 1} cannot be read ({kind})")
    return record


def _plain(record: Any, file: str, number: int, kind: str) -> Game:
    metadata, result, terminal = record.metadata, record.result, record.main_terminal
    first = 1 if record.init_position_sfen.split()[1] == "w" else 0
    return Game(
        file=file,
        number=number,
        names=(metadata.black_player or "black", metadata.white_player or "white"),
        start_sfen=record.init_position_sfen,
        moves=tuple(
            PlayedMove(entry.move.to_usi(), entry.time_ms, _own_score(entry.engine_info, kind, (first + index) % 2))
            for index, entry in enumerate(record.moves)
        ),
        event=metadata.event or "",
        date=metadata.start_date or "",
        ending="" if terminal is None else str(terminal.kind),
        winner=0 if result.is_black_win() else 1 if result.is_white_win() else None,
        record=record,
    )


def _own_score(info: Any, kind: str, turn: int) -> int | None:
    """Black's view, as both formats have it: rsshogi turns white's scores round in KIF, and leaves them in CSA."""
    if info is None or info.eval is None:
        return None
    return -int(info.eval) if kind == "KIF" and turn == 1 else int(info.eval)
