from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rsshogi.record import Record

from master.records.lines import RecordedMove
from master.records.read_csa import read_csa
from master.records.read_kif import read_kif
from master.records.record import Ending, RecordError, RecordFile, Variation
from tests.master.command import ROOT
from tests.master.records.games import START, record


def test_rsshogi_reads_our_records(tmp_path: Path) -> None:
    file = RecordFile(tmp_path, record(ending=Ending("RESIGN", winner=0)))
    file.write(file.record.text())
    assert file.path is not None
    back = Record.from_csa_file(str(file.path))
    assert file.path.read_text().splitlines()[:2] == ["'CSA encoding=UTF-8", "V3.0"]
    assert [str(entry.move.to_usi()) for entry in back.moves] == ["7g7f", "3c3d", "2g2f"]
    assert [entry.time_ms for entry in back.moves] == [3000, 500, 0]
    first = back.moves[0].engine_info
    assert (first.eval, first.nodes, first.extras["csa_pv"]) == (55, 12345, "-3334FU +2726FU")
    assert back.moves[1].comment == "book"
    assert back.moves[2].engine_info.eval == -31990
    assert (back.metadata.black_player, back.metadata.white_player) == ("alice", "bob")
    assert back.metadata.max_moves == 256
    assert back.metadata.time_control.increment_seconds == 5
    assert back.result.is_black_win()


@pytest.mark.parametrize(
    ("plies", "ending", "line"),
    [
        (1, Ending("RESIGN", 0), "%TORYO"),
        (2, Ending("RESIGN", 1), "%TORYO"),
        (1, Ending("TIME_UP", 0), "%TIME_UP"),
        (1, Ending("ILLEGAL_MOVE", 0), "%ILLEGAL_MOVE"),
        (1, Ending("JISHOGI", 1), "%KACHI"),
        (1, Ending("SENNICHITE"), "%SENNICHITE"),
        (1, Ending("OUTE_SENNICHITE", 0), "%ILLEGAL_MOVE"),
        (1, Ending("OUTE_SENNICHITE", 1), "%+ILLEGAL_ACTION"),
        (2, Ending("OUTE_SENNICHITE", 0), "%-ILLEGAL_ACTION"),
        (3, Ending("MAX_MOVES"), "%MAX_MOVES"),
        (3, Ending("MAX_MOVES", 0), "%TORYO"),  # mated by the last move before the limit
        (3, Ending("CHUDAN"), "%CHUDAN"),
        (3, Ending("disconnected"), "%CHUDAN"),
        (2, Ending("RESIGN", 0), "%-ILLEGAL_ACTION"),  # out of turn, by leaving: the leaver loses by his action
        (3, Ending("RESIGN", 1), "%+ILLEGAL_ACTION"),
        (2, Ending("METEORITE", 0), "%CHUDAN"),
        (2, Ending("RESIGN"), "%CHUDAN"),
    ],
)
def test_endings(plies: int, ending: Ending, line: str) -> None:
    ended = record(moves=record().moves[:plies], ending=ending)
    text = ended.to_csa()
    assert line in text.splitlines()
    if line == "%CHUDAN":
        assert ending.reason in text.splitlines()[-1]
    from_csa, from_kif = Record.from_csa_str(text), Record.from_kif_str(ended.to_kif())
    assert from_kif.result.is_draw() == from_csa.result.is_draw()
    if line != "%CHUDAN":
        assert from_kif.result.is_black_win() == from_csa.result.is_black_win()


def test_kif_has_a_comment_for_ends_without_a_word() -> None:
    broken = record(ending=Ending("disconnected", comment="the line broke"))
    text = broken.to_kif()
    assert "*disconnected: the line broke" in text.splitlines()
    assert broken.to_kif() == text, "said once, however often it is written"
    assert "中断" in text


def test_kif(tmp_path: Path) -> None:
    file = RecordFile(tmp_path, record(ending=Ending("RESIGN", winner=0)))
    file.write(file.record.text())
    path = file.take_name().with_suffix(".kif")
    lines = path.read_text(encoding="shift_jis").splitlines()
    assert "   1 ７六歩(77)   ( 0:03/00:00:03)" in lines
    assert lines[lines.index("**評価値=55") + 1] == "**読み筋=△３四歩 ▲２六歩"
    back = Record.from_kif_file(str(path))
    assert [str(entry.move.to_usi()) for entry in back.moves] == ["7g7f", "3c3d", "2g2f"]
    assert [entry.time_ms for entry in back.moves] == [3000, 0, 0]  # whole seconds
    assert [entry.engine_info and entry.engine_info.eval for entry in back.moves] == [55, None, -31990]
    assert back.moves[1].comment == "book"
    assert (back.metadata.black_player, back.metadata.white_player) == ("alice", "bob")
    assert back.result.is_black_win()


def test_the_total_time_of_an_end_includes_the_moves() -> None:
    end = Ending("RESIGN", 1, consumed_ms=5000)
    moves = [*record().moves[:1], RecordedMove("3c3d", 1000)]
    lines = record(moves=moves, ending=end, variations=[Variation(2, moves[1:], end)]).to_kif().splitlines()
    assert [line for line in lines if "投了" in line] == ["   3 投了         ( 0:05/00:00:08)"] * 2


