"""The USI loop with a book."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.usi_gui import Gui, best
from worker.shogi import STARTPOS, Position
from worker.usi.options import OPTIONS, Options

AFTER_7G7F = "lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w - 2"
BOOK = f"""#YANEURAOU-DB2016 1.00
sfen {AFTER_7G7F}
8c8d none 5 20 1
sfen {STARTPOS}
1g1f 9c9d 10 20 5
1g1e none 9 20 4
"""


@pytest.fixture
def gui(tmp_path: Path) -> Iterator[Gui]:
    (tmp_path / "book.db").write_text(BOOK)
    gui = Gui()
    gui.send("setoption name USI_Hash value 16", f"setoption name BookDir value {tmp_path}")
    gui.send("setoption name BookFile value book.db", "isready")
    gui.until("readyok")
    yield gui
    gui.quit()


def test_a_book_move_is_played_at_once(gui: Gui) -> None:
    gui.send("position startpos", "go btime 600000 wtime 600000")
    lines = gui.until("bestmove")
    assert "1g1e is not legal" in lines[0]
    assert lines[1:] == ["info depth 20 multipv 1 score cp 10 pv 1g1f 9c9d", "bestmove 1g1f ponder 9c9d"]
    gui.send("position startpos moves 7g7f", "go btime 600000 wtime 600000")
    assert gui.until("bestmove")[-1] == "bestmove 8c8d"
    gui.send("stop")
    assert gui.silent(0.2)


def test_if_the_book_is_not_used_there_is_a_search(gui: Gui) -> None:
    for position, go in (
        ("startpos", "go depth 3 searchmoves 7g7f 2g2f"),
        ("startpos moves 2g2f", "go depth 3"),
    ):
        gui.send(f"position {position}", go)
        assert best(gui.until("bestmove")) != "1g1f"
    gui.send("position startpos", "go infinite")
    assert gui.silent(0.2)
    gui.send("stop")
    assert any(" nodes " in line for line in gui.until("bestmove"))
    gui.send("go mate infinite")
    gui.until("checkmate nomate")
    for option, value in (
        ("BookMoves", "0"),
        ("BookIgnoreRate", "100"),
        ("BookDepthLimit", "21"),
        ("USI_OwnBook", "false"),
    ):
        gui.send(f"setoption name {option} value {value}", "go depth 2")
        assert any(" nodes " in line for line in gui.until("bestmove"))
        gui.send(f"setoption name {option} value {OPTIONS[option].default}")


@pytest.mark.parametrize("stochastic", ["false", "true"])
def test_a_ponder_hit_is_answered_from_the_book(gui: Gui, stochastic: str) -> None:
    gui.send(f"setoption name Stochastic_Ponder value {stochastic}")
    gui.send("position startpos moves 7g7f", "go ponder btime 600000 wtime 600000")
    assert gui.silent(0.2)
    gui.send("ponderhit")
    lines = gui.until("bestmove")
    assert lines[-2:] == ["info depth 20 multipv 1 score cp 5 pv 8c8d", "bestmove 8c8d"]
    assert gui.silent(0.2)
    gui.send("position startpos moves 7g7f", "go ponder btime 600000 wtime 600000", "stop")
    position = Position.from_sfen(AFTER_7G7F if stochastic == "false" else STARTPOS)
    position.push_usi(best(gui.until("bestmove")))


def test_a_damaged_book_is_named_and_done_without(gui: Gui, tmp_path: Path) -> None:
    (tmp_path / "bad.db").write_text(BOOK + "7g")
    gui.send("setoption name BookFile value bad.db", "isready")
    error = gui.until("info string error")[-1]
    assert f"{tmp_path / 'bad.db'}: line 7 " in error
    assert "playing without a book" in error
    gui.until("readyok")
    gui.send("position startpos", "go depth 2")
    assert any(" nodes " in line for line in gui.until("bestmove"))


def test_a_name_that_no_book_can_have_is_done_without(gui: Gui) -> None:
    gui.send("setoption name BookFile value a\0b.db", "isready")
    assert "null byte; playing without a book" in gui.until("readyok")[-2]


def test_the_place_of_the_book() -> None:
    options = Options()
    assert options.book.file is None
    options.set("BookFile", "a.db")
    assert options.book.file == Path("book/a.db")
    options.set("BookFile", "/books/a.db")
    assert options.book.file == Path("/books/a.db")
    options.set("USI_OwnBook", "false")
    assert options.book.file is None
