"""Game records: CSA V3 with times, scores and PVs, and KIF beside it, written after every move: no crash loses a game.

How to use one::

    file = RecordFile(folder, GameRecord(game_id, names, start_sfen, time))
    path = file.take_name()                  # game.csa; game.kif stands beside it
    file.record.moves.append(RecordedMove("7g7f", 3000, score=55, pv=("-3334FU",)))
    file.write(file.record.text())           # replaces each file as a whole: a reader never sees half of one
    file.record.ending = Ending("RESIGN", winner=1)
    file.write(file.record.text())
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from rsshogi.record import (
    EngineInfo,
    GameResult,
    MoveEntry,
    Record,
    RecordMetadata,
    SpecialMoveEntry,
)
from rsshogi.record import TimeControl as RecordTime

from master.csa.position import BLACK, WHITE
from master.records.kif import Variations, kif_bytes
from worker.clock.timecontrol import TimeControl
from worker.files import reason, replace_file

_COMMENT: Final = re.compile(r"\* ?(-?[0-9]{1,9})((?: [+-][0-9]{4}[A-Z]{2})*) ?")
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.+@-]")


class RecordError(Exception):
    """A record cannot be written; the text names the file and why."""


@dataclass(frozen=True, slots=True)
class RecordedMove:
    usi: str
    consumed_ms: int
    score: int | None = None
    """Centipawns, black's view."""
    pv: tuple[str, ...] = ()
    """CSA moves from the opponent's reply on."""
    nodes: int | None = None
    comment: str = ""
    """Free text, where there is more to say than score and PV."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a game: a word of `master.csa.events.REASONS`, or the cause of an early end in words of our own."""

    reason: str
    winner: int | None = None
    """A colour; None for a draw, and where there is no result."""
    comment: str = ""


@dataclass(slots=True)
class GameRecord:
    """A game as far as it has come."""

    game_id: str
    names: tuple[str, str]
    start_sfen: str
    time: tuple[TimeControl, TimeControl]
    max_moves: int | None = None
    started: datetime | None = None
    ended: datetime | None = None
    moves: list[RecordedMove] = field(default_factory=list)
    ending: Ending | None = None
    """None while the game goes on."""
    _variations: Variations | None = field(default=None, repr=False, compare=False)

    def snapshot(self) -> GameRecord:
        """The record as it is now, for another thread; its moves are copied. One thread at a time may write these."""
        if self._variations is None:
            self._variations = Variations(self.start_sfen)  # all share it: each puts the latest moves into words
        return replace(self, moves=[*self.moves])

    def text(self) -> RecordText:
        """The record in both formats.

        Raises:
            RecordError: it holds an illegal move, or a number that no record can hold.
        """
        try:
            return RecordText(self.to_csa(), self.to_kif())
        except (ValueError, OverflowError) as error:
            raise RecordError(f"the record of {self.game_id} cannot be written: {error}") from error

    def to_csa(self) -> str:
        """The record as CSA V3.

        Raises:
            ValueError: a move is not legal where it stands.
        """
        entries = [_entry(move) for move in self.moves]
        record = Record(self.start_sfen, entries, self._metadata(), None)
        return self._ended(record, lambda: str(record.to_csa(version="3.0")))

    def to_kif(self) -> str:
        """The record as KIF, to be written by `master.records.kif.kif_bytes`. Scores are from black's view, as in CSA.

        Raises:
            ValueError: a move is not legal where it stands.
        """
        if self._variations is None:
            self._variations = Variations(self.start_sfen)
        comments = self._variations.texts([(move.usi, move.pv) for move in self.moves])
        if self.ending is not None and comments and (_is_to_be_told(self.ending) or _result(self.ending) is None):
            # KIF has no comment on an ending: what is to be said of it is said of the last move.
            comments[-1] = "\n".join(filter(None, (comments[-1], _say(self.ending))))
        # rsshogi takes a score for the mover's and turns white's round in KIF, where it is to be black's.
        first = self.start_sfen.split()[1] == "w"
        entries = [
            _entry(move if (first + ply) % 2 == BLACK else _turned(move), comment)
            for ply, (move, comment) in enumerate(zip(self.moves, comments, strict=True))
        ]
        record = Record(self.start_sfen, entries, self._metadata(), None)
        return self._ended(record, lambda: str(record.to_kif()))

    def _ended(self, record: Record, write: Callable[[], str]) -> str:
        """Set the ending and write."""
        if self.ending is not None:
            record.main_terminal = self._terminal(self.ending)
            try:
                return write()
            except ValueError:
                # Only the side to move can resign, lose on time and so on; anything else is told in a comment.
                record.main_terminal = _out_of_turn(self.ending)
        return write()

    def _metadata(self) -> RecordMetadata:
        common = self.time[BLACK] == self.time[WHITE]
        black, white = (_record_time(control) for control in self.time)
        return RecordMetadata(
            event=self.game_id or None,
            black_player=self.names[BLACK] or None,
            white_player=self.names[WHITE] or None,
            time_control=black if common else None,
            black_time_control=None if common else black,
            white_time_control=None if common else white,
            max_moves=self.max_moves,
            start_date=_date(self.started),
            end_date=_date(self.ended),
        )

    def _terminal(self, ending: Ending) -> SpecialMoveEntry:
        result = _result(ending)
        if result is None:
            return _interrupted(ending)
        return SpecialMoveEntry.from_result(result, comment=_say(ending) if _is_to_be_told(ending) else None)


@dataclass(frozen=True, slots=True)
class RecordText:
    """A record as it is at a moment, in both formats."""

    csa: str
    kif: str


