"""Game records: CSA V3 with times, scores and PVs, plus KIF, written after every move, so that no crash loses a game.

Usage::

    file = RecordFile(folder, GameRecord(game_id, names, start_sfen, time))
    path = file.take_name()                  # game.csa; game.kif stands beside it
    file.record.moves.append(RecordedMove("7g7f", 3000, score=55, pv=("-3334FU",)))
    file.write(file.record.text())           # replaces each file as a whole: a reader never sees half of one
    file.record.ending = Ending("RESIGN", winner=1)
    file.write(file.record.text())
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from master.csa import SIGNS
from master.csa.position import csa_from_sfen
from master.records.lines import (
    MoveLines,
    RecordedMove,
    csa_time,
    is_handicap,
    kif_bytes,
    numbered,
    start_lines,
    time_words,
)
from worker.clock.timecontrol import TimeControl
from worker.files import reason, replace_file
from worker.shogi import STARTPOS


@dataclass(frozen=True, slots=True)
class EndWords:
    csa: str
    """``%TORYO``"""
    kif: str
    """``投了``"""
    kif_summary: str
    """``先手の勝ち``: the words after ``まで57手で``."""
    exact: bool
    """Both formats' words fully describe the end; otherwise a comment must."""


_LOST: Final = {
    "RESIGN": ("%TORYO", "投了", "{winner}の勝ち"),
    "TIME_UP": ("%TIME_UP", "切れ負け", "時間切れにより{winner}の勝ち"),
    "ILLEGAL_MOVE": ("%ILLEGAL_MOVE", "反則負け", "{loser}の反則負け"),
    "MATE": ("%TSUMI", "詰み", "詰み"),
    "DEFAULT": ("%TORYO", "不戦敗", "{winner}の勝ち"),
}
"""The side to move has lost."""
_LIKE: Final = {
    "ILLEGAL_ACTION": "ILLEGAL_MOVE",
    "OUTE_SENNICHITE": "ILLEGAL_MOVE",
    "JISHOGI": "RESIGN",
    "MAX_MOVES": "RESIGN",  # mated by the last move before the limit
    "CRASH": "RESIGN",
}
"""Losses for which neither format has a word, and the nearest word that both have."""
_DRAWN: Final = {
    "SENNICHITE": ("%SENNICHITE", "千日手", True),
    "JISHOGI": ("%JISHOGI", "持将棋", True),
    "IMPASSE": ("%JISHOGI", "持将棋", True),
    "DRAW": ("%HIKIWAKE", "持将棋", True),
    "MAX_MOVES": ("%MAX_MOVES", "持将棋", False),
    "NO_MATE": ("%FUZUMI", "不詰", True),
    "CHUDAN": ("%CHUDAN", "中断", True),
}
"""Nobody has won."""

FROM_RSSHOGI: Final = {
    "TIMEOUT": "TIME_UP",
    "WIN_BY_ILLEGAL_MOVE": "ILLEGAL_MOVE",
    "LOSE_BY_ILLEGAL_MOVE": "ILLEGAL_MOVE",
    "WIN_BY_DECLARATION": "JISHOGI",
    "REPETITION_DRAW": "SENNICHITE",
    "INTERRUPT": "CHUDAN",
    "WIN_BY_DEFAULT": "DEFAULT",
    "LOSE_BY_DEFAULT": "DEFAULT",
}
"""rsshogi's kinds of ends in our words; those that are missing have the same name."""


def end_words(reason: str, winner: int | None, turn: int, sides: tuple[str, str] = ("先手", "後手")) -> EndWords:
    """The words for any end.

    Args:
        reason: a word of `master.csa.events.REASONS`, of the tables here, or any other: an interrupted game.
        winner: a colour; None for a draw, and if there is no result.
        turn: the side to move.
        sides: names of the sides in KIF.
    """
    if winner is None:
        csa, kif, exact = _DRAWN.get(reason, ("%CHUDAN", "中断", False))
        return EndWords(csa, kif, kif, exact)
    if reason not in _LOST and reason not in _LIKE:
        return EndWords("%CHUDAN", "中断", "中断", exact=False)
    loser = 1 - winner
    if reason == "JISHOGI" and winner == turn:
        return EndWords("%KACHI", "入玉勝ち", f"{sides[winner]}の入玉勝ち", exact=True)
    if winner == turn:
        # Except for a declaration, the side to move can win only by an act of the opponent.
        csa = f"%{SIGNS[loser]}ILLEGAL_ACTION"
        if reason == "DEFAULT":
            return EndWords(csa, "不戦勝", f"{sides[winner]}の勝ち", exact=False)
        return EndWords(csa, "反則勝ち", f"{sides[winner]}の反則勝ち", exact=reason == "ILLEGAL_MOVE")
    csa, kif, summary = _LOST[_LIKE.get(reason, reason)]
    exact = reason in _LOST and reason != "DEFAULT"
    return EndWords(csa, kif, summary.format(winner=sides[winner], loser=sides[loser]), exact)


