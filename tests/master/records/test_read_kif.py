"""KIF and KI2 in the variants of real files: start positions, ignored lines, moves, endings, variations."""

from __future__ import annotations

from typing import Any

import pytest

from master.analysis.game import GameFileError, RecordedGame, parse_games
from master.records.reading import Line
from worker.shogi import STARTPOS

HEAD = "手合割：平手\n先手：A\n後手：B\n手数----指手---------消費時間--\n"
FIRST = "   1 ７六歩(77)   ( 0:01/00:00:01)\n"
SECOND = "   2 ３四歩(33)   ( 0:01/00:00:01)\n"
EMPTY = "| ・ ・ ・ ・ ・ ・ ・ ・ ・|"
TOP, BOTTOM = "| ・ ・ ・ ・v玉 ・ ・ ・ ・|一\n", "| ・ ・ ・ ・ 玉 ・ ・ ・ ・|九\n"
DIAGRAM = (
    "後手の持駒：飛\n  ９ ８ ７ ６ ５ ４ ３ ２ １\n+---------------------------+\n"
    + TOP
    + "".join(f"{EMPTY}{rank}\n" for rank in "二三四五六七八")
    + BOTTOM
    + "+---------------------------+\n先手の持駒：歩二\n"
)
KINGS = "4k4/9/9/9/9/9/9/9/4K4"
DROP = "   1 ３三歩打     ( 0:01/00:00:01)\n"


def read(text: str, name: str = "x.kif") -> RecordedGame:
    (game,) = parse_games(text.encode(), name)
    return game


def moves(text: str, name: str = "x.kif") -> list[str]:
    return [move.usi for move in read(text, name).moves]


@pytest.mark.parametrize(
    ("text", "start"),
    [
        (DIAGRAM + DROP, f"{KINGS} b 2Pr 1"),
        (DIAGRAM.replace("  ９ ８ ７ ６ ５ ４ ３ ２ １", "  9 8 7 6 5 4 3 2 1") + DROP, f"{KINGS} b 2Pr 1"),
        (DIAGRAM + "手数＝30  ▲６二角成  まで\n" + DROP, f"{KINGS} b 2Pr 1"),
        (DIAGRAM.replace("歩二", "　歩十八　角　金四　") + DROP, f"{KINGS} b B4G18Pr 1"),
        (DIAGRAM.replace("歩二", "金 歩18 角") + DROP, f"{KINGS} b BG18Pr 1"),
        (DIAGRAM.replace("歩二", "歩１１ 銀") + DROP, f"{KINGS} b S11Pr 1"),
        (DIAGRAM.replace("歩二", "金　歩二　金二") + DROP, f"{KINGS} b 3G2Pr 1"),
        (DIAGRAM + "先手の持駒：桂\n" + DROP, f"{KINGS} b N2Pr 1"),
        (DIAGRAM.replace("飛", "なし") + DROP, f"{KINGS} b 2P 1"),
        (DIAGRAM.replace("先手", "下手").replace("後手", "上手") + DROP, f"{KINGS} b 2Pr 1"),
        (DIAGRAM + "後手番\n   1 ５二玉(51)\n", f"{KINGS} w 2Pr 1"),
        (DIAGRAM + "上手番\n手合割：その他\n   1 ５二玉(51)\n", f"{KINGS} w 2Pr 1"),
        ("手合割：トンボ\n" + DIAGRAM + DROP, f"{KINGS} b 2Pr 1"),
        ("手合割：十枚落ち\n" + DIAGRAM + "   1 ５二玉(51)\n", f"{KINGS} w 2Pr 1"),
        (DIAGRAM.replace("v玉", "v王").replace("玉", "王") + DROP, f"{KINGS} b 2Pr 1"),
    ],
)
def test_board_diagrams(text: str, start: str) -> None:
    assert read(text + "   2 中断\n").start_sfen == start