@pytest.mark.parametrize("first", ["b", "w"])
def test_scores_are_from_blacks_view_in_both_formats(tmp_path: Path, first: str) -> None:
    start = START if first == "b" else "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"
    moves = [RecordedMove(usi, 0, score=score) for usi, score in (("7g7f", 60), ("3c3d", 70), ("2g2f", -80))]
    if first == "w":
        moves = [RecordedMove(usi, 0, score=score) for usi, score in (("3c3d", 60), ("7g7f", 70), ("8c8d", -80))]
    file = RecordFile(tmp_path, record(start_sfen=start, moves=moves))
    file.write(file.record.text())
    kif = file.take_name().with_suffix(".kif").read_text(encoding="shift_jis")
    assert [line for line in kif.splitlines() if "評価値" in line] == ["**評価値=60", "**評価値=70", "**評価値=-80"]
    csa = file.take_name().read_text()
    assert [line for line in csa.splitlines() if line.startswith("'*")] == ["'** 60", "'** 70", "'** -80"]


def test_a_variation_is_told_as_far_as_it_is_legal() -> None:
    odd = RecordedMove("7g7f", 0, score=1, pv=("-3334FU", "+8822UM", "+8822UM"))
    text = record(moves=[odd]).to_kif()
    assert "**読み筋=△３四歩 ▲２二角成" in text.splitlines()


def test_an_ending_with_a_comment() -> None:
    text = record(ending=Ending("OUTE_SENNICHITE", 0, comment="perpetual check")).to_csa()
    assert text.splitlines()[-1] == "'*OUTE_SENNICHITE, black wins: perpetual check"


def test_an_ending_with_a_comment_of_several_lines_can_be_read_again() -> None:
    """The last words of an engine that crashed: its progress, each over the one before."""
    crashed = record(ending=Ending("CRASH", 0, "stderr: 1 %\r2 %\u2028out of memory"))
    for read, text in ((read_csa, crashed.to_csa()), (read_kif, crashed.to_kif())):
        back = read(text.splitlines())
        assert [move.usi for move in back.moves] == ["7g7f", "3c3d", "2g2f"]
    assert "'*CRASH, black wins: stderr: 1 % 2 % out of memory" in crashed.to_csa()


def test_a_perpetual_check_is_told_from_an_illegal_move() -> None:
    """No format has a word for it."""
    check, foul = (record(ending=Ending(reason, 0)) for reason in ("OUTE_SENNICHITE", "ILLEGAL_MOVE"))
    for text, other in ((check.to_csa(), foul.to_csa()), (check.to_kif(), foul.to_kif())):
        assert "OUTE_SENNICHITE, black wins" in text
        assert "wins" not in other


def test_a_game_that_goes_on_has_no_ending() -> None:
    text = record().to_csa()
    assert "%" not in text
    assert Record.from_csa_str(text).move_count == 3


def test_written_after_every_move_and_never_half(tmp_path: Path) -> None:
    file = RecordFile(tmp_path, record(moves=[]))
    for count, move in enumerate(record().moves, start=1):
        file.record.moves.append(move)
        file.write(file.record.text())
        assert Record.from_csa_file(str(file.path)).move_count == count
        kif = file.take_name().with_suffix(".kif")
        assert Record.from_kif_file(str(kif)).move_count == count
    assert set(tmp_path.iterdir()) == {file.path, kif}


def test_a_second_record_of_the_same_game_gets_a_name_of_its_own(tmp_path: Path) -> None:
    first, second = RecordFile(tmp_path, record()), RecordFile(tmp_path, record())
    assert first.take_name().name == "test+g-60-5F+alice+bob+20261121082246.csa"
    assert second.take_name().name == "test+g-60-5F+alice+bob+20261121082246.2.csa"


def test_a_hostile_game_id_stays_in_the_folder(tmp_path: Path) -> None:
    file = RecordFile(tmp_path / "records", record(game_id="../../etc/passwd\x00" + "x" * 300))
    file.write(file.record.text())
    assert file.take_name().parent == tmp_path / "records"


def test_an_illegal_move_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = RecordFile(tmp_path, record())
    file.write(file.record.text())
    path = file.take_name()
    before = path.read_text()
    file.record.moves.append(RecordedMove("7g7f", 0))
    with pytest.raises(RecordError, match="cannot be written"):
        file.write(file.record.text())
    assert path.read_text() == before
    assert len(list(tmp_path.iterdir())) == 2


def test_a_name_whose_kif_is_taken(tmp_path: Path) -> None:
    (tmp_path / "test+g-60-5F+alice+bob+20261121082246.kif").write_text("another program's")
    file = RecordFile(tmp_path, record())
    file.write(file.record.text())
    assert file.take_name().name == "test+g-60-5F+alice+bob+20261121082246.2.csa"


SAVES = """
import sys
from pathlib import Path
from tests.master.records.games import record
from master.records.record import RecordFile
from master.records.lines import RecordedMove

file = RecordFile(Path(sys.argv[1]), record())
while True:
    file.write(file.record.text())
    print(len(file.record.moves), flush=True)
    for usi in ("8b7b", "2h3h", "7b8b", "3h2h"):
        file.record.moves.append(RecordedMove(usi, 1000, score=5))
"""


@pytest.mark.slow
def test_kill_dash_nine_leaves_whole_records(tmp_path: Path) -> None:
    """At any moment: the last saved state is there, in both formats."""
    program = subprocess.Popen(
        [sys.executable, "-c", SAVES, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    for _ in range(20):
        saved = int(program.stdout.readline())
    program.kill()
    saved = int((program.stdout.read().split() or [saved])[-1])
    assert program.wait() == -signal.SIGKILL
    (path,) = tmp_path.glob("*.csa")
    for back in (Record.from_csa_file(str(path)), Record.from_kif_file(str(path.with_suffix(".kif")))):
        assert back.move_count >= saved
        assert back.main_terminal is None
