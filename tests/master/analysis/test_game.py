"""Records as games to analyse, and the positions to search."""

from __future__ import annotations

from pathlib import Path

import pytest

from master.analysis.game import GameFileError, RecordedGame, parse_games, read_games
from master.analysis.plan import Evaluation, evaluations, plan, searches
from master.records.reading import ReadMove
from tests.master.analysis.records import CSA, MATE, game
from worker.score import mate_in, mated_in
from worker.shogi import STARTPOS

KIF = """開始日時：2026/11/21
手合割：二枚落ち
下手：安奈
上手：弁太
手数----指手---------消費時間--
   1 ６二銀(71)   ( 0:07/00:00:07)
   2 ７六歩(77)   ( 0:05/00:00:05)
**評価値=700
   3 ５四歩(53)   ( 1:02/00:01:09)
**評価値=650
   4 中断
変化：2手
   2 ２六歩(27)
"""
KI2 = "先手：a\n後手：b\n手合割：平手\n▲７六歩 △３四歩\n*△△ a comment ▲\n▲２二角成 △同銀\nまで4手で中断\n"


def test_csa() -> None:
    found = game()
    assert found.names == ("anna", "bert & <son>")
    assert [move.usi for move in found.moves] == ["7g7f", "3c3d", "8h2b+", "3a2b"]
    assert [move.ms for move in found.moves] == [3000, 12000, 1000, 2000]
    assert [move.score for move in found.moves] == [30, -40, None, None]
    assert (found.ending, found.winner, found.event, found.stem) == ("RESIGN", 1, "cup", "game")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp932"])
def test_kif_in_any_encoding_with_a_handicap_and_a_branch(encoding: str) -> None:
    (found,) = parse_games(KIF.encode(encoding), "x.kif")
    assert found.names == ("安奈", "弁太")
    assert found.start_sfen.split()[1] == "w"
    assert [move.usi for move in found.moves] == ["7a6b", "7g7f", "5c5d"]
    assert [move.score for move in found.moves] == [None, 700, 650], "black's view after either side's move"
    assert (found.winner, found.ending) == (None, "INTERRUPT")


@pytest.mark.parametrize(("name", "text"), [("a.ki2", KI2), ("a.txt", KI2), ("a.txt", KIF), ("a", CSA)])
def test_the_format_is_found_by_name_or_content(name: str, text: str) -> None:
    (found,) = parse_games(text.encode(), name)
    assert len(found.moves) in (3, 4)


def test_csa_v3_with_several_games_in_one_file() -> None:
    other = CSA.replace("V2.2", "V3.0").replace("N+anna", "N+carl").replace("T3\n", "T3.250\n")
    first, second = parse_games(f"{CSA}/\n{other}/\n'the end\n".encode(), "two.csa")
    assert (first.source, second.source, second.stem) == ("two.csa#1", "two.csa#2", "two-2")
    assert (second.names[0], second.moves[0].ms) == ("carl", 3250)
    assert first.key == second.key, "the same game"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("x.csa", CSA.replace("-3334FU\n", "-3335FU\n"), "x.csa, line 10: move 2 is not legal"),
        ("x.csa", CSA + "/\n" + CSA.replace("+8822UM", "+8899KA"), "x.csa, line 31: move 3 is not legal"),
        ("x.csa", CSA.replace("+8822UM", "+8822XX"), "line 13: move 3"),
        ("x.csa", CSA.replace("T1\n", "T1\n%CHUDAN\n"), "line 16: move 4 cannot be read"),
        ("x.kif", KIF.replace("７六歩(77)", "７五歩(77)"), "x.kif, line 7: move 2 is not legal"),
        ("x.kif", KIF.replace("７六歩(77)", "７六と金"), "x.kif, line 7: move 2"),
        ("x.ki2", KI2.replace("▲２二角成", "▲２九角成"), "x.ki2, line 6: move 3 is not legal"),
        ("x.csa", "V2.2\nPI\n+\n%TORYO\n", "x.csa: no moves in it"),
        ("x.csa", "", "no moves"),
        ("x.csa", "hello\n", "x.csa, line 1: 'hello' is no line of a CSA record"),
    ],
)
def test_errors_name_file_and_line(name: str, text: str, words: str) -> None:
    with pytest.raises(GameFileError, match=words):
        parse_games(text.encode(), name)