@pytest.mark.parametrize(
    ("piece", "letter"),
    [("と", "+P"), ("杏", "+L"), ("成香", "+L"), ("圭", "+N"), ("全", "+S"), ("馬", "+B"), ("龍", "+R"), ("竜", "+R")],
)
def test_promoted_pieces_of_a_diagram(piece: str, letter: str) -> None:
    text = DIAGRAM.replace(f"{EMPTY}五", f"| ・ ・ ・ ・ {piece} ・ ・v{piece} ・|五").replace("飛", "なし")
    assert read(text + DROP).start_sfen == f"4k4/9/9/9/4{letter}2{letter.lower()}1/9/9/9/4K4 b 2P 1"


def test_the_first_move_after_a_diagram_may_go_to_the_square_of_the_one_before() -> None:
    text = DIAGRAM.replace(f"{EMPTY}二", "| ・ ・ ・ 馬 ・ ・ ・ ・ ・|二") + "手数＝171  ▲６二角成  まで\n後手番\n"
    assert moves(text + "   1 同　玉(51)\n") == ["5a6b"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("手合割：トンボ\n" + FIRST, "line 1: 手合割：トンボ is unknown"),
        ("手合割：七枚落ち\n" + FIRST, "line 1: 手合割：七枚落ち is unknown"),
        ("手合割：その他\n" + FIRST, "line 1: 手合割：その他 needs a board diagram"),
        ("手合割：平手\n手合割：香落ち\n" + FIRST, "line 2: 手合割：香落ち: the handicap stands twice"),
        ("先手の持駒：歩\n" + FIRST, "line 1: pieces in hand without a board diagram"),
        (DIAGRAM.replace("歩二", "歩二と") + DROP, "line 14: 'と' is no piece in hand"),
        (DIAGRAM.replace("歩二", "歩十九") + DROP, "line 14: more 歩 in hand"),
        (DIAGRAM.replace("飛", "飛三") + DROP, "line 1: more 飛 in hand"),
        (DIAGRAM.replace("v玉", "v象") + DROP, "line 4: rank 1 of the board diagram: ' *v象"),
        (DIAGRAM.replace("v玉", "v玉 ・") + DROP, "line 4: rank 1 of the board diagram has more than nine squares"),
        (DIAGRAM.replace("v玉 ・", "v玉") + DROP, "line 4: rank 1 of the board diagram: '' is no piece on file 1"),
        (DIAGRAM.replace(BOTTOM, "") + DROP, "the board diagram has 8 ranks instead of 9"),
        (DIAGRAM.replace(f"{EMPTY}五\n", "") + DROP, "line 8: .* not rank 5 of the board diagram"),
        (DIAGRAM.replace("歩二", "飛二") + DROP, "the start position: 3 pieces of kind R"),
        (DIAGRAM + "これは何\n" + DROP, "line 15: 'これは何' is no line of a KIF record"),
        (HEAD + FIRST + "what\n" + SECOND, "line 6: move 2 cannot be read"),
        (HEAD + FIRST + SECOND + HEAD + FIRST, "line 7: 手合割：平手: a second game begins"),
        (HEAD + FIRST + "   2 投了\n" + SECOND, "line 7: move 2 cannot be read"),
        (HEAD + "   1 同　歩(77)\n", "line 5: move 1 cannot be read"),
        (HEAD + "   1 ７六歩\n" + SECOND, "line 5: move 1 cannot be read"),
        (HEAD + "   1 ７六飛(77)\n" + SECOND, "line 5: move 1 is not legal"),
        (HEAD + "   1 ７六歩成(77)\n" + SECOND, "line 5: move 1 is not legal"),
    ],
)
def test_an_unreadable_line_is_named(text: str, words: str) -> None:
    with pytest.raises(GameFileError, match=words):
        read(text)


