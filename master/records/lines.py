"""The lines of a record in CSA and KIF: start position, moves, times, and the encoding of KIF files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from master.records.kif_start import NAMES
from master.records.notation import COUNTS, FILES, HAND_ORDER, PIECES, RANKS, SIDES, line_texts
from worker.clock.timecontrol import TimeControl
from worker.shogi import Position, move_to_csa
from worker.shogi.pieces import is_drop, is_promotion, move_from, move_piece, move_to

_ENCODING: Final = "cp932"
"""Shift_JIS as on Windows, which every shogi program expects in ``.kif`` files."""
_WIDE: Final = str.maketrans("¥‾", "￥￣")
"""Characters that plain Shift_JIS has in the places of ``\\`` and ``~``; Windows has them only in full width."""

_NOT_EVERYWHERE: Final = ("三枚落ち", "五枚落ち", "左五枚落ち", "左七枚落ち", "右七枚落ち")
_HANDICAPS: Final = {" ".join(sfen.split()[:3]): name for name, sfen in NAMES.items() if name not in _NOT_EVERYWHERE}
"""By start position: those that every program knows by name. All others get a diagram."""
_LONG_NAMES: Final = {"杏": "成香", "圭": "成桂", "全": "成銀"}
"""The pieces with one character on a board and two in a move."""

_SECONDS: Final = re.compile(r"(\d+)(?:\.\d+)?\+(\d+)\+(\d+)")
_LIMIT: Final = re.compile(
    r"(?:(\d+):(\d{2})|(?:(\d+)時間)?(?:(\d+)分)?(?:(\d+)秒)?)(?:\+|秒読み|\+?切れ負け)?(?:(\d+)秒?)?(?:加算(\d+)秒)?"
)


def kif_bytes(text: str) -> bytes:
    """The content of a ``.kif`` file; a question mark for each character that such a file cannot hold."""
    return text.translate(_WIDE).encode(_ENCODING, "replace")


def is_handicap(start_sfen: str) -> bool:
    """Whether the start is a named handicap: the sides are then called 下手 and 上手."""
    return _HANDICAPS.get(_place(start_sfen), "平手") != "平手"


def start_lines(start_sfen: str) -> Iterator[str]:
    """The start position: by its name, or as a diagram."""
    name = _HANDICAPS.get(_place(start_sfen))
    if name is not None:
        yield f"手合割：{name}"
        return
    position = Position.from_sfen(start_sfen)
    yield f"後手の持駒：{_hand_words(position.hand(1))}"
    yield "  ９ ８ ７ ６ ５ ４ ３ ２ １"
    yield "+---------------------------+"
    for rank, name in enumerate(RANKS):
        yield "|" + "".join(_cell(position.piece_on(file * 9 + rank)) for file in range(8, -1, -1)) + f"|{name}"
    yield "+---------------------------+"
    yield f"先手の持駒：{_hand_words(position.hand(0))}"
    yield ("先手番", "後手番")[position.turn]


def move_words(move: int, before: int | None) -> str:
    """``７六歩(77)``, ``同　角成(88)``, ``５五歩打``.

    Args:
        before: the square to which the opponent's last move went; None: there is none.
    """
    to, kind = move_to(move), move_piece(move) & 15
    where = "同　" if to == before else FILES[to // 9] + RANKS[to % 9]
    words = where + _LONG_NAMES.get(PIECES[kind], PIECES[kind])
    if is_drop(move):
        return words + "打"
    origin = move_from(move)
    return words + ("成" if is_promotion(move) else "") + f"({origin // 9 + 1}{origin % 9 + 1})"


def numbered(ply: int, words: str, seconds: int | None, total_s: int, *, more: bool = False) -> str:
    """The line of a move or of an end.

    Args:
        seconds: the time used; None: unknown.
        total_s: total time that its side has used so far.
        more: the record has an alternative to this move (変化).
    """
    width = sum(1 if sign.isascii() else 2 for sign in words)
    line = f"{ply:4d} {words}"
    if seconds is not None:
        used = f"{total_s // 3600:02d}:{total_s // 60 % 60:02d}:{total_s % 60:02d}"
        line += " " * max(1, 13 - width) + f"({seconds // 60:2d}:{seconds % 60:02d}/{used})"
    return line + ("+" if more else "")


def time_words(control: TimeControl) -> str:
    """``1時間30分秒読み30秒``."""
    minutes, seconds = divmod(control.total_ms // 1000, 60)
    words = (
        (f"{minutes // 60}時間" if minutes >= 60 else "") + f"{minutes % 60}分" + (f"{seconds}秒" if seconds else "")
    )
    if control.byoyomi_ms:
        words += f"秒読み{control.byoyomi_ms / 1000:g}秒"
    return words + (f"加算{control.increment_ms / 1000:g}秒" if control.increment_ms else "")


def time_of(text: str) -> TimeControl | None:
    """A time limit in CSA's form (``300+10+0``, ``00:05+10``) or in KIF's (``1時間30分+60秒``, ``15分加算5秒``).

    None: any other form.
    """
    if (match := _SECONDS.fullmatch(text)) is not None:
        total, byoyomi, increment = (int(part) for part in match.groups())
        return TimeControl(1000 * total, 1000 * byoyomi, 1000 * increment)
    match = _LIMIT.fullmatch(text)
    if match is None or not any(match.groups()):
        return None
    hours, minutes, more_hours, more_minutes, seconds, byoyomi, increment = (int(part or 0) for part in match.groups())
    total = 3600 * (hours + more_hours) + 60 * (minutes + more_minutes) + seconds
    return TimeControl(1000 * total, 1000 * byoyomi, 1000 * increment)


def _place(sfen: str) -> str:
    return " ".join(sfen.split()[:3])


def _cell(piece: int) -> str:
    if not piece:
        return " ・"
    return " v"[piece >> 4] + PIECES[piece & 15]


def _hand_words(hand: tuple[int, ...]) -> str:
    held = "　".join(PIECES[kind] + COUNTS[hand[kind]] for kind in HAND_ORDER if hand[kind])
    return held or "なし"


_SIGNS: Final = str.maketrans(dict(zip(SIDES, "▲△", strict=True)))
"""The signs of the sides that Shift_JIS has."""


@dataclass(frozen=True, slots=True)
class RecordedMove:
    usi: str
    consumed_ms: int | None
    """None: the source of the record does not say."""
    score: int | None = None
    """Centipawns, black's view."""
    pv: tuple[str, ...] = ()
    """CSA moves from the opponent's reply on."""
    nodes: int | None = None
    comment: str = ""
    """Free text, in addition to score and PV."""


