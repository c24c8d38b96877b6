"""Game records as plain values: CSA (V1 to V3, several games in a file), KIF, KI2 and JKF.

A record with an unreadable move in the middle is refused, and the error names the line. A record that breaks off within
its last line, ends with an illegal move, or has no ending, is read up to there, with a notice.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from master.records.read_csa import csa_parts, read_csa
from master.records.read_jkf import read_jkf
from master.records.read_kif import read_ki2, read_kif
from master.records.reading import Reading, ReadMove, RecordFault, decoded, text_lines
from worker.files import reason

_KIF_MOVE: Final = re.compile(r"\s*[0-9]+\s+(?:[１-９1-9][一二三四五六七八九1-9１-９]|同)")
_KIF_HEAD: Final = re.compile(r"手合割[：:]|手数-+指手|[先後上下]手の持駒[：:]")
_KI2_MOVE: Final = re.compile(r"[▲△▽☗☖▼]")
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
    """A record cannot be used. The text names the file, the line if there is one, and the reason."""


@dataclass(frozen=True, slots=True)
class RecordedGame:
    file: str
    number: int
    """Number of the game in the file, from 1; 0 if the file holds only one."""
    names: tuple[str, str]
    """Black, white; ``black`` and ``white`` if the record does not name them."""
    start_sfen: str
    moves: tuple[ReadMove, ...]
    event: str = ""
    date: str = ""
    ending: str = ""
    """The ending in rsshogi's word (``RESIGN``, ``TIME_UP`` …); empty: the record does not say."""
    winner: int | None = None
    """A colour; None for a draw, and if there is no result."""
    notice: str = ""
    """A notice for the user that the record breaks off, with the place, or that parts were left out; empty:
    complete."""
    reading: Reading | None = field(default=None, compare=False, repr=False)
    """The complete content of the record, for the writers of annotated records."""

    @property
    def key(self) -> str:
        """Hash of start position and moves: two files of the same game share their stored results."""
        text = " ".join((self.start_sfen, *(move.usi for move in self.moves)))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def source(self) -> str:
        """The file; ``file#2`` for the second game of it."""
        return self.file + (f"#{self.number}" if self.number else "")

    @property
    def stem(self) -> str:
        """A name for files about the game."""
        return Path(self.file).stem + (f"-{self.number}" if self.number else "")


Refuse = Callable[[GameFileError], None]


def read_games(path: Path, refuse: Refuse | None = None) -> list[RecordedGame]:
    """The games of a file, at least one.

    Args:
        refuse: callback for each unusable game of several; the others are read. None: the first one raises.

    Raises:
        GameFileError: the file cannot be read, or a game is no record, has no move, or has an illegal one.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise GameFileError(f"{path}: {reason(error)}") from error
    return parse_games(data, str(path), refuse)


def parse_games(data: bytes, name: str, refuse: Refuse | None = None) -> list[RecordedGame]:
    """As `read_games`, from the content of a file called ``name``. Pure.

    Raises:
        GameFileError: as there.
    """
    try:
        text = decoded(data)
    except RecordFault as error:
        raise _told(error, name, 0) from error
    kind = _FORMATS.get(Path(name).suffix.lower()) or _guess(text)
    lines = text_lines(text)
    cut = not text.endswith(("\n", "\r"))
    parts = list(csa_parts(lines)) if kind == "CSA" else [(0, lines)]
    if len(parts) == 1:
        return [_game(parts[0][1], 0, name, 0, kind, cut)]
    games: list[RecordedGame] = []
    fault: GameFileError | None = None
    for number, (first, part) in enumerate(parts, start=1):
        try:
            games.append(_game(part, first, name, number, kind, cut and number == len(parts)))
        except GameFileError as error:
            if refuse is None:
                raise
            fault = error
            refuse(error)
    if not games and fault is not None:
        raise GameFileError(f"{name}: none of its {len(parts)} games can be used") from fault
    return games


def _guess(text: str) -> str:
    """The format of a file whose name does not show it."""
    if text.lstrip().startswith("{"):
        return "JKF"
    lines = text_lines(text)
    if any(_KIF_MOVE.match(line) for line in lines):
        return "KIF"
    if any(_KI2_MOVE.match(line) for line in lines):
        return "KI2"
    return "KIF" if any(_KIF_HEAD.match(line) for line in lines) else "CSA"


_READERS: Final[dict[str, Callable[[Sequence[str]], Reading]]] = {
    "CSA": read_csa,
    "KIF": read_kif,
    "KI2": read_ki2,
    "JKF": read_jkf,
}


def _told(error: RecordFault, name: str, first: int) -> GameFileError:
    where = "" if error.line is None else f", line {first + error.line + 1}"
    return GameFileError(f"{name}{where}: {error}")


def _game(lines: list[str], first: int, name: str, number: int, kind: str, cut: bool) -> RecordedGame:
    """The game of these lines; if it breaks off within the last one, up to there.

    Args:
        first: number of lines of the file before them.
        cut: the last line is incomplete.
    """
    read = _READERS[kind]
    notices: list[str] = []
    try:
        reading = read(lines)
    except RecordFault as error:
        if not cut or error.line != len(lines) - 1:
            raise _told(error, name, first) from error
        try:
            reading = read(lines[:-1])
        except RecordFault:
            raise _told(error, name, first) from error
        if not reading.moves:
            raise _told(error, name, first) from error
        place = f"{name}, line {first + len(lines)}"
        notices = [f"{place}: the record breaks off there; the {len(reading.moves)} moves before it are read"]
    game = _plain(reading, name, number)
    if not game.moves:
        raise GameFileError(f"{name}{f', game {number}' if number else ''}: no moves in it (read as {kind})")
    if reading.notices:
        notices += [f"{game.source}: {notice}" for notice in reading.notices]
    elif not notices and not game.ending and kind in ("CSA", "KIF"):
        notices.append(f"{game.source}: no ending after move {len(game.moves)}: the record may be cut short")
    return replace(game, notice="\n".join(notices))


def _plain(reading: Reading, file: str, number: int) -> RecordedGame:
    end = reading.end
    return RecordedGame(
        file=file,
        number=number,
        names=(reading.names[0] or "black", reading.names[1] or "white"),
        start_sfen=reading.start_sfen,
        moves=tuple(reading.moves),
        event=reading.facts.get("event", ""),
        date=reading.facts.get("start_date", ""),
        ending="" if end is None else end.kind,
        winner=None if end is None else end.winner,
        reading=reading,
    )