class RecordFile:
    """A record and the files that it is kept in: ``NAME.csa`` and ``NAME.kif``."""

    def __init__(self, folder: Path, record: GameRecord) -> None:
        self.record = record
        self.path: Path | None = None
        """Path of the CSA file. Known once the name is taken."""
        self._folder = folder

    def take_name(self) -> Path:
        """Make the folder and an empty file of a name of its own: nobody else's record is overwritten.

        Raises:
            RecordError: the folder or the file cannot be made.
        """
        if self.path is None:
            stem = _UNSAFE.sub("_", self.record.game_id) or "game"
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                self.path = _take_name(self._folder, stem[:150])
            except OSError as error:
                raise RecordError(f"no record can be written to {self._folder}: {reason(error)}") from error
        return self.path

    def write(self, text: RecordText) -> None:
        """Replace each file's content as a whole; may be called from any one thread at a time.

        Raises:
            RecordError: the disk refuses. The file that it refuses is then as it was.
        """
        path = self.take_name()
        _replace(path, text.csa.encode())
        _replace(path.with_suffix(".kif"), kif_bytes(text.kif))


def _replace(path: Path, content: bytes) -> None:
    try:
        replace_file(path, content, to_disk=True)
    except OSError as error:
        raise RecordError(f"{path} cannot be written: {reason(error)}") from error


def parse_comment(comment: str) -> tuple[int | None, tuple[str, ...]]:
    """Score (black's view) and PV of a move's comment ``'* 123 -3334FU``, the apostrophe left out.

    A comment of another form has neither: ``(None, ())``.
    """
    match = _COMMENT.fullmatch(comment)
    if match is None:
        return None, ()
    return int(match[1]), tuple(match[2].split())


_Results = tuple[GameResult | None, GameResult | None, GameResult | None]

_WINS: Final[_Results] = (GameResult.BLACK_WIN, GameResult.WHITE_WIN, None)
_FOUL_WINS: Final[_Results] = (GameResult.BLACK_WIN_BY_ILLEGAL_MOVE, GameResult.WHITE_WIN_BY_ILLEGAL_MOVE, None)
_RESULTS: Final[dict[str, _Results]] = {
    # By the winner: black, white, nobody.
    "RESIGN": _WINS,
    "TIME_UP": (GameResult.BLACK_WIN_BY_TIMEOUT, GameResult.WHITE_WIN_BY_TIMEOUT, None),
    "ILLEGAL_MOVE": _FOUL_WINS,
    "ILLEGAL_ACTION": _FOUL_WINS,
    "OUTE_SENNICHITE": _FOUL_WINS,
    "JISHOGI": (
        GameResult.BLACK_WIN_BY_DECLARATION,
        GameResult.WHITE_WIN_BY_DECLARATION,
        GameResult.DRAW_BY_IMPASSE,
    ),
    "SENNICHITE": (None, None, GameResult.DRAW_BY_REPETITION),
    "MAX_MOVES": (GameResult.BLACK_WIN, GameResult.WHITE_WIN, GameResult.DRAW_BY_MAX_PLIES),
}


def _result(ending: Ending) -> GameResult | None:
    """None where the formats have no word for it."""
    return _RESULTS.get(ending.reason, (None, None, None))[2 if ending.winner is None else ending.winner]


def _interrupted(ending: Ending) -> SpecialMoveEntry:
    return SpecialMoveEntry.from_result(GameResult.PAUSED, comment=_say(ending))


def _out_of_turn(ending: Ending) -> SpecialMoveEntry:
    """The ending where a side leaves on the opponent's turn: it resigns as soon as it is to move; by then it has lost
    anyway."""
    result = None if ending.reason != "RESIGN" or ending.winner is None else _FOUL_WINS[ending.winner]
    return _interrupted(ending) if result is None else SpecialMoveEntry.from_result(result, comment=_say(ending))


def _is_to_be_told(ending: Ending) -> bool:
    """Whether the formats' own word says too little: for a perpetual check they have that of an illegal move."""
    won_at_the_limit = ending.reason == "MAX_MOVES" and ending.winner is not None
    return bool(ending.comment) or won_at_the_limit or ending.reason in ("OUTE_SENNICHITE", "ILLEGAL_ACTION")


def _say(ending: Ending) -> str:
    result = "" if ending.winner is None else f", {('black', 'white')[ending.winner]} wins"
    return f"{ending.reason}{result}" + (f": {ending.comment}" if ending.comment else "")


def _entry(move: RecordedMove, comment: str = "") -> MoveEntry:
    """``comment``: besides the move's own."""
    info = None
    if move.score is not None:
        extras: dict[str, Any] = {"csa_pv": " ".join(move.pv)} if move.pv else {}
        info = EngineInfo(eval=move.score, nodes=move.nodes, extras=extras)
    comment = "\n".join(filter(None, (comment, move.comment)))
    return MoveEntry(move.usi, time_ms=move.consumed_ms, comment=comment or None, engine_info=info)


def _turned(move: RecordedMove) -> RecordedMove:
    return replace(move, score=None if move.score is None else -move.score)


def _record_time(control: TimeControl) -> RecordTime:
    """``$TIME`` counts in whole seconds."""
    return RecordTime(control.total_ms // 1000, control.byoyomi_ms // 1000, control.increment_ms // 1000)


def _date(moment: datetime | None) -> str | None:
    return None if moment is None else moment.strftime("%Y/%m/%d %H:%M:%S")


def _take_name(folder: Path, stem: str) -> Path:
    for number in range(1, 1000):
        path = folder / (f"{stem}.csa" if number == 1 else f"{stem}.{number}.csa")
        if path.with_suffix(".kif").exists():
            continue
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            continue
        return path
    raise FileExistsError(17, f"a thousand records are named {stem}")
