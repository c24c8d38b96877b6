"""KIF and KI2 records as games.

Source: kakinoki.o.oo7.jp/kif_format.html. It is implemented completely: lines of ``#`` anywhere, comments (``*``),
bookmarks (``&``), facts (``棋戦：``), diagrams with their move counts, the words of every ending, variations
(``変化：``). A move of KI2 has the target square, the piece, and only as much of its origin as distinguishes it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from master.records.kif_start import BLACKS, DIGITS, FILES_OVER_DIAGRAM, KINDS, PIECE, Start
from master.records.reading import Ended, Line, Reading, RecordFault, Walk, bounded_ms, ended, finish
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
    WHITE,
    square,
)

_KI2_MOVE: Final = re.compile(
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
"""Steps in files and ranks of a black piece, for one move."""
_SLIDES: Final = {
    LANCE: ((0, -1),),
    BISHOP: _DIAGONALS,
    HORSE: _DIAGONALS,
    ROOK: _STRAIGHTS,
    DRAGON: _STRAIGHTS,
}


def play_line(walk: Walk, text: str, line: int) -> None:
    """Make the moves of a line. Raises RecordFault: a text that is no move, a move that fits several pieces, or a move
    after an illegal one."""
    at = 0
    while at < len(text):
        match = _KI2_MOVE.match(text, at)
        if match is None:
            if not (rest := text[at:].strip(" \t　")):
                return
            walk.go_on()
            raise RecordFault(f"move {len(walk.moves) + 1} cannot be read (KI2): {rest!r}", line)
        at = match.end()
        _play_ki2(walk, match, line)


def _play_ki2(walk: Walk, match: re.Match[str], line: int) -> None:
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
        # The walk reports illegal moves.
        walk.play(legal[0] if legal else (origins or [target])[0], target, kind, promote=promote, line=line)
    else:
        walk.play(None, target, kind, promote=False, line=line)


def _chosen(walk: Walk, target: int, kind: int, side: str, motion: str) -> list[int]:
    """The squares of the pieces that the words fit, including pinned ones: the author of the move may have counted
    those.

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
    """Whether a piece moves from one square to another, ignoring its king's safety."""
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


