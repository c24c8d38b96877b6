from __future__ import annotations

from pathlib import Path

from rsshogi.record import Record

from master.analysis.files import annotated, write_game
from master.analysis.game import parse_games
from master.analysis.plan import Evaluation
from master.analysis.report import GameReport, ReportSettings, report
from master.csa.position import csa_from_sfen
from tests.master.analysis.records import MATE, blunder_report, evaluated, game
from worker.score import mate_in
from worker.shogi import HANDICAPS

SETTINGS = ReportSettings("Gougi", "50000 nodes a position")


def comments(text: str, *, kif: bool = False) -> list[list[str]]:
    record = Record.from_kif_str(text) if kif else Record.from_csa_str(text)
    return [(move.comment or "").splitlines() for move in record.moves]


def test_the_lines_that_shogihome_shows() -> None:
    record = annotated(blunder_report(), SETTINGS)
    for text, kif in ((record.to_csa(), False), (record.to_kif(), True)):
        first, second, third, _ = comments(text, kif=kif)
        own = ["読み筋=△３四歩"] if kif else []
        assert first == [*own, "#評価値=30", "#読み筋=△８四歩▲２六歩", "#深さ=9"], "black's view, black's best move"
        assert second[len(own) :] == [
            "悪手 (mistake): 勝率 -41%",
            "最善手 (best): △８四歩 +30 △８四歩▲２六歩",
            "#評価値=1500",
            "#読み筋=▲２二角成△同銀",
            "#深さ=9",
        ]
        assert third[0] == "#評価値=1500"


def test_a_mate_is_told_by_its_winner_and_length() -> None:
    of = game(MATE)
    points, found = evaluated(of, {0: Evaluation(mate_in(1), "G*2b", ("G*2b",))})
    (only,) = comments(annotated(report(of, points, found, None), SETTINGS).to_csa())
    assert only == ["#詰み=先手勝ち"], "it mates as the other one does: nothing was better"


def test_what_was_not_searched_has_no_comment_of_ours() -> None:
    of = game()
    points, found = evaluated(of, {})
    found.clear()
    assert comments(annotated(report(of, points, found, None), SETTINGS).to_csa()) == [[]] * 4


def test_the_files_are_in_the_encodings_that_other_programs_expect(tmp_path: Path) -> None:
    write_game(tmp_path, "one", blunder_report(), SETTINGS)
    record = annotated(blunder_report(), SETTINGS)
    assert (tmp_path / "one.annotated.kif").read_bytes().decode("shift_jis") == record.to_kif()
    assert (tmp_path / "one.annotated.csa").read_bytes().decode("utf-8") == record.to_csa()
    for path in tmp_path.glob("one.annotated.*"):
        (back,) = parse_games(path.read_bytes(), str(path))
        assert len(back.moves) == 4


def read(text: str, name: str = "a.kif") -> GameReport:
    """The report of a record's game without any search."""
    (of,) = parse_games(text.encode(), name)
    points, found = evaluated(of, {})
    found.clear()
    return report(of, points, found, None)


def test_what_windows_programs_write_in_kif_files_stays(tmp_path: Path) -> None:
    names = ("髙﨑", "①～－∥")
    comment = "波ダッシュ〜−‖"  # as other programs write them
    head = f"先手：{names[0]}\n後手：{names[1]}\n手数----指手---------消費時間--\n"
    write_game(tmp_path, "a", read(f"{head}*{comment}\n1 ７六歩(77)\n2 投了\n"), SETTINGS)
    text = (tmp_path / "a.annotated.kif").read_bytes().decode("cp932")
    assert all(name in text for name in names) and "波ダッシュ～－∥" in text and "?" not in text


KIF = """棋戦：順位戦
場所：東京
開始日時：2020/01/01(水) 10:00
終了日時：2020/01/01(水) 11:00
持ち時間：1時間30分+60秒
戦型：矢倉
記録係：某
手合割：二枚落ち
上手：い
下手：あ
手数----指手---------消費時間--
*はじめに
   1 ６二銀(71)   ( 0:03/00:00:03)
   2 ７六歩(77)   ( 0:10/00:00:10)+
**評価値=120
*歩
   3 ５四歩(53)   ( 0:01/00:00:04)
   4 不戦敗
*来ない
まで3手で上手の勝ち

変化：3手
   3 ３二金(41)
*変化の中
   4 ２六歩(27)+
   5 中断

変化：4手
   4 １六歩(17)   ( 1:00/00:01:10)

変化：2手
   2 ２六歩(27)
"""


def test_all_that_a_record_says_stays() -> None:
    record = annotated(read(KIF), SETTINGS)
    kif = record.to_kif().splitlines()
    assert kif == [
        "棋戦：順位戦",
        "開始日時：2020/01/01(水) 10:00",
        "終了日時：2020/01/01(水) 11:00",
        "持ち時間：1時間30分秒読み60秒",
        "場所：東京",
        "戦型：矢倉",
        "記録係：某",
        "下手：あ",
        "上手：い",
        "手合割：二枚落ち",
        "手数----指手---------消費時間--",
        "*はじめに",
        "*analysis: Gougi; 50000 nodes a position",
        "   1 ６二銀(71)   ( 0:03/00:00:03)",
        "   2 ７六歩(77)   ( 0:10/00:00:10)+",
        "**評価値=120",
        "*歩",
        "   3 ５四歩(53)   ( 0:01/00:00:04)+",
        "   4 不戦敗",
        "*来ない",
        "*DEFAULT, white wins",
        "まで3手で上手の勝ち",
        "",
        "変化：3手",
        "   3 ３二金(41)",
        "*変化の中",
        "   4 ２六歩(27)+",
        "   5 中断",
        "",
        "変化：4手",
        "   4 １六歩(17)   ( 1:00/00:01:10)",
        "",
        "変化：2手",
        "   2 ２六歩(27)",
    ]
    assert record.to_csa().splitlines() == [
        "'CSA encoding=UTF-8",
        "V3.0",
        "N+あ",
        "N-い",
        "$EVENT:順位戦",
        "$START_TIME:2020/01/01 10:00:00",
        "$END_TIME:2020/01/01 11:00:00",
        "$TIME:5400+60+0",
        "$SITE:東京",
        "$OPENING:矢倉",
        "'記録係：某",
        *csa_from_sfen(HANDICAPS["2p"]),
        "'*はじめに",
        "'*analysis: Gougi; 50000 nodes a position",
        "'*variations left out, which CSA does not have: 3",
        "-7162GI",
        "T3",
        "+7776FU",
        "T10",
        "'** 120",
        "'*歩",
        "-5354FU",
        "T1",
        "%TORYO",
        "'*来ない",
        "'*DEFAULT, white wins",
    ]
    again = annotated(read(record.to_kif()), SETTINGS)
    assert again.variations == record.variations
    assert again.time == record.time
