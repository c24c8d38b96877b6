"""CSA in the variants of real files: start positions, statements, endings, several games in a file; and encodings."""

from __future__ import annotations

import pytest

from master.analysis.game import GameFileError, RecordedGame, parse_games
from worker.shogi import STARTPOS

HEAD = "V2.2\nN+A\nN-B\n"
PLAYED = "+7776FU\nT3\n-3334FU\nT5\n"
ROWS = "P1 *  *  *  * -OU *  *  *  * \nP9 *  *  *  * +OU *  *  *  * \n"
KINGS = "4k4/9/9/9/9/9/9/9/4K4"


def read(text: str) -> RecordedGame:
    (game,) = parse_games(text.encode(), "x.csa")
    return game


@pytest.mark.parametrize(
    ("position", "start"),
    [
        ("P-11OU\nP+19OU\nP+00KI\nP-00AL\n+\n", "8k/9/9/9/9/9/9/9/8K b G2r2b3g4s4n4l18p 1"),
        ("P-11OU\nP+19OU21HI31RY\nP+00AL\n+\n", "6+RRk/9/9/9/9/9/9/9/8K b 2B4G4S4N4L18P 1"),
        ("P+19OU11KI21TO\nP-99OU\nP+00AL\n+\n", "7+PG/9/9/9/9/9/9/9/k7K b 2R2B3G4S4N4L17P 1"),
        (ROWS + "P+00FU00FU\nP-00HI\n+\n", f"{KINGS} b 2Pr 1"),
        (ROWS + "P-00HI\nP+00FU\nP+00FU\n+\n", f"{KINGS} b 2Pr 1"),
        (ROWS + "P+00FU00KI00FU00HI\nP+00KI\n-\n", f"{KINGS} w R2G2P 1"),
        (ROWS.replace(" * ", "*  ") + "+\n", f"{KINGS} b - 1"),
        (ROWS.replace(" * \n", " *\n") + "+\n", f"{KINGS} b - 1"),
        ("P-51OU\nP+59OU\nP-" + "00FU" * 18 + "\n+\n", f"{KINGS} b 18p 1"),
        ("PI82HI22KA\n-\n", "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ("PI,+\n", STARTPOS),
        ("'comment\nPI\n'* comment\n+\n", STARTPOS),
        ("", STARTPOS),
    ],
)
def test_start_positions(position: str, start: str) -> None:
    first = {"8k/": "+1918OU", "6+R": "+1918OU", "7+P": "+1918OU", "4k4": "+5958OU"}.get(start[:3], "+7776FU")
    if " w " in start:
        first = "-5142OU"
    game = read(f"{HEAD}{position}{first}\n%CHUDAN\n")
    assert game.start_sfen == start
    assert len(game.moves) == 1


@pytest.mark.parametrize(
    ("position", "words"),
    [
        ("P+10OU\n+\n", "line 4: 'P\\+10OU': 10OU is no piece on a square"),
        ("P+11OU\nP-11OU\n+\n", "line 5: 'P-11OU': 11 is already set"),
        ("P+19OU\nP0-KY\n+\n", "line 5: 'P0-KY' is no line of a position"),
        ("P+19OU\n", "line 5: '\\+1918OU': the side to move .* is missing before it"),
        ("+\n", "line 4: '\\+': no position before the side to move"),
        ("PI\n+\n-\n", "line 6: '-': the side to move stands twice"),
        ("PI\nhello\n+\n", "line 5: 'hello' is no line of a CSA record"),
        ("P+55HI56HI57HI19OU\n+\n", "the start position: 3 pieces of kind R"),
        ("P+19OU55FU56FU\n+\n", "the start position: two pawns of black on file 5"),
        ("P+19OU51FU\n+\n", "the start position: P on 5a has no move left"),
    ],
)
def test_a_position_is_read_completely_or_refused(position: str, words: str) -> None:
    with pytest.raises(GameFileError, match=f"x.csa, {words}|x.csa, line \\d: {words}"):
        read(f"{HEAD}{position}+1918OU\n%CHUDAN\n")


ENDS = {
    "TORYO": ("RESIGN", 1),
    "CHUDAN": ("INTERRUPT", None),
    "SENNICHITE": ("REPETITION_DRAW", None),
    "TIME_UP": ("TIMEOUT", 1),
    "ILLEGAL_MOVE": ("LOSE_BY_ILLEGAL_MOVE", 1),
    "+ILLEGAL_ACTION": ("WIN_BY_ILLEGAL_MOVE", 1),
    "-ILLEGAL_ACTION": ("WIN_BY_ILLEGAL_MOVE", 0),
    "JISHOGI": ("IMPASSE", None),
    "KACHI": ("WIN_BY_DECLARATION", 0),
    "HIKIWAKE": ("DRAW", None),
    "MAX_MOVES": ("MAX_MOVES", None),
    "MATTA": ("UNKNOWN", None),
    "TSUMI": ("MATE", 1),
    "FUZUMI": ("NO_MATE", None),
    "ERROR": ("UNKNOWN", None),
}


@pytest.mark.parametrize(("word", "end"), ENDS.items())
def test_endings(word: str, end: tuple[str, int | None]) -> None:
    game = read(f"{HEAD}PI\n+\n{PLAYED}%{word}\nT1\n'*said at the end\n'summary:any\n")
    assert (game.ending, game.winner) == end
    assert game.reading is not None
    assert (game.reading.end_comments, game.reading.end_ms) == (["said at the end"], 1000)


@pytest.mark.parametrize(
    ("end", "ending"),
    [
        ("'summary:sennichite:B draw:A draw\n", ("REPETITION_DRAW", None)),
        ("'summary:max_moves:A draw:B draw\n", ("MAX_MOVES", None)),
        ("'summary:time up:A lose:B win\n", ("TIMEOUT", 1)),
        ("'summary:oute_sennichite:B lose:A win\n", ("LOSE_BY_ILLEGAL_MOVE", 0)),
        ("'ILLEGAL_MOVE(+7675FU)\n'summary:illegal move:A lose:B win\n", ("LOSE_BY_ILLEGAL_MOVE", 1)),
        ("%KACHI\nT4\n%KACHI\n'summary:kachi:A win:B lose\n", ("WIN_BY_DECLARATION", 0)),
        ("%KACHI\nT4\n%KACHI\n'summary:illegal kachi:B win:A lose\n", ("LOSE_BY_ILLEGAL_MOVE", 1)),
        ("%TORYO\n'summary:abnormal:A lose:B win\n", ("RESIGN", 1)),
    ],
)
def test_endings_as_shogi_server_keeps_them(end: str, ending: tuple[str, int | None]) -> None:
    game = read(f"{HEAD}PI\n+\n{PLAYED}{end}'$END_TIME:2024/01/01 00:10:00\n")
    assert (game.ending, game.winner, game.notice) == (*ending, "")


def test_statements_and_times() -> None:
    game = read(f"{HEAD}PI,+\n+7776FU,T3\n-3334FU,T2.5\r\n'** 35 +2726FU #1200\n'*hello\n'plain\n%TORYO,T1\n")
    assert [(move.usi, move.ms, move.score) for move in game.moves] == [("7g7f", 3000, None), ("3c3d", 2500, 35)]
    entry = game.moves[1]
    assert (entry.comments, entry.nodes, entry.pv) == (["hello"], 1200, "+2726FU")


def test_a_comment_may_follow_in_the_line_of_a_statement() -> None:
    game = read(f"{HEAD}PI\n+\n+7776FU  ,T3   ,'T0      ,'7776\n-3334FU,T5,'** 35 +2726FU\n%KACHI,'* -5000 win\n")
    assert [(move.usi, move.ms, move.comments) for move in game.moves] == [("7g7f", 3000, []), ("3c3d", 5000, [])]
    assert (game.moves[1].score, game.moves[1].pv, game.ending) == (35, "+2726FU", "WIN_BY_DECLARATION")
    assert game.reading is not None
    assert game.reading.end_comments == ["-5000 win"]


@pytest.mark.parametrize(
    ("said", "pv", "more"),
    [
        ("-28 -3334FU %PASS -8384FU", "-3334FU", ["%PASS -8384FU"]),  # GPS Shogi
        ("-28 7g7f 8c8d", "", ["7g7f 8c8d"]),  # AobaZero
        ("-28 -3334FU #12", "-3334FU", []),
        ("-28", "", []),
    ],
)
def test_a_score_is_read_whatever_follows_it(said: str, pv: str, more: list[str]) -> None:
    game = read(f"{HEAD}PI\n+\n+7776FU\n'** {said}\n%TORYO\n")
    assert [(move.score, move.pv, move.comments) for move in game.moves] == [(-28, pv, more)]


@pytest.mark.parametrize("time", ["99999999999", "9" * 400])
def test_a_time_that_no_game_takes_is_none(time: str) -> None:
    head = f"{HEAD}$TIME:{time}+0+0\n$MAX_MOVES:{time}\n"
    (game,) = parse_games(f"{head}PI\n+\n+7776FU\nT{time}\n%TORYO\nT{time}\n".encode(), "x.csa")
    assert game.moves[0].ms is None


@pytest.mark.parametrize(
    ("end", "ending"),
    [
        ("%ILLEGAL_MOVE\n", ("LOSE_BY_ILLEGAL_MOVE", 1)),
        ("%-ILLEGAL_ACTION\n", ("LOSE_BY_ILLEGAL_MOVE", 1)),
        ("%TORYO\n", ("INTERRUPT", None)),
        ("", ("", None)),
    ],
)
@pytest.mark.parametrize("move", ["+8899UM", "+0055FU", "-8384FU", "+7775FU", "+7775TO"])
def test_a_game_that_ends_by_an_illegal_move_keeps_its_legal_ones(
    move: str, end: str, ending: tuple[str, int | None]
) -> None:
    game = read(f"{HEAD}PI\n+\n{PLAYED}{move}\nT1\n'* that was illegal\n{end}")
    assert len(game.moves) == 2
    assert game.notice.startswith("x.csa: move 3 is not legal") and game.notice.endswith("the record ends there")
    assert (game.ending, game.winner, game.moves[1].ms) == (*ending, 5000)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{HEAD}PI\n+\n{PLAYED}+7775FU\nhello\n", "line 10: move 3 is not legal"),
        (f"{HEAD}PI\n+\n{PLAYED}%TORYO\n+2726FU\n", "line 11: move 3 cannot be read .CSA.: '\\+2726FU'"),
        (f"{HEAD}PI\n+\n{PLAYED}%TORYO\n%CHUDAN\n", "line 11: move 3 cannot be read .CSA.: '%CHUDAN'"),
        (f"{HEAD}PI\n+\n{PLAYED}{HEAD}", "line 10: move 3 cannot be read .CSA.: 'V2.2'"),
        (f"{HEAD}PI\n+\n{PLAYED}Tx\n", "line 10: move 3 cannot be read .CSA.: 'Tx'"),
        (f"{HEAD}PI\n+\n+7775FU\n%ILLEGAL_MOVE\n", "line 6: move 1 is not legal"),
        (f"{HEAD}PI\n+\n-3334FU\n+7776FU\n", "line 6: move 1 is not legal: it is '\\+' to move"),
    ],
)
def test_an_unreadable_line_is_named(text: str, words: str) -> None:
    with pytest.raises(GameFileError, match=f"x.csa, {words}"):
        read(text)