@pytest.mark.parametrize(
    ("name", "board"),
    [
        ("香落ち", "lnsgkgsn1/1r5b1"),
        ("右香落ち", "1nsgkgsnl/1r5b1"),
        ("角落ち", "lnsgkgsnl/1r7"),
        ("飛車落ち", "lnsgkgsnl/7b1"),
        ("飛香落ち", "lnsgkgsn1/7b1"),
        ("二枚落ち", "lnsgkgsnl/9"),
        ("三枚落ち", "lnsgkgsn1/9"),
        ("四枚落ち", "1nsgkgsn1/9"),
        ("五枚落ち", "2sgkgsn1/9"),
        ("左五枚落ち", "1nsgkgs2/9"),
        ("六枚落ち", "2sgkgs2/9"),
        ("左七枚落ち", "2sgkg3/9"),
        ("右七枚落ち", "3gkgs2/9"),
        ("八枚落ち", "3gkg3/9"),
        ("十枚落ち", "4k4/9"),
    ],
)
def test_every_handicap_of_the_list(name: str, board: str) -> None:
    text = f"手合割：{name}　　\n下手：a\n上手：b\n   1 ５二玉(51)\n   2 ７六歩(77)\n   3 投了\n"
    game = read(text)
    assert game.start_sfen == f"{board}/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"
    assert (game.names, len(game.moves), game.winner) == (("a", "b"), 2, 0)


def test_no_handicap_is_the_usual_start() -> None:
    assert read(FIRST).start_sfen == STARTPOS


PASSED_OVER = ("#--separator--", "&しおり", "*comment", "", "　", "# 変化", "備考：text", "盤面回転")


@pytest.mark.parametrize("line", PASSED_OVER)
@pytest.mark.parametrize("place", range(8))
def test_lines_that_the_format_allows_are_passed_over_wherever_they_stand(line: str, place: int) -> None:
    lines = (HEAD + FIRST + SECOND + "   3 投了\nまで2手で後手の勝ち\n").splitlines()
    lines.insert(place, line)
    game = read("\n".join(lines) + "\n")
    assert [move.usi for move in game.moves] == ["7g7f", "3c3d"]
    assert (game.ending, game.winner, game.notice) == ("RESIGN", 1, "")


@pytest.mark.parametrize("line", ["#--", "&mark", "*comment", "手数＝0  まで"])
@pytest.mark.parametrize("place", [0, 1, 4, 8, 13, 14])
def test_lines_that_are_passed_over_in_a_diagram(line: str, place: int) -> None:
    lines = (DIAGRAM + DROP).splitlines()
    lines.insert(place, line)
    assert read("\n".join(lines) + "\n").start_sfen == f"{KINGS} b 2Pr 1"


@pytest.mark.parametrize(
    "line",
    [
        "1 ７六歩(77)",
        "   1 76歩(77)   ( 0:01/00:00:01)",
        "   1 ▲７六歩(77)",
        "   1 ７六歩（７７）",
        "   1   ７六歩(77)   ( 0:01/00:00:01)+",
        "   1 ７六歩(77) (00:01 / 00:00:01)",
        "001 ７六歩(77)   (0:01/)",
        "   1 ７六歩(77)   ( 0:01/00:00:01) ( 0:00/00:00:00)",  # IS Shogi
    ],
)
def test_spellings_of_a_move(line: str) -> None:
    assert moves(HEAD + line + "\n   2 中断\n") == ["7g7f"]


def test_times() -> None:
    text = HEAD + FIRST.replace("0:01/", "12:05/") + SECOND.replace("0:01/", "1:02:03/")
    assert [move.ms for move in read(text).moves] == [725_000, 3_723_000]


ENDS = {
    "中断": ("INTERRUPT", None),
    "投了": ("RESIGN", 0),
    "持将棋": ("IMPASSE", None),
    "千日手": ("REPETITION_DRAW", None),
    "詰み": ("MATE", 0),
    "切れ負け": ("TIMEOUT", 0),
    "Time-up": ("TIMEOUT", 0),  # 81Dojo
    "反則勝ち": ("WIN_BY_ILLEGAL_MOVE", 1),
    "反則負け": ("LOSE_BY_ILLEGAL_MOVE", 0),
    "入玉勝ち": ("WIN_BY_DECLARATION", 1),
    "不戦勝": ("WIN_BY_DEFAULT", 1),
    "不戦敗": ("LOSE_BY_DEFAULT", 0),
    "不詰": ("NO_MATE", None),
    "最大手数": ("MAX_MOVES", None),
    "封じ手": ("UNKNOWN", None),
}