@pytest.mark.parametrize(
    ("name", "text", "moves", "words"),
    [
        ("x.csa", CSA[: CSA.index("22UM")], 2, "x.csa, line 13: the record breaks off there; the 2 moves before it"),
        ("x.csa", CSA[: CSA.index("+8822UM") + 6], 2, "x.csa, line 13: the record breaks off there"),
        ("x.csa", CSA[: CSA.index("-3122GI")], 3, "x.csa: no ending after move 3: the record may be cut short"),
        ("x.csa", CSA + "/\n" + CSA[: CSA.index("+8822UM") + 4], 2, "x.csa, line 31: the record breaks off there"),
        ("x.kif", KIF[: KIF.index("７六歩(77)") + 2], 1, "x.kif, line 7: the record breaks off there; the 1 moves"),
    ],
)
def test_a_record_that_breaks_off_is_read_as_far_as_it_goes_and_says_so(
    name: str, text: str, moves: int, words: str
) -> None:
    last = parse_games(text.encode(), name)[-1]
    assert len(last.moves) == moves
    assert last.notice.startswith(words)


def test_other_bytes_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(GameFileError, match=r"x\.csa, line 2: neither UTF-8 nor Shift_JIS nor EUC-JP"):
        parse_games(b"V2.2\nN+\x81\x01\n", "x.csa")
    with pytest.raises(GameFileError, match=r"none\.csa: no such file"):
        read_games(tmp_path / "none.csa")


ONE_REPLY = "8k/7l1/9/9/9/9/9/9/4K3R w - 1"
"""The checked king has one square to go to."""


def played(sfen: str, *moves: str) -> RecordedGame:
    return RecordedGame("x.csa", 0, ("a", "b"), sfen, tuple(map(ReadMove, moves)))


def test_every_position_is_searched_once_the_last_one_first() -> None:
    points = plan(game())
    assert [point.ply for point in points] == [0, 1, 2, 3, 4]
    assert [len(moves) for moves in searches(points)] == [4, 3, 2, 1, 0]
    assert [point.turn for point in points] == [0, 1, 0, 1, 0]


def test_a_range_needs_the_position_after_its_last_move() -> None:
    points = plan(game(), 2, 3)
    assert [point.ply for point in points] == [1, 2, 3]
    assert [point.ply for point in plan(game(), 4, 99)] == [3, 4]
    for first, last in ((5, None), (3, 2)):
        with pytest.raises(GameFileError, match=r"game\.csa: no move from \d to \d: it has 4 moves"):
            plan(game(), first, last)


def test_a_mated_side_takes_no_search() -> None:
    points = plan(game(MATE))
    assert points[1].over == Evaluation(mated_in(0))
    assert searches(points) == [()]
    known = evaluations(points, {(): Evaluation(mate_in(1), "G*1b", ("G*1b",))})
    assert [one.score for one in known if one] == [mate_in(1), mated_in(0)]


def test_a_repetition_is_known_by_the_rules() -> None:
    shuffle = ("2h3h", "8b7b", "3h2h", "7b8b") * 3
    last = plan(played(STARTPOS, *shuffle))[-1]
    assert last.over == Evaluation(0)


def test_a_side_that_may_declare_has_won() -> None:
    first = plan(played("K1RR5/GGGG5/SSSS5/PPPP5/9/9/9/9/8k b 2BP 1", "6c5b"))[0]
    assert first.over == Evaluation(mate_in(1), "win", ("win",))
    assert first.search is None


def test_a_forced_reply_has_the_score_of_the_next_position() -> None:
    first = plan(played(ONE_REPLY, "1a2a"))[0]
    assert (first.choices, first.forced, first.search) == (1, ("1a2a",), ("1a2a",))
    (known,) = evaluations([first], {("1a2a",): Evaluation(mate_in(5), "1i1a+", ("1i1a+",), 7)})
    assert known == Evaluation(mated_in(6), "1a2a", ("1a2a", "1i1a+"), 7)


def test_a_missing_search_leaves_the_position_unknown() -> None:
    points = plan(game())
    known = evaluations(points, {(): Evaluation(5, "7g7f", ("7g7f",))})
    assert known[0] is not None and known[1:] == (None,) * 4


@pytest.mark.parametrize(("sfen", "words"), [("9/9 b - 1", "the start position"), (STARTPOS, "move 1")])
def test_impossible_games_are_refused(sfen: str, words: str) -> None:
    with pytest.raises(GameFileError, match=words):
        plan(played(sfen, "1a1i"))
