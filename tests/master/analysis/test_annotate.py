from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rsshogi.record import Record

from master.analysis.annotate import annotated
from master.analysis.files import write_game
from master.analysis.game import parse_games
from master.analysis.plan import Evaluation
from master.analysis.report import Settings, report
from master.records.kif import kif_bytes
from tests.master.analysis.records import MATE, blunder_report, evaluated, game
from worker.score import mate_in

SETTINGS = Settings("Gougi", "50000 nodes a position")


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


def test_the_players_own_scores_and_times_stay() -> None:
    for name, text in (
        ("a.csa", annotated(blunder_report(), SETTINGS).to_csa()),
        ("a.kif", annotated(blunder_report(), SETTINGS).to_kif()),
    ):
        (back,) = parse_games(text.encode(), name)
        assert [move.own_score for move in back.moves] == [30, -40, None, None]
        assert [move.ms for move in back.moves] == [3000, 12000, 1000, 2000]
        assert back.names == ("anna", "bert & <son>")
        assert (back.key, back.winner) == (game().key, 1)


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


def test_what_windows_programs_write_in_kif_files_stays(tmp_path: Path) -> None:
    whole = blunder_report()
    names = ("髙﨑", "①～－∥")
    comment = "波ダッシュ〜−‖"  # as others write them
    head = f"先手：{names[0]}\n後手：{names[1]}\n手数----指手---------消費時間--\n"
    moves = "1 ７六歩(77)\n2 ３四歩(33)\n3 ２二角成(88)\n4 同　銀(31)\n5 投了\n"
    record = Record.from_kif_str(f"{head}*{comment}\n{moves}")
    write_game(tmp_path, "a", replace(whole, game=replace(whole.game, record=record)), SETTINGS)
    text = (tmp_path / "a.annotated.kif").read_bytes().decode("cp932")
    assert all(name in text for name in names) and "波ダッシュ～－∥" in text and "?" not in text


def test_whatever_shift_jis_has_stays_in_a_kif_file() -> None:
    had = [sign for sign in map(chr, range(0x20, 0x10000)) if sign.encode("shift_jis", "ignore") and sign != "?"]
    assert len(had) > 6000
    assert [sign for sign in had if kif_bytes(sign) == b"?"] == []


def test_a_file_with_a_name_that_is_no_text_has_a_page(tmp_path: Path) -> None:
    whole = blunder_report()
    named = replace(whole, game=replace(whole.game, file="\udc8a\udcfb.kif"))
    write_game(tmp_path, "a", named, SETTINGS)
    assert (tmp_path / "a.html").read_text(encoding="utf-8").count("</html>") == 1