@pytest.mark.parametrize(("word", "end"), ENDS.items())
def test_endings(word: str, end: tuple[str, int | None]) -> None:
    """White is to move after one move from the usual start."""
    game = read(HEAD + FIRST + f"   2 {word}         ( 0:03/00:00:04)\n*said at the end\n")
    assert (game.ending, game.winner) == end
    assert game.reading is not None
    assert game.reading.end_comments == ["said at the end"]


@pytest.mark.parametrize(
    ("line", "end"),
    [
        ("まで2手で後手の勝ち", ("RESIGN", 1)),
        ("まで2手で先手の勝ち", ("RESIGN", 0)),
        ("まで2手で千日手", ("REPETITION_DRAW", None)),
        ("まで2手で持将棋", ("IMPASSE", None)),
        ("まで2手で中断", ("INTERRUPT", None)),
        ("まで2手で時間切れにより後手の勝ち", ("TIMEOUT", 1)),
        ("まで、2手で上手の反則勝ち", ("WIN_BY_ILLEGAL_MOVE", 1)),
        ("まで2手で先手の反則負け", ("LOSE_BY_ILLEGAL_MOVE", 1)),
        ("まで2手で先手の入玉勝ち", ("WIN_BY_DECLARATION", 0)),
    ],
)
@pytest.mark.parametrize("name", ["x.kif", "x.ki2"])
def test_the_last_line_tells_the_result(line: str, end: tuple[str, int | None], name: str) -> None:
    played = FIRST + SECOND if name == "x.kif" else "▲７六歩　△３四歩\n"
    game = read(f"先手：A\n{played}{line}\n", name)
    assert (game.ending, game.winner, len(game.moves)) == (*end, 2)


ILLEGAL = HEAD + FIRST + SECOND + "   3 ２二角成(88)\n   4 ４二玉(51)\n   5 ３一馬(22)\n   6 ９四歩(93)\n"


@pytest.mark.parametrize(
    ("end", "ending"),
    [
        ("   7 反則勝ち\n*王手放置の反則\nまで6手で先手の勝ち\n", ("LOSE_BY_ILLEGAL_MOVE", 0)),
        ("   7 反則負け\n", ("LOSE_BY_ILLEGAL_MOVE", 0)),
        ("まで6手で先手の反則勝ち\n", ("LOSE_BY_ILLEGAL_MOVE", 0)),
        ("   7 投了\n", ("INTERRUPT", None)),
        ("*反則手にて終局", ("LOSE_BY_ILLEGAL_MOVE", 0)),
        ("", ("", None)),
    ],
)
def test_a_game_that_ends_by_an_illegal_move_keeps_its_legal_ones(end: str, ending: tuple[str, int | None]) -> None:
    game = read(ILLEGAL + end)
    assert [move.usi for move in game.moves] == ["7g7f", "3c3d", "8h2b+", "5a4b", "2b3a"]
    assert game.notice == "x.kif: move 6 is not legal; it was left out, and the record ends there"
    assert (game.ending, game.winner) == ending


def test_another_end_after_the_end_is_passed_over() -> None:
    game = read(HEAD + FIRST + "   2 投了   ( 0:00/01:00:00)\n   3 中断   ( 0:00/01:00:00)\nまで2手で中断\n")
    assert (game.ending, game.winner, len(game.moves)) == ("RESIGN", 0, 1)


def test_81dojo_tells_a_fallen_flag_in_a_comment() -> None:
    game = read(HEAD + "1   ７六歩(77)   (0:4/0:0:4)\n2   ３四歩(33)   (0:13/0:0:13)\n*時間切れにて終局")
    assert (game.ending, game.winner, game.notice) == ("TIMEOUT", 1, "")


VARIED = (
    HEAD
    + FIRST
    + SECOND
    + "   3 投了\n\n変化：3手\n   3 ２六歩(27)\n   4 ８四歩(83)\n   5 中断\n"
    + "変化：4手\n   4 ４四歩(43)\n*said\n変化：2手\n   2 ８四歩(83)+\n   3 ２六歩(27)\n変化：1手\n   1 ２六歩(27)\n"
)