_COMMENT: Final = re.compile(r"\* ?(-?[0-9]{1,9})((?: [+-][0-9]{4}[A-Z]{2})*) ?")
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.+@-]")
_CSA_KEYS: Final = {"場所": "SITE", "戦型": "OPENING", "備考": "NOTE", "持将棋": "JISHOGI"}
"""CSA's words for the facts of a KIF's header."""
_CSA_KEY: Final = re.compile(r"[A-Z][A-Z_+-]*")
_DATE: Final = re.compile(r"(\d{4}/\d\d?/\d\d?)(?:\(.\))?(?:\s+(\d\d?:\d\d)(:\d\d)?)?\s*")


class RecordError(Exception):
    """A record cannot be written; the text names the file and the reason."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a game: a word of `master.csa.events.REASONS` or of `master.records.record`, or the cause of an early
    end in words of our own."""

    reason: str
    winner: int | None = None
    """A colour; None for a draw, and if there is no result."""
    comment: str = ""
    remark: str = ""
    """A remark of the record's source, written unchanged."""
    consumed_ms: int | None = None

    def notes(self, words: EndWords) -> list[str]:
        """The lines for facts that the formats' own words do not express."""
        lines = self.remark.splitlines()
        if not words.exact or self.comment:
            result = "" if self.winner is None else f", {('black', 'white')[self.winner]} wins"
            lines.append(f"{self.reason}{result}" + (f": {_one_line(self.comment)}" if self.comment else ""))
        return lines


@dataclass(frozen=True, slots=True)
class Variation:
    """Moves that were not played (変化), from the move ``ply`` (from 1) on. They replace that move of the preceding
    line in the record, which is the game or another variation."""

    ply: int
    moves: Sequence[RecordedMove]
    ending: Ending | None = None


