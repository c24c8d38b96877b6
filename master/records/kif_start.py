"""The start position of a KIF or KI2 record: a handicap by its name, or a board diagram with the pieces in hand.

Source: the description of the format by the author of Kifu for Windows (kakinoki.o.oo7.jp/kif_format.html).
"""

from __future__ import annotations

import re
from typing import Final

from master.records.notation import PIECES, RANKS
from master.records.reading import RecordFault, Walk
from worker.shogi import STARTPOS, sfen
from worker.shogi.pieces import BLACK, KING, MAX_IN_GAME, WHITE, square
from worker.shogi.sfen import HANDICAPS, Setup

NAMES: Final = {
    "平手": STARTPOS,
    "香落ち": HANDICAPS["lance"],
    "右香落ち": HANDICAPS["right_lance"],
    "角落ち": HANDICAPS["bishop"],
    "飛車落ち": HANDICAPS["rook"],
    "飛香落ち": HANDICAPS["rook_lance"],
    "二枚落ち": HANDICAPS["2p"],
    "三枚落ち": "lnsgkgsn1/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "四枚落ち": HANDICAPS["4p"],
    "五枚落ち": HANDICAPS["5p"],
    "左五枚落ち": "1nsgkgs2/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "六枚落ち": HANDICAPS["6p"],
    "左七枚落ち": "2sgkg3/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "右七枚落ち": "3gkgs2/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "八枚落ち": HANDICAPS["8p"],
    "十枚落ち": HANDICAPS["10p"],
}
"""The start position of each handicap in the format's list."""
_OTHER: Final = "その他"

KINDS: Final = {name: kind for kind, name in enumerate(PIECES) if name} | {
    "王": KING,
    "竜": 14,
    "成香": 10,
    "成桂": 11,
    "成銀": 12,
}
"""Piece types by every name that the formats use."""
PIECE: Final = "成[香桂銀]|[歩香桂銀角飛金玉王と杏圭全馬龍竜]"
DIGITS: Final = str.maketrans("１２３４５６７８９０" + RANKS + "〇", "1234567890" + "123456789" + "0")

FILES_OVER_DIAGRAM: Final = re.compile(r"[\s　]*[9９][\s　]*[8８][\s　]*[7７][\s　]*[6６][\s　]*[5５][\s　]*[4４].*")
"""The line of files above a diagram, which carries no information."""
_EDGE: Final = re.compile(r"\s*\+-+\+?\s*")
_ROW: Final = re.compile(r"\s*\|(.*)\|\s*([一二三四五六七八九1-9１-９]?)[\s　]*")
_CELL: Final = re.compile(rf"[\s　]*(?:([v^Vｖ＾]?)[\s　]*({PIECE})|[・．.])")
_HELD: Final = re.compile(
    r"[\s　]*([歩香桂銀角飛金])(十[一二三四五六七八九]?|[一二三四五六七八九]|[0-9０-９]{1,2})?[\s　]*"
)
_TURN: Final = re.compile(r"(先手|下手|後手|上手)番[\s　]*")
_HANDS: Final = re.compile(r"(先手|下手|後手|上手)の?持[ち]?駒[：:](.*)")
_COUNT: Final = re.compile(r"手数[＝=](.*)")
_LAST: Final = re.compile(r"[▲△▽▼☗☖]?([1-9１-９])([一二三四五六七八九1-9１-９])")

BLACKS: Final = ("先手", "下手")