def tree(line: Line | None, first: int = 0) -> dict[str, Any]:
    """The moves of a line from an index on, and those beside them, each with those after it."""
    assert line is not None
    beside = line.moves[first].beside if first < len(line.moves) else line.after
    own = {line.moves[first].usi: tree(line, first + 1)} if first < len(line.moves) else {}
    return {**own, **{move: after for other in beside for move, after in tree(other).items()}}


@pytest.mark.parametrize("name", ["x.kif", "x.ki2"])
def test_variations_stay_in_the_record(name: str) -> None:
    text = VARIED
    if name == "x.ki2":
        text = (
            "先手：A\n▲７六歩　△３四歩\nまで2手で後手の勝ち\n\n変化：3手\n▲２六歩　△８四歩\n変化：4手\n△４四歩\n"
            "変化：2手\n△８四歩　▲２六歩\n変化：1手\n▲２六歩\n"
        )
    game = read(text, name)
    assert ([move.usi for move in game.moves], game.notice) == (["7g7f", "3c3d"], "")
    assert tree(game.reading) == {
        "7g7f": {"3c3d": {"2g2f": {"8c8d": {}, "4c4d": {}}}, "8c8d": {"2g2f": {}}},
        "2g2f": {},
    }


def test_any_number_of_variations_at_one_move() -> None:
    moves = ("２六歩(27)", "１六歩(17)", "９六歩(97)", "３六歩(37)") * 400
    text = HEAD + FIRST + "   2 投了\n" + "".join(f"変化：1手\n   1 {move}\n" for move in moves)
    reading = read(text).reading
    assert reading is not None
    lines: list[Line] = [reading]
    found = []
    while lines:
        first = lines.pop().moves[0]
        found.append(first.usi)
        lines += first.beside
    assert set(found) == {"7g7f", "2g2f", "1g1f", "9g9f", "3g3f"}


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ("変化：2手\n   2 ８四歩(83)\n   3 ２五歩(27)\n", {"8c8d": {}}),
        ("変化：2手\n   2 ８四歩(83)\n   3 what\nnonsense\n", {"8c8d": {}}),
        ("変化：9手\n   9 ８四歩(83)\n", {}),
        ("変化：\n   2 ８四歩(83)\n", {}),
    ],
)
def test_a_variation_that_cannot_be_read_is_named_and_kept_as_far_as_it_goes(more: str, kept: dict[str, Any]) -> None:
    game = read(HEAD + FIRST + SECOND + "   3 投了\n\n" + more)
    assert len(game.moves) == 2
    assert game.notice == "x.kif: 1 of 1 variations (変化) cannot be read to their end, the first in line 9"
    assert tree(game.reading) == {"7g7f": {"3c3d": {}, **kept}}


KI2 = "先手：a\n後手：b\n\n"


@pytest.mark.parametrize("text", ["▲７六歩　△３四歩", "▲７６歩 △34歩", "▲76歩△3四歩", "☗７六歩☖３四歩", "７六歩 34歩"])
@pytest.mark.parametrize("after", ["", "\n# x", "\n&mark", "\n*▲ said △"])
def test_spellings_of_ki2(text: str, after: str) -> None:
    assert moves(f"{KI2}{text}{after}\nまで2手で中断\n", "x.ki2") == ["7g7f", "3c3d"]


def ki2(board: str, text: str, hands: str = "") -> list[str]:
    """The moves of a KI2 from a position that is given by its ranks, in half the letters."""
    head = "".join(f"{who}の持駒：{hands}\n" for who in (["先手"] if hands else []))
    return moves(f"{head}{board}\n{text}\n", "x.ki2")


def diagram(**ranks: str) -> str:
    """A diagram that is empty but for some ranks, each the piece by file: ``r5="4 玉 6v金"``."""
    rows = []
    for number, name in enumerate("一二三四五六七八九", start=1):
        cells = [" ・"] * 9
        for cell in ranks.get(f"r{number}", "").split():
            cells[9 - int(cell[0])] = cell[1:].rjust(2)
        rows.append(f"|{''.join(cells)}|{name}")
    return "\n".join(rows)


PINNED = diagram(r1="5v飛", r7="5金", r8="7金", r9="5玉 1v玉")
"""The gold on 5g is pinned by the rook: of the two that reach 6h, the one on 7h alone may go there."""


