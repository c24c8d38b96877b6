"""``gougi book`` as a user meets it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from master.book.learned import FinishedGame, LearnedBook
from master.book.lessons import BookSearch, Lesson
from master.commands.book import app
from master.commands.common import CommandError
from tests.master.book.games import record
from tests.master.command import Running
from worker.book import Book
from worker.shogi import STARTPOS

ANY = ("--min-plies", "1", "--plies", "8", "--min-games", "1", "--jobs", "1")


@pytest.fixture(autouse=True)
def _own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def run(*words: str) -> object:
    return app(args=list(words), standalone_mode=False)


@pytest.fixture
def games(tmp_path: Path) -> Path:
    folder = tmp_path / "games"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.csa").write_text(record())
    (folder / "short.csa").write_text(record(["7g7f"]))
    return folder


def test_from_records_to_a_book_and_back(games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("import", "--from", "games", "--out", "book.db", *ANY, "--min-plies", "2")
    told = capsys.readouterr().out
    assert "games taken: 3" in told
    assert "left out, too short: 1" in told
    assert "book.db: 8 positions" in told
    assert Book(tmp_path / "book.db").find(STARTPOS)[0].count == 3

    run("import", "--from", "games", "--out", "learned.sqlite", *ANY, "--min-plies", "2")
    assert "positions with 8 moves added" in capsys.readouterr().out
    run("export", "again.db", "--book", "learned.sqlite")
    assert "again.db: " in capsys.readouterr().out
    assert Book(tmp_path / "again.db", on_the_fly=True).find(STARTPOS)[0].move == "7g7f"


def test_show(games: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("import", "--from", "games", "--out", "book.db", *ANY)
    with LearnedBook(Path("learned.sqlite")) as book:
        book.keep(STARTPOS, BookSearch("2g2f", 31, 14, 2.5, ("2g2f", "8c8d"), studied=True))
    capsys.readouterr()
    run("show", "--book", "book.db", "--book", "learned.sqlite")
    told = capsys.readouterr().out
    assert "☗７六歩" in told
    assert "3c3d" in told
    assert "☗２六歩 ☖８四歩" in told
    assert "2.50 reference seconds, studied after a lost game" in told
    run("show", STARTPOS, "9g9f", "--book", "book.db")
    assert "book.db: no candidates" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("import", "--from", "games", "--out", "book.txt"), "expected a name that ends in .db or .sqlite"),
        (("import", "--from", "nowhere", "--out", "book.db"), "nowhere: no such file or folder"),
        (("import", "--from", ".", "--out", "book.db"), "no .csa files in ."),
        (("import", "--from", "a.db", "--from", "games", "--out", "book.db"), "cannot be mixed"),
        (("import", "--from", "a.db", "--out", "a.db"), "merged into itself"),
        (("import", "--from", "a.db", "--out", "b.db", "--min-games", "2"), "--min-games: it chooses from records"),
        (("import", "--from", "a.db", "--out", "b.db", "--merge-colours"), "--merge-colours: it chooses from records"),
        (("import", "--from", "a.db", "--out", "b.db"), "a.db: no such file"),
        (("stats",), "no book that learns"),
        (("stats", "none.sqlite"), "none.sqlite: no such file"),
        (("learn",), "no book that learns"),
        (("learn", "--book", "none.sqlite"), "none.sqlite: no such file"),
        (("show",), "no book: give --book FILE"),
        (("show", "7g7e", "--book", "a.db"), "position: move 1"),
        (("show", "a b c 1", "--book", "a.db"), "position: "),
        (("export", "out.txt", "--book", "none.sqlite"), "expected a name that ends in .db"),
    ],
)
def test_errors_are_one_line(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(CommandError) as error:
        run(*words)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_no_game_is_left(games: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandError, match="none of 4 games can be used"):
        run("import", "--from", "games", "--out", "book.db", "--min-rating", "4000", "--min-plies", "1")
    assert "rating too low, or unknown: 4" in capsys.readouterr().out
    assert not Path("book.db").exists()


def test_an_unsorted_book_is_shown_unless_it_stays_on_the_disk(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    late = "sfen 9/9/9/9/9/9/9/9/9 b - 1\n7g7f\n"
    Path("a.db").write_text(f"sfen {STARTPOS}\n2g2f none 0 0 5\n" + late)
    run("show", "--book", "a.db")
    assert "☗２六歩" in capsys.readouterr().out
    monkeypatch.setenv("GOUGI_BOOK_ON_THE_FLY", "true")
    with pytest.raises(CommandError, match="not sorted"):
        run("show", "--book", "a.db")


def test_an_unsorted_book_cannot_be_merged() -> None:
    late, early = "sfen 9/9/9/9/9/9/9/9/9 b - 1\n7g7f\n", "sfen 1/9/9/9/9/9/9/9/9 b - 1\n7g7f\n"
    Path("a.db").write_text(late + early)
    with pytest.raises(CommandError, match="the books have to be sorted"):
        run("import", "--from", "a.db", "--out", "b.db")
    assert not Path("b.db").exists()


def test_a_position_without_a_ply_stays_without(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A book gives it at any ply, also merged with one that has a ply, and by way of a book that learns."""
    key, move = STARTPOS.removesuffix(" 1"), "2g2f 8c8d 10 32 1"
    Path("any.db").write_text(f"#YANEURAOU-DB2016 1.00\nsfen {key}\n{move}\n")
    Path("third.db").write_text(f"#YANEURAOU-DB2016 1.00\nsfen {key} 3\n{move}\n")
    run("import", "--from", "any.db", "--out", "copy.db")
    assert Path("copy.db").read_text().splitlines()[1:] == [f"sfen {key}", move]
    run("import", "--from", "third.db", "--from", "any.db", "--out", "both.db")
    run("import", "--from", "any.db", "--out", "learned.sqlite")
    run("export", "again.db", "--book", "learned.sqlite")
    for name in ("copy.db", "both.db", "again.db"):
        assert Book(tmp_path / name).find(f"{key} 7")[0].move == "2g2f", name
    run("import", "--from", "third.db", "--out", "copy.db")
    assert not Book(tmp_path / "copy.db").find(f"{key} 7") and Book(tmp_path / "copy.db").find(f"{key} 3")