_NUMBERED: Final = re.compile(r"[\s　]*[0-9]+[\s　]+(\S.*)")
_MOVE: Final = re.compile(
    r"[▲△▽▼☗☖]?(?:(同)|([1-9１-９])([一二三四五六七八九1-9１-９]))[\s　]*"
    rf"({PIECE})(成|不成|打)?[\s　]*(?:[(（]([0-9０-９])([0-9０-９])[)）])?(.*)"
)
_DESTINED: Final = re.compile(r"[▲△▽▼☗☖]?(?:同|[1-9１-９])")
"""The beginning of a move, even of a truncated one."""
_CLOCK: Final = r"[(（]\s*([0-9:.]+)?\s*(?:/[\s0-9:.]*)?[)）]"
_TAIL: Final = re.compile(rf"[\s　]*(?:{_CLOCK}(?:\s*{_CLOCK})?)?[\s　]*\+?[\s　]*")  # IS Shogi writes two times
_BRANCH: Final = re.compile(r"[\s　]*変化[：:][\s　]*([0-9０-９]*).*")
_FACT: Final = re.compile(r"([^：:]{1,40})[：](.*)|([^：:\s]{1,20}):(.*)")
_TABLE: Final = re.compile(r"[\s　]*手数-+指手.*")
_RESULT: Final = re.compile(r"[\s　]*まで(?:、?[0-9０-９]+手)?(?:、?で)?(.*)")
_SIDE: Final = re.compile(r"(先手|下手|後手|上手)の?(.*)")
_SCORE: Final = re.compile(r"\*評価値=([+-]?[0-9]{1,9})[\s　]*")
FACTS: Final = {
    "棋戦": "event",
    "場所": "site",
    "開始日時": "start_date",
    "対局日": "start_date",
    "終了日時": "end_date",
    "持ち時間": "time_control",
    "先手持ち時間": "black_time_control",
    "後手持ち時間": "white_time_control",
    "最大手数": "max_moves",
    "持将棋": "impasse_rule",
    "備考": "comment",
}
_ENDS: Final = {
    "中断": ("INTERRUPT", ""),
    "投了": ("RESIGN", "loss"),
    "持将棋": ("IMPASSE", ""),
    "千日手": ("REPETITION_DRAW", ""),
    "詰み": ("MATE", "loss"),
    "詰": ("MATE", "loss"),
    "切れ負け": ("TIMEOUT", "loss"),
    "時間切れ": ("TIMEOUT", "loss"),
    "Time-up": ("TIMEOUT", "loss"),
    "反則勝ち": ("WIN_BY_ILLEGAL_MOVE", "win"),
    "反則負け": ("LOSE_BY_ILLEGAL_MOVE", "loss"),
    "入玉勝ち": ("WIN_BY_DECLARATION", "win"),
    "勝ち宣言": ("WIN_BY_DECLARATION", "win"),
    "入玉宣言": ("WIN_BY_DECLARATION", "win"),
    "不戦勝": ("WIN_BY_DEFAULT", "win"),
    "不戦敗": ("LOSE_BY_DEFAULT", "loss"),
    "不詰": ("NO_MATE", ""),
    "引き分け": ("DRAW", ""),
    "引分": ("DRAW", ""),
    "最大手数": ("MAX_MOVES", ""),
    "トライ": ("TRY", "win"),
}
"""rsshogi's word for each special move, and its meaning for the side to move."""
_ENDS_IN_COMMENTS: Final = {"*時間切れにて終局": "切れ負け", "*反則手にて終局": "反則勝ち"}
"""Comments with which 81Dojo ends a game, and the words that mean the same."""
_RESULTS: Final = {
    "勝ち": ("RESIGN", "win"),
    "勝": ("RESIGN", "win"),
    "負け": ("RESIGN", "loss"),
    "時間切れ勝ち": ("TIMEOUT", "win"),
    "時間切れ負け": ("TIMEOUT", "loss"),
    "投了": ("RESIGN", "loss"),
}
"""Words about a side in the last line (``まで9手で先手の勝ち``), in addition to those of `_ENDS`."""


def read_kif(lines: Sequence[str]) -> Reading:
    """The game of a KIF file. Raises RecordFault: a line cannot be read, or its move is not legal and others follow."""
    return _Reader("KIF").read(lines)


def read_ki2(lines: Sequence[str]) -> Reading:
    """The game of a KI2 file; raises as `read_kif` does."""
    return _Reader("KI2").read(lines)