@pytest.mark.parametrize(
    ("board", "text", "move"),
    [
        (PINNED, "▲６八金", "7h6h"),
        (PINNED, "▲６八金寄", "7h6h"),
        (PINNED, "▲６八金左", "7h6h"),
        (diagram(r1="1v玉", r9="5玉 7金 3金"), "▲６八金", "7i6h"),
        (diagram(r1="1v玉", r9="6金 4金 9玉"), "▲５八金左", "6i5h"),
        (diagram(r1="1v玉", r9="6金 4金 9玉"), "▲５八金右", "4i5h"),
        (diagram(r1="1v玉", r9="6金 5金 9玉"), "▲５八金直", "5i5h"),
        (diagram(r1="1v玉", r8="6金", r9="5金 9玉"), "▲５八金寄", "6h5h"),
        (diagram(r1="1v玉", r8="6金", r9="5金 9玉"), "▲５八金上", "5i5h"),
        (diagram(r1="1v玉", r4="6銀", r6="6銀", r9="9玉"), "▲５五銀引", "6d5e"),
        (diagram(r1="1v玉", r4="6銀", r6="6銀", r9="9玉"), "▲５五銀上", "6f5e"),
        (diagram(r1="1v玉", r4="6銀 4銀", r6="6銀 4銀", r9="9玉"), "▲５五銀左引", "6d5e"),
        (diagram(r1="1v玉", r4="6銀 4銀", r6="6銀 4銀", r9="9玉"), "▲５五銀右上", "4f5e"),
        (diagram(r1="1v玉", r5="9龍 1龍", r9="9玉"), "▲５五龍左", "9e5e"),
        (diagram(r1="1v玉", r5="9竜 1竜", r9="9玉"), "▲５五竜右", "1e5e"),
        (diagram(r1="9v玉", r3="8飛", r4="1飛", r9="9玉"), "▲８四飛引不成", "8c8d"),
        (diagram(r1="9v玉", r3="8飛", r9="9玉"), "▲８四飛成", "8c8d+"),
        (diagram(r1="9v玉", r3="8飛", r9="9玉"), "▲８四飛生", "8c8d"),
        (diagram(r1="9v玉", r3="2成銀", r9="9玉"), "▲２二成銀", "2c2b"),
        (diagram(r1="9v玉", r3="2全", r9="9玉"), "▲２二全", "2c2b"),
    ],
)
def test_pieces_of_ki2_by_their_words(board: str, text: str, move: str) -> None:
    assert ki2(board, text) == [move]


def test_white_counts_left_and_right_from_its_own_side() -> None:
    board = diagram(r1="6v金 4v金 9v玉", r9="1玉")
    assert moves(f"{board}\n後手番\n△５二金左\n", "x.ki2") == ["4a5b"]
    assert moves(f"{board}\n後手番\n△５二金右\n", "x.ki2") == ["6a5b"]


def test_drops_of_ki2() -> None:
    board = diagram(r1="1v玉", r8="5金", r9="9玉")
    assert ki2(board, "▲５七金", "金") == ["5h5g"]
    assert ki2(board, "▲５七金打", "金") == ["G*5g"]
    assert ki2(board, "▲５五金", "金") == ["G*5e"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("▲５八金", "move 1 cannot be read .*fits several pieces"),
        ("▲５八金左 △１二玉 ▲５七銀 △１一玉", "move 3 is not legal"),
        ("△５八金左 ▲１二玉", "move 1 is not legal: △５八金左, and it is black to move"),
        ("▲５八金左 hello △１二玉", "move 2 cannot be read .*: 'hello △１二玉'"),
        ("▲同金 △１二玉", "move 1 cannot be read .*no move before it"),
    ],
)
def test_unreadable_ki2(text: str, words: str) -> None:
    with pytest.raises(GameFileError, match=f"x.ki2, line 10: {words}"):
        ki2(diagram(r1="1v玉", r9="6金 4金 9玉"), text)


def test_the_format_is_guessed_of_a_diagram_without_moves() -> None:
    with pytest.raises(GameFileError, match=r"no moves in it \(read as KIF\)"):
        read(DIAGRAM, "x")