class MoveLines:
    """The moves of a growing record, as lines of both formats: each is formatted once.

    ``**読み筋=△３四歩 ▲２六歩`` in a KIF, after ``**評価値=55``, is ShogiGUI's form of a variation.
    """

    def __init__(self, start_sfen: str) -> None:
        self._position = Position.from_sfen(start_sfen)
        self._before: int | None = None
        self._used_s = [0, 0]
        self._skipped = 0
        self._csa: list[list[str]] = []
        self._kif: list[list[str]] = []

    def skip(self, moves: Sequence[RecordedMove]) -> None:
        """Moves that come first and are not written. Raises MoveError: one is not legal."""
        for move in moves:
            self._used_s[self._position.turn] += (move.consumed_ms or 0) // 1000
            self._before = move_to(self._position.push_usi(move.usi))
        self._skipped = len(moves)

    @property
    def used_s(self) -> int:
        """Seconds that the side to move has used so far."""
        return self._used_s[self._position.turn]

    def csa(self, moves: Sequence[RecordedMove]) -> list[list[str]]:
        """The lines of each move. Moves of earlier calls are not processed again.

        Raises:
            MoveError: a move is not legal at its place.
        """
        self._add(moves)
        return self._csa[: len(moves)]

    def kif(self, moves: Sequence[RecordedMove]) -> list[list[str]]:
        self._add(moves)
        return self._kif[: len(moves)]

    def _add(self, moves: Sequence[RecordedMove]) -> None:
        position = self._position
        for move in moves[len(self._kif) :]:
            mover = position.turn
            made = position.push_usi(move.usi)
            seconds = None if move.consumed_ms is None else move.consumed_ms // 1000
            self._used_s[mover] += seconds or 0
            ply = self._skipped + len(self._kif) + 1
            csa = [move_to_csa(made), *csa_time(move.consumed_ms)]
            kif = [numbered(ply, move_words(made, self._before), seconds, self._used_s[mover])]
            self._before = move_to(made)
            if move.score is not None:
                nodes = () if move.nodes is None else (f"#{move.nodes}",)
                csa.append(" ".join(("'**", str(move.score), *move.pv, *nodes)))
                kif.append(f"**評価値={move.score}")
            after = position.copy()
            words = " ".join(line_texts(after, move.pv, self._before, after.parse_csa))
            if words:
                kif.append(f"**読み筋={words.translate(_SIGNS)}")
            self._csa.append(csa + [f"'*{line}" for line in move.comment.splitlines()])
            self._kif.append(kif + [f"*{line}" for line in move.comment.splitlines()])


def csa_time(consumed_ms: int | None) -> Iterator[str]:
    """``T3``, ``T0.250``; nothing if the time is not known."""
    if consumed_ms is not None:
        seconds, rest = divmod(consumed_ms, 1000)
        yield f"T{seconds}" + (f".{rest:03d}" if rest else "")
