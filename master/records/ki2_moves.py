"""Moves as KI2 writes them: the target square, the piece, and no more of its origin than tells it from its like."""

from __future__ import annotations

import re
from typing import Final

from master.records.kif_start import DIGITS, KINDS, PIECE
from master.records.reading import RecordFault, Walk
from worker.shogi.pieces import (
    BISHOP,
    BLACK,
    DRAGON,
    GOLD,
    HORSE,
    KING,
    KNIGHT,
    LANCE,
    PAWN,
    ROOK,
    SILVER,
    square,
)

_MOVE: Final = re.compile(
    r"[\s　]*([▲△▽▼☗☖]?)[\s　]*(?:(同)|([1-9１-９])([一二三四五六七八九1-9１-９]))[\s　]*"
    rf"({PIECE})([左右直]?)([上寄引行入下]?)(成らず|不成|生|成|打)?[\s　、。]*"
)
_SIGNS: Final = ("▲☗▼", "△☖▽")
_GOLD_STEPS: Final = ((0, -1), (1, -1), (-1, -1), (1, 0), (-1, 0), (0, 1))
_DIAGONALS: Final = ((1, -1), (-1, -1), (1, 1), (-1, 1))
_STRAIGHTS: Final = ((0, -1), (1, 0), (-1, 0), (0, 1))
_STEPS: Final = {
    PAWN: ((0, -1),),
    KNIGHT: ((1, -2), (-1, -2)),
    SILVER: ((0, -1), *_DIAGONALS),
    KING: (*_STRAIGHTS, *_DIAGONALS),
    HORSE: _STRAIGHTS,
    DRAGON: _DIAGONALS,
    **dict.fromkeys((GOLD, 9, 10, 11, 12), _GOLD_STEPS),
}
"""Files and ranks that a black piece goes, in one step."""
_SLIDES: Final = {
    LANCE: ((0, -1),),
    BISHOP: _DIAGONALS,
    HORSE: _DIAGONALS,
    ROOK: _STRAIGHTS,
    DRAGON: _STRAIGHTS,
}


def play_line(walk: Walk, text: str, line: int) -> None:
    """Make the moves of a line.

    Raises:
        RecordFault: a text that is no move, a move that fits several pieces, or a move after one that is not legal.
    """
    at = 0
    while at < len(text):
        match = _MOVE.match(text, at)
        if match is None:
            if not (rest := text[at:].strip(" \t　")):
                return
            walk.go_on()
            raise RecordFault(f"move {len(walk.moves) + 1} cannot be read (KI2): {rest!r}", line)
        at = match.end()
        _play(walk, match, line)


def _play(walk: Walk, match: re.Match[str], line: int) -> None:
    walk.go_on()
    number = len(walk.moves) + 1
    text = match[0].strip(" \t　")
    if match[1] and match[1] not in _SIGNS[walk.turn]:
        walk.illegal = line, f"move {number} is not legal: {text}, and it is {('black', 'white')[walk.turn]} to move"
        return
    target = walk.last if match[2] else square(int(match[3].translate(DIGITS)), int(match[4].translate(DIGITS)))
    if target is None:
        raise RecordFault(f"move {number} cannot be read (KI2): {text}: no move before it", line)
    kind, way = KINDS[match[5]], match[8] or ""
    promote = way == "成"
    origins = [] if way == "打" else _chosen(walk, target, kind, match[6], match[7])
    legal = [origin for origin in origins if walk.is_legal(origin, target, kind, promote=promote)]
    if len(legal) > 1:
        raise RecordFault(f"move {number} cannot be read (KI2): {text} fits several pieces", line)
    if legal or way in ("成", "不成", "成らず", "生") or match[6] or match[7]:
        # What is not legal is said to be so by the walk.
        walk.play(legal[0] if legal else (origins or [target])[0], target, kind, promote=promote, line=line)
    else:
        walk.play(None, target, kind, promote=False, line=line)


def _chosen(walk: Walk, target: int, kind: int, side: str, motion: str) -> list[int]:
    """The squares of the pieces that the words fit, pinned ones among them: who wrote the move may have counted those.

    Args:
        side: 左, 右, 直 or nothing.
        motion: 上, 寄, 引 and their like, or nothing.
    """
    colour = walk.turn
    turned = 1 if colour == BLACK else -1
    found = [
        origin
        for origin, piece in enumerate(walk.board)
        if piece == colour << 4 | kind and _reaches(walk.board, origin, target, kind, turned)
    ]
    forward = {origin: turned * (origin % 9 - target % 9) for origin in found}  # ranks that the piece goes ahead
    if motion:
        wanted = {"寄": 0, "引": -1, "下": -1}.get(motion, 1)
        found = [origin for origin in found if (forward[origin] > 0) - (forward[origin] < 0) == wanted]
    if side == "直":
        return [origin for origin in found if origin // 9 == target // 9 and forward[origin] > 0]
    if side and found:
        files = [turned * (origin // 9) for origin in found]  # black's left is the higher file
        best = max(files) if side == "左" else min(files)
        return [origin for origin, file in zip(found, files, strict=True) if file == best]
    return found


def _reaches(board: list[int], origin: int, target: int, kind: int, turned: int) -> bool:
    """Whether a piece goes from one square to another, its king's safety aside."""
    files, ranks = turned * (target // 9 - origin // 9), turned * (target % 9 - origin % 9)
    if (files, ranks) in _STEPS.get(kind, ()):
        return True
    length = max(abs(files), abs(ranks))
    if not length or files % length or ranks % length:
        return False
    step = files // length, ranks // length
    if step not in _SLIDES.get(kind, ()):
        return False
    between = (origin + turned * n * (9 * step[0] + step[1]) for n in range(1, length))
    return not any(board[square] for square in between)
