"""Moves, scores and times in words for people: ``☗７六歩``, ``+120``, ``0:08``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final

from worker.score import is_mate, mate_distance
from worker.shogi import MoveError, Position, SfenError
from worker.shogi.pieces import SQUARES

SIDES: Final = ("☗", "☖")
PIECES: Final = ("", "歩", "香", "桂", "銀", "角", "飛", "金", "玉", "と", "杏", "圭", "全", "馬", "龍")
"""By piece type, one character each, as on the board of a KIF file."""
FILES: Final = "１２３４５６７８９"
RANKS: Final = "一二三四五六七八九"
HAND_ORDER: Final = (6, 5, 7, 4, 3, 2, 1)
"""Piece types in hand, as records list them."""
COUNTS: Final = ("", "", *"二三四五六七八九十", *(f"十{digit}" for digit in "一二三四五六七八"))
"""The number after a piece in hand."""

_PROMOTABLE: Final = range(1, 7)


def move_text(position: Position, move: int, before: int | None = None) -> str:
    """A legal move of ``position``, as KIF writes it; its origin only if another piece could go there too. ``before``:
    the square to which the opponent's last move went: a move to it is ``同``."""
    to, kind, colour = move & 0x7F, move >> 16 & 15, move >> 20 & 1
    where = "同" if to == before else FILES[to // 9] + RANKS[to % 9]
    text = SIDES[colour] + where + PIECES[kind]
    if move >> 15 & 1:
        return text + "打"
    origin = move >> 7 & 0x7F
    if move >> 14 & 1:
        text += "成"
    elif kind in _PROMOTABLE and (_in_zone(to, colour) or _in_zone(origin, colour)):
        text += "不成"
    rivals = {
        other >> 7 & 0x7F
        for other in position.legal_moves()
        if other & 0x7F == to and other >> 16 == move >> 16 and not other >> 15 & 1
    }
    return text + (f"({origin // 9 + 1}{origin % 9 + 1})" if len(rivals) > 1 else "")


class Notation(StrEnum):
    """The notation that a screen uses for all its moves."""

    JAPANESE = "japanese"
    USI = "usi"

    def line(self, sfen: str, pv: tuple[str, ...], before: int | None = None, most: int = 24) -> str:
        """As `pv_text`."""
        return " ".join(pv[:most]) if self is Notation.USI else pv_text(sfen, pv, before, most)

    def move(self, sfen: str, usi: str, before: int | None = None) -> str:
        """A move of the position; an illegal one is returned unchanged."""
        return self.line(sfen, (usi,), before) or usi

    def job(self, sfen: str, label: str, before: int | None = None) -> str:
        """The work of a node, from its label (`cluster.split.tree.Leaf.label`)."""
        *path, last = label.split(" ")
        if self is Notation.USI or (not path and usi_target(last) is None):
            return label
        words = [self.line(sfen, tuple(path), before)] if path else []
        try:
            position = Position.from_sfen(sfen)
            position.push_all(path)
            before = usi_target(path[-1]) if path else before
            moves = [move if usi_target(move) is None else _one(position, move, before) for move in last.split("/")]
        except (MoveError, SfenError):
            return label
        return " ".join((*words, "/".join(moves)))


def _one(position: Position, usi: str, before: int | None) -> str:
    return move_text(position, position.parse_usi(usi), before)


@lru_cache(maxsize=512)
def pv_text(sfen: str, pv: tuple[str, ...], before: int | None = None, most: int = 24) -> str:
    """A variation (USI moves) from ``sfen`` on, as far as it is legal, ``most`` moves at most."""
    try:
        position = Position.from_sfen(sfen)
    except SfenError:
        return " ".join(pv[:most])
    return " ".join(line_texts(position, pv[:most], before, position.parse_usi))


def line_texts(position: Position, line: Sequence[str], before: int | None, parse: Callable[[str], int]) -> list[str]:
    """The legal start of a line from ``position``, which follows the moves. The line may come from another program.

    Args:
        before: as in `move_text`.
        parse: reads a move of ``position``.
    """
    texts: list[str] = []
    for word in line:
        try:
            move = parse(word)
        except MoveError:
            break
        texts.append(move_text(position, move, before))
        position.push(move)
        before = move & 0x7F
    return texts


def usi_target(usi: str | None) -> int | None:
    """The square to which a USI move goes; None for no move, ``resign`` and the like."""
    if usi is None or len(usi) < 4 or not usi[2].isdigit():
        return None
    square = (int(usi[2]) - 1) * 9 + ord(usi[3]) - ord("a")
    return square if 0 <= square < SQUARES else None


def score_text(score: int | None, colour: int = 0) -> str:
    """A score of the side ``colour`` from black's view: ``+120``, ``-35``; ``-`` if it is unknown.

    ``mate 7``: black mates in 7 plies; ``mated 4``: black is mated in 4.
    """
    if score is None:
        return "-"
    if colour == 1:
        score = -score
    if not is_mate(score):
        return f"{score:+d}"
    distance = mate_distance(score)
    return f"mate {distance}" if distance > 0 else f"mated {-distance}"


def clock_text(left_ms: float) -> str:
    """``9:05``; below ten seconds with tenths, ``0:07.3``."""
    left_ms = max(0.0, left_ms)
    minutes, seconds = divmod(left_ms / 1000, 60)
    if left_ms < 10_000:
        return f"0:{int(left_ms) // 1000:02d}.{int(left_ms) % 1000 // 100}"
    return f"{int(minutes)}:{int(seconds):02d}"


def count_text(number: int) -> str:
    """``950``, ``12.3k``, ``4.56M``."""
    if number < 1000:
        return str(number)
    if number < 1_000_000:
        return f"{number / 1000:.1f}k"
    return f"{number / 1_000_000:.2f}M"


def _in_zone(square: int, colour: int) -> bool:
    return square % 9 < 3 if colour == 0 else square % 9 > 5