@dataclass(slots=True)
class GameRecord:
    """A game as far as it has been played."""

    game_id: str
    names: tuple[str, str]
    """Black, white; empty: unknown."""
    start_sfen: str
    time: tuple[TimeControl, TimeControl] | None
    max_moves: int | None = None
    started: datetime | str | None = None
    """A date in another program's record is plain text."""
    ended: datetime | str | None = None
    moves: list[RecordedMove] = field(default_factory=list)
    ending: Ending | None = None
    """None while the game goes on."""
    header: Mapping[str, str] = field(default_factory=dict)
    """Other facts about the game from the record's source, by KIF's words (``場所``)."""
    comment: str = ""
    """Free text before the first move."""
    variations: Sequence[Variation] = ()
    """In their order after the game in a KIF. CSA cannot hold them; a comment says so."""
    _written: MoveLines | None = field(default=None, repr=False, compare=False)

    def snapshot(self) -> GameRecord:
        """The record as it is now, for another thread; its moves are copied. One thread at a time may write these."""
        if self._written is None:
            self._written = MoveLines(self.start_sfen)  # shared by all: each formats the latest moves
        return replace(self, moves=[*self.moves])

    def text(self) -> RecordText:
        """The record in both formats. Raises RecordError: it holds an illegal move, or its start is no position."""
        try:
            return RecordText(self.to_csa(), self.to_kif())
        except ValueError as error:
            raise RecordError(f"the record of {self.game_id} cannot be written: {error}") from error

    def to_csa(self) -> str:
        """The record as CSA V3. Raises ValueError: a move is not legal at its place, or the start is no position."""
        lines = ["'CSA encoding=UTF-8", "V3.0", *self._csa_header()]
        even = self.start_sfen.split()[:3] == STARTPOS.split()[:3]
        lines += ["PI", "+"] if even else csa_from_sfen(self.start_sfen)
        opening = self.comment.splitlines()
        if self.variations:
            opening.append(f"variations left out, which CSA does not have: {len(self.variations)}")
        lines += (f"'*{line}" for line in opening)
        lines += (line for move in self._moves().csa(self.moves) for line in move)
        if self.ending is not None:
            words = self._end_words(self.ending, len(self.moves))
            lines += [words.csa, *csa_time(self.ending.consumed_ms)]
            lines += (f"'*{line}" for line in self.ending.notes(words))
        return "\n".join(lines) + "\n"

    def to_kif(self) -> str:
        """The record as KIF, for `master.records.lines.kif_bytes`. Scores are from black's view, as in CSA. Raises
        ValueError: a move is not legal at its place, or the start is no position."""
        lines = [*self._kif_header()]
        moves, path = [*self.moves], [[*block] for block in self._moves().kif(self.moves)]
        if self.ending is not None:
            words = self._end_words(self.ending, len(moves))
            path.append(self._kif_end(self.ending, len(moves), self._moves()))
            path[-1].append(f"まで{len(moves)}手で{words.kif_summary}")
        blocks = path
        for variation in self.variations:
            played, line = variation.ply - 1, MoveLines(self.start_sfen)
            line.skip(moves[:played])
            moves = [*moves[:played], *variation.moves]
            block = [*line.kif(variation.moves)]
            if variation.ending is not None:
                block.append(self._kif_end(variation.ending, len(moves), line))
            if played < len(path):
                path[played][0] += "+"  # as Kifu for Windows marks a move that has an alternative
            path = [*path[:played], *block]
            blocks = [*blocks, ["", f"変化：{variation.ply}手"], *block]
        return "\n".join([*lines, *(line for block in blocks for line in block)]) + "\n"

    def _moves(self) -> MoveLines:
        if self._written is None:
            self._written = MoveLines(self.start_sfen)
        return self._written

    def _sides(self) -> tuple[str, str]:
        return ("下手", "上手") if is_handicap(self.start_sfen) else ("先手", "後手")

    def _end_words(self, ending: Ending, plies: int) -> EndWords:
        turn = ((self.start_sfen.split()[1] == "w") + plies) % 2
        return end_words(ending.reason, ending.winner, turn, self._sides())

    def _kif_end(self, ending: Ending, plies: int, moves: MoveLines) -> list[str]:
        words = self._end_words(ending, plies)
        seconds = None if ending.consumed_ms is None else ending.consumed_ms // 1000
        return [
            numbered(plies + 1, words.kif, seconds, moves.used_s + (seconds or 0)),
            *(f"*{line}" for line in ending.notes(words)),
        ]

    def _csa_header(self) -> Iterator[str]:
        yield from (f"N{sign}{_one_line(name)}" for sign, name in zip(SIGNS, self.names, strict=True) if name)
        facts = {
            "EVENT": self.game_id,
            "START_TIME": _csa_date(self.started),
            "END_TIME": _csa_date(self.ended),
            **self._csa_times(),
            "MAX_MOVES": str(self.max_moves or ""),
        }
        others = []
        for key, value in self.header.items():
            if key in _CSA_KEYS or _CSA_KEY.fullmatch(key):
                facts[_CSA_KEYS.get(key, key)] = value
            else:
                others.append(f"'{_one_line(key)}：{_one_line(value)}")
        yield from (f"${key}:{_one_line(value)}" for key, value in facts.items() if value)
        yield from others

    def _csa_times(self) -> dict[str, str]:
        texts = [
            f"{control.total_ms // 1000}+{control.byoyomi_ms // 1000}+{control.increment_ms // 1000}"
            for control in self.time or ()
            if not control.unlimited
        ]
        if len(texts) == 2 and texts[0] != texts[1]:
            return {"TIME+": texts[0], "TIME-": texts[1]}
        return {"TIME": texts[0]} if texts else {}

    def _kif_header(self) -> Iterator[str]:
        black, white = self._sides()
        facts = {
            "棋戦": self.game_id,
            "開始日時": _kif_date(self.started),
            "終了日時": _kif_date(self.ended),
            **self._kif_times(),
            "最大手数": str(self.max_moves or ""),
            **self.header,
            black: self.names[0],
            white: self.names[1],
        }
        yield from (f"{_one_line(key)}：{_one_line(value)}" for key, value in facts.items() if value)
        yield from start_lines(self.start_sfen)
        yield "手数----指手---------消費時間--"
        yield from (f"*{line}" for line in self.comment.splitlines())

    def _kif_times(self) -> dict[str, str]:
        texts = ["" if control.unlimited else time_words(control) for control in self.time or ()]
        if len(texts) == 2 and texts[0] != texts[1]:
            return {"先手持ち時間": texts[0], "後手持ち時間": texts[1]}
        return {"持ち時間": texts[0]} if texts else {}


@dataclass(frozen=True, slots=True)
class RecordText:
    """A record at one moment, in both formats."""

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
        """Create the folder and an empty file with an unused name, so that no other record is overwritten. Raises
        RecordError: the folder or the file cannot be created."""
        if self.path is None:
            stem = _UNSAFE.sub("_", self.record.game_id) or "game"
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                self.path = _take_name(self._folder, stem[:150])
            except OSError as error:
                raise RecordError(f"no record can be written to {self._folder}: {reason(error)}") from error
        return self.path

    def write(self, text: RecordText) -> None:
        """Replace each file's content as a whole; may be called from any one thread at a time. Raises RecordError:
        writing to disk failed. That file then keeps its old content."""
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


def _kif_date(moment: datetime | str | None) -> str:
    return moment if isinstance(moment, str) else "" if moment is None else moment.strftime("%Y/%m/%d %H:%M:%S")


def _csa_date(moment: datetime | str | None) -> str:
    """In CSA's form: no weekday, and seconds after minutes."""
    text = _kif_date(moment)
    match = _DATE.fullmatch(text)
    if match is None:
        return text
    return match[1] + (f" {match[2]}{match[3] or ':00'}" if match[2] else "")


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())


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