def test_the_good_games_of_a_file_are_read_and_the_others_named() -> None:
    good = f"{HEAD}PI\n+\n{PLAYED}%TORYO\n"
    broken = good.replace("-3334FU", "-3335FU").replace("%TORYO", "+2726FU")
    text = "/\n".join((good, broken, "", f"{HEAD}PI\n+\n%TORYO\n", good, "'the end\n"))
    refused: list[str] = []
    games = parse_games(text.encode(), "x.csa", lambda error: refused.append(str(error)))
    assert [game.source for game in games] == ["x.csa#1", "x.csa#5"]
    assert refused == [
        "x.csa, line 19: move 2 is not legal",
        "x.csa, game 3: no moves in it (read as CSA)",
        "x.csa, game 4: no moves in it (read as CSA)",
    ]
    with pytest.raises(GameFileError, match="none of its 2 games can be used"):
        parse_games(f"{broken}/\n{broken}".encode(), "x.csa", lambda error: None)


NAMES = ("羽生善治", "かとう", "カトウ", "山田、太郎")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp932", "euc_jp"])
def test_encodings(name: str, encoding: str) -> None:
    (game,) = parse_games(f"V2.2\nN+{name}\nPI\n+\n{PLAYED}%TORYO\n".encode(encoding), "x.csa")
    assert game.names[0] == name


@pytest.mark.parametrize(
    ("declared", "encoding"), [("EUC-JP", "euc_jp"), ("SHIFT_JIS", "cp932"), ("Shift_JIS", "cp932"), ("UTF-8", "utf-8")]
)
@pytest.mark.parametrize("name", [*NAMES, "墺"])
def test_declared_encodings(declared: str, encoding: str, name: str) -> None:
    text = f"'CSA encoding={declared}\nV3.0\nN+{name}\nPI\n+\n{PLAYED}%TORYO\n"
    (game,) = parse_games(text.encode(encoding), "x.csa")
    assert game.names[0] == name