class _Reader:
    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._names = ["", ""]
        self._start = Start()
        self._walk: Walk | None = None
        self._table = False
        """The line before the moves has been read: the position is complete."""
        self._result: Ended | None = None
        """According to the last line."""
        self._over = False
        self._reading = Reading()

    def read(self, lines: Sequence[str]) -> Reading:
        branches = [number for number, line in enumerate(lines) if _BRANCH.match(line)]
        for number, line in enumerate(lines[: branches[0]] if branches else lines):
            self._line(line.rstrip("\r\n"), number)
        walk = self._walk or self._start.walk()
        reading = self._reading
        if reading.end is None:
            reading.end = self._result
        reading.names = self._names[0], self._names[1]
        finish(walk, reading)
        if branches:
            self._variations(lines, [*branches, len(lines)])
        return reading

    def _variations(self, lines: Sequence[str], places: Sequence[int]) -> None:
        """Read the variations. Each begins in place of the move of its number in the line before it in the file."""
        path: list[tuple[Line, int]] = [(self._reading, index) for index in range(len(self._reading.moves))]
        line: Line = self._reading
        faulty: list[int] = []
        for place, end in pairwise(places):
            match = _BRANCH.match(lines[place])
            played = int(match[1].translate(DIGITS)) - 1 if match is not None and match[1] else -1
            if not 0 <= played <= len(path):
                faulty.append(place)
                continue
            part = _Reader(self._kind)
            part._walk = self._start.walk()
            part._walk.follow(one.moves[index] for one, index in path[:played])
            try:
                for number in range(place + 1, end):
                    part._line(lines[number], number)
            except RecordFault:
                faulty.append(place)
            if part._walk.illegal is not None:
                faulty.append(place)
            variation = part._reading
            variation.moves = part._walk.moves[played:]
            if not variation.moves:
                continue
            if played < len(path):
                one, index = path[played]
                one.attach(index, variation)
            else:
                line.attach(len(line.moves), variation)
            path = [*path[:played], *((variation, index) for index in range(len(variation.moves)))]
            line = variation
        if faulty:
            what = f"{len(set(faulty))} of {len(places) - 1} variations (変化)"
            self._reading.notices.append(f"{what} cannot be read to their end, the first in line {faulty[0] + 1}")

    def _line(self, line: str, number: int) -> None:
        if not line.strip(" \t　") or line.startswith(("#", "&", "盤面回転")):
            return  # 盤面回転: the program showed the board from white's side
        if (word := _ENDS_IN_COMMENTS.get(line.rstrip())) is not None and not self._over:
            self._special(word, number)
        elif line.startswith("*"):
            comment_on(self._reading, self._walk, line[1:], over=self._over)
        elif self._walk is None and FILES_OVER_DIAGRAM.fullmatch(line):
            return  # as digits it looks like a move's number
        elif self._kind == "KIF" and (numbered := _NUMBERED.fullmatch(line)) is not None:
            self._numbered(numbered[1], number)
        elif (result := _RESULT.fullmatch(line)) is not None:
            self._end_line(result[1].strip(" 　"))
        elif _TABLE.fullmatch(line):
            self._begin_moves(line, number)
        elif self._walk is None and self._start.takes(line, number):
            pass
        elif self._kind == "KI2" and (_DESTINED.match(line.strip(" 　")) or line.lstrip(" 　")[0] in "▲△▽▼☗☖"):
            if self._over:
                raise RecordFault(f"move {self._count() + 1} cannot be read (KI2): it stands after the end", number)
            play_line(self._begun(), line, number)
        elif (fact := _FACT.fullmatch(line)) is not None:
            self._fact((fact[1] or fact[3]).strip(" 　"), (fact[2] or fact[4] or "").strip(" 　"), number)
        else:
            self._refuse(line, number)

    def _count(self) -> int:
        return 0 if self._walk is None else len(self._walk.moves)

    def _refuse(self, line: str, number: int) -> None:
        if self._walk is None:
            raise RecordFault(f"{line.strip()!r} is no line of a {self._kind} record", number)
        self._walk.go_on()
        raise RecordFault(f"move {self._count() + 1} cannot be read ({self._kind}): {line.strip()!r}", number)

    def _begun(self) -> Walk:
        if self._walk is None:
            self._walk = self._start.walk()
        return self._walk

    def _begin_moves(self, line: str, number: int) -> None:
        if self._table or self._walk is not None:
            raise RecordFault(f"{line.strip()!r}: a second game begins", number)
        self._table = True

    def _fact(self, key: str, text: str, number: int) -> None:
        if key in ("先手", "下手", "後手", "上手"):
            colour = BLACK if key in BLACKS else WHITE
            if self._walk is not None and self._names[colour] not in ("", text):
                raise RecordFault(f"{key}：{text}: a second game begins", number)
            self._names[colour] = text
        elif key == "手合割":
            if self._walk is not None:
                raise RecordFault(f"{key}：{text}: a second game begins", number)
            self._start.handicap(text, number)
        elif text:
            self._reading.facts[FACTS.get(key, key)] = text

    def _numbered(self, text: str, number: int) -> None:
        """A line of the moves, without its number."""
        walk = self._begun()
        match = _MOVE.fullmatch(text)
        if match is None and not _DESTINED.match(text):
            self._special(text, number)
            return
        tail = None if match is None else _TAIL.fullmatch(match[8])
        drop = match is not None and (match[5] == "打" or (match[6], match[7]) == ("0", "0"))
        if match is None or tail is None or self._over or (not drop and match[6] is None):
            self._refuse(text, number)
            return
        target = walk.last if match[1] else square(int(match[2].translate(DIGITS)), int(match[3].translate(DIGITS)))
        origin = (match[6] or "").translate(DIGITS) + (match[7] or "").translate(DIGITS)
        if target is None or (not drop and "0" in origin):
            self._refuse(text, number)
            return
        kind, promote = KINDS[match[4]], match[5] == "成"
        origin_square = None if drop else square(int(origin[0]), int(origin[1]))
        if drop and (kind >= KING or promote):
            self._refuse(text, number)
            return
        walk.play(origin_square, target, kind, promote=promote, line=number)
        if walk.illegal is None:
            walk.moves[-1].ms = _ms(tail[1])

    def _special(self, text: str, number: int) -> None:
        word, _, rest = text.replace("　", " ").partition(" ")
        word, _, clock = word.partition("(")
        tail = _TAIL.fullmatch(f"({clock}{rest}" if clock else rest)
        if self._over and word in _ENDS:
            return  # 棋譜解説 writes 中断 after 投了
        if tail is None or self._over:
            self._refuse(text, number)
            return
        kind, outcome = _ENDS.get(word, ("UNKNOWN", ""))
        self._over = True
        walk = self._begun()
        # The side that moved illegally loses, and it is the other side's turn: the record has that move, not the walk.
        turn = walk.turn if walk.illegal is None else 1 - walk.turn
        self._reading.end = ended(kind, outcome, turn, word)
        self._reading.end_ms = _ms(tail[1])

    def _end_line(self, text: str) -> None:
        """``まで9手で先手の勝ち``, ``まで9手で千日手``."""
        walk = self._begun()
        self._over = True
        side = _SIDE.search(text)
        word = text if side is None else side[2].strip(" 　")
        if side is not None and (known := _RESULTS.get(word) or _ENDS.get(word)):
            turn = BLACK if side[1] in BLACKS else WHITE
            kind, outcome = known
            if kind == "RESIGN":  # 時間切れにより先手の勝ち, 反則により先手の勝ち
                kind = "TIMEOUT" if "切れ" in text else "WIN_BY_ILLEGAL_MOVE" if "反則" in text else kind
            self._result = ended(kind, outcome, turn)
        elif side is None and word in _ENDS:
            self._result = ended(*_ENDS[word], walk.turn)
        elif word:
            self._result = Ended("UNKNOWN", None, word)


def comment_on(reading: Reading, walk: Walk | None, text: str, *, over: bool = False) -> None:
    """A comment on the last move, on the start, or on the end; ``*評価値=`` is the mover's own score. ``over``: the
    game has ended, though `reading` may not say how."""
    score = _SCORE.fullmatch(text)
    if over or reading.end is not None:
        reading.end_comments.append(text)
    elif walk is None or not walk.moves:
        reading.opening_comments.append(text)
    elif walk.illegal is not None:
        return
    elif score is not None:
        walk.moves[-1].score = int(score[1])
    else:
        walk.moves[-1].comments.append(text)


def _ms(clock: str | None) -> int | None:
    """``0:07``, ``1:00:07`` or ``7.5``; None if no time is given."""
    if clock is None:
        return None
    seconds = 0.0
    for part in clock.split(":"):
        try:
            seconds = 60 * seconds + float(part or 0)
        except ValueError:
            return None
    return bounded_ms(seconds)