def test_merging_keeps_the_deeper_line_and_a_known_reply(tmp_path: Path) -> None:
    for name, moves in (("a.db", "7g7f none 50 30 4\n2g2f 8c8d 1 5 2"), ("b.db", "7g7f 3c3d -9 6 9\n2g2f none 7 8 1")):
        Path(name).write_text(f"#YANEURAOU-DB2016 1.00\nsfen {STARTPOS}\n{moves}\n")
    for order in (("a.db", "b.db"), ("b.db", "a.db")):
        run("import", "--from", order[0], "--from", order[1], "--out", "both.db")
        lines = Path("both.db").read_text().splitlines()[2:]
        assert lines == ["7g7f 3c3d 50 30 13", "2g2f 8c8d 7 8 3"]


def test_nothing_to_learn(capsys: pytest.CaptureFixture[str]) -> None:
    LearnedBook(Path("learned.sqlite")).close()
    assert run("learn", "--book", "learned.sqlite") == 0
    assert "nothing is left to study" in capsys.readouterr().out


@pytest.mark.slow
def test_ctrl_c_stops_learning_and_the_queue_stays(tmp_path: Path) -> None:
    path = tmp_path / "learned.sqlite"
    with LearnedBook(path) as book:
        long = Lesson(STARTPOS, (), STARTPOS, 1, 600.0)
        book.add_game(FinishedGame("a", "b", 0, "LOSE", "RESIGN"), [Lesson(STARTPOS, ("7g7f",), AFTER, 2, 0.05), long])
    running = Running(("book", "learn", "--book", str(path), "--single"), tmp_path)
    try:
        running.wait_for("1 left")
        running.press_ctrl_c()
        assert running.end() == 130
        assert "the same command goes on" in running.output
        assert not running.left_behind()
    finally:
        running.kill()
    with LearnedBook(path) as book:
        left = book.next_lesson()
        assert left is not None
        assert replace(left, pieces=()) == long  # with what it had found until then, if it had begun
        assert book.search_of(AFTER) is not None


AFTER = "lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w - 2"