class Start:
    """The start position, line by line."""

    def __init__(self) -> None:
        self._handicap = ""
        self._handicap_line: int | None = None
        self._board = [0] * 81
        self._rows = 0
        self._hands = ([0] * 8, [0] * 8)
        self._turn: int | None = None
        self._last: int | None = None
        self._line: int | None = None
        """A line of the diagram."""
        self._hands_line: int | None = None

    def takes(self, line: str, number: int) -> bool:
        """Whether the line belongs to the position; if so, it is read. Raises RecordFault: it belongs to the position
        but cannot be read."""
        if (hands := _HANDS.fullmatch(line.strip())) is not None:
            self._hold(BLACK if hands[1] in BLACKS else WHITE, hands[2], number)
        elif (row := _ROW.fullmatch(line)) is not None:
            self._row(row[1], row[2], number)
        elif (turn := _TURN.fullmatch(line.strip())) is not None:
            self._turn = BLACK if turn[1] in BLACKS else WHITE
        elif (count := _COUNT.match(line.strip())) is not None:
            if (last := _LAST.search(count[1].translate(str.maketrans("　", " ")).partition(" ")[2])) is not None:
                self._last = square(int(last[1].translate(DIGITS)), int(last[2].translate(DIGITS)))
        else:
            return _EDGE.fullmatch(line) is not None
        return True

    def handicap(self, name: str, number: int) -> None:
        """``手合割：NAME``. Raises RecordFault: two different handicaps are given."""
        if self._handicap and name != self._handicap:
            raise RecordFault(f"手合割：{name}: the handicap stands twice", number)
        self._handicap, self._handicap_line = name, number

    def walk(self) -> Walk:
        """The game from here on. Raises RecordFault: an unlisted handicap without a diagram, half a diagram, or an
        impossible arrangement of pieces."""
        if self._rows:
            return self._from_diagram()
        name = self._handicap or "平手"
        if name not in NAMES:
            why = "needs a board diagram" if name == _OTHER else "is unknown, and no board diagram follows"
            raise RecordFault(f"手合割：{name} {why}", self._handicap_line)
        if any(map(any, self._hands)):
            raise RecordFault("pieces in hand without a board diagram", self._hands_line)
        walk = Walk(NAMES[name])
        if self._turn is not None and self._turn != walk.turn:
            raise RecordFault("the side to move is not that of the handicap, and there is no board diagram")
        return walk

    def _from_diagram(self) -> Walk:
        if self._rows != 9:
            raise RecordFault(f"the board diagram has {self._rows} ranks instead of 9", self._line)
        turn = self._turn
        if turn is None:  # white moves first from a handicap position, even if it is drawn
            turn = WHITE if self._handicap in NAMES and self._handicap != "平手" else BLACK
        setup = Setup(tuple(self._board), (tuple(self._hands[0]), tuple(self._hands[1])), turn, 1)
        walk = Walk(sfen.write(setup), self._line)
        walk.last = self._last
        return walk

    def _row(self, text: str, label: str, number: int) -> None:
        rank = self._rows + 1
        if rank > 9 or (label and int(label.translate(DIGITS)) != rank):
            raise RecordFault(f"{text!r}: not rank {rank} of the board diagram", number)
        self._line = number
        at = 0
        for file in range(9, 0, -1):
            cell = _CELL.match(text, at)
            if cell is None:
                raise RecordFault(f"rank {rank} of the board diagram: {text[at:]!r} is no piece on file {file}", number)
            if cell[2]:
                colour = WHITE if cell[1] in ("v", "V", "ｖ") and cell[1] else BLACK
                self._board[square(file, rank)] = colour << 4 | KINDS[cell[2]]
            at = cell.end()
        if text[at:].strip(" 　"):
            raise RecordFault(f"rank {rank} of the board diagram has more than nine squares", number)
        self._rows = rank

    def _hold(self, colour: int, text: str, number: int) -> None:
        """The pieces in hand: ``飛　歩十八``, ``なし``; in any order, and in any number of parts."""
        text = text.strip(" 　")
        self._hands_line = number
        at = 0
        while at < len(text) and text != "なし":
            held = _HELD.match(text, at)
            if held is None:
                raise RecordFault(f"{text[at:]!r} is no piece in hand", number)
            kind = KINDS[held[1]]
            self._hands[colour][kind] += _number(held[2]) if held[2] else 1
            if self._hands[colour][kind] > MAX_IN_GAME[kind]:
                raise RecordFault(f"more {held[1]} in hand than a set has", number)
            at = held.end()


def _number(text: str) -> int:
    if text.startswith("十"):
        return 10 + (int(text[1:].translate(DIGITS)) if text[1:] else 0)
    return int(text.translate(DIGITS))
