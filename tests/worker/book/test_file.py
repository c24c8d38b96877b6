"""Book files: in memory, on the disk, against a dict and against rsshogi's reader; and damaged ones."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rsshogi.book import YaneuraOuBook

from benchmarks.playouts import positions
from worker.book import Book, BookError, BookMove
from worker.book import file as file_module
from worker.book.format import ranked, split_sfen
from worker.shogi import STARTPOS, move_to_usi

HEADER = "#YANEURAOU-DB2016 1.00\n"
AFTER_7G7F = "lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w - 2"
POOL = sorted({split_sfen(position.sfen())[0] for position in positions(seed=3, number=30)})
USI_MOVES = ("7g7f", "2g2f", "P*5e", "8h2b+", "5a4b")

entries = st.lists(
    st.tuples(
        st.sampled_from(POOL),
        st.integers(1, 3),
        st.lists(
            st.builds(
                BookMove,
                st.sampled_from(USI_MOVES),
                st.sampled_from((None, "3c3d")),
                st.integers(-3000, 3000),
                st.integers(0, 40),
                st.integers(0, 99),
            ),
            max_size=4,
        ),
    ),
    max_size=30,
)
Entries = list[tuple[str, int, list[BookMove]]]


def written(book: Entries, comments: bool = False) -> str:
    """A book's text."""
    lines = [HEADER.rstrip()]
    for key, ply, moves in book:
        lines.append(f"sfen {key} {ply}")
        if comments:
            lines += ["#NOTE sfen " + key, "", "// remark"]
        lines += [f"{m.move} {m.ponder or 'none'} {m.value} {m.depth} {m.count}" for m in moves]
    return "\n".join(lines) + "\n"


def save(text: str, path: Path, newline: str = "\n") -> Path:
    path.write_text(text, newline=newline)
    return path


@settings(max_examples=20)
@given(entries, st.booleans(), st.booleans(), st.sampled_from(("\n", "\r\n")))
def test_it_finds_the_same_as_a_dict(book: Entries, in_order: bool, comments: bool, newline: str) -> None:
    if in_order:
        book = sorted(book, key=lambda entry: entry[:2])
    truth: dict[tuple[str, int | None], list[BookMove]] = {}
    for key, ply, moves in book:
        truth.setdefault((key, ply), []).extend(moves)
        truth.setdefault((key, None), []).extend(moves)
    with tempfile.TemporaryDirectory() as folder:
        path = save(written(book, comments), Path(folder, "book.db"), newline)
        readers = [Book(path), Book(path, on_the_fly=True)] if in_order else [Book(path)]
        for reader in readers:
            for key in POOL:
                for ply in (1, 2, 3):
                    assert reader.find(f"{key} {ply}") == ranked(truth.get((key, ply), []))
                assert reader.find(f"{key} 9", any_ply=True) == ranked(truth.get((key, None), []))


def test_it_reads_the_same_as_rsshogi(tmp_path: Path) -> None:
    book: Entries = []
    for number, position in enumerate(positions(seed=8, number=40)):
        moves = [move_to_usi(move) for move in position.legal_moves()[:3]]
        key, ply = split_sfen(position.sfen())
        book.append((key, ply, [BookMove(move, None, number - at, at, 9 - at) for at, move in enumerate(moves)]))
    book = sorted({key: (key, ply, moves) for key, ply, moves in book}.values())
    path = save(written(book), tmp_path / "book.db")
    theirs = YaneuraOuBook.open(str(path))
    for ours in (Book(path), Book(path, on_the_fly=True)):
        for key, ply, moves in book:
            entry = theirs.lookup_sfen(f"{key} {ply}")
            assert ours.find(f"{key} {ply}") == moves
            assert [(str(m.mv), m.score, m.depth, m.count) for m in entry.moves] == [
                (m.move, m.value, m.depth, m.count) for m in moves
            ]


def test_missing_ends_and_a_byte_order_mark(tmp_path: Path) -> None:
    key, _ = split_sfen(STARTPOS)
    path = tmp_path / "book.db"
    path.write_bytes(b"\xef\xbb\xbf" + f"sfen {key}\r\n7g7f none".encode())
    for book in (Book(path), Book(path, on_the_fly=True)):
        assert book.find(f"{key} 77") == [BookMove("7g7f")], "no ply: any"
    for empty in ("", HEADER):
        for on_the_fly in (False, True):
            assert Book(save(empty, path), on_the_fly).find(STARTPOS) == []


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (f"{HEADER}sfen {STARTPOS}\n7g7f none x\n", "line 3 (byte 92)", "expected 'MOVE PONDER VALUE DEPTH COUNT'"),
        (f"{HEADER}sfen {STARTPOS}\n7g7f none 1\nsfen lnsg", "line 4 (byte 104)", "found 'sfen lnsg'"),
        (f"{HEADER}7g7f none 1\n", "line 2 (byte 23)", "a move before the first 'sfen' line"),
        ("PK\x03\x04 no book at all", "line 1 (byte 0)", "expected"),
    ],
)
def test_damage_is_named_when_the_book_is_opened(tmp_path: Path, text: str, place: str, words: str) -> None:
    path = save(text, tmp_path / "book.db")
    for on_the_fly in (False, True):
        with pytest.raises(BookError) as caught:
            Book(path, on_the_fly)
        assert str(path) in str(caught.value)
        assert place in str(caught.value)
        assert words in str(caught.value)


def test_an_unsorted_book_is_sorted_in_memory_and_refused_on_the_disk(tmp_path: Path) -> None:
    path = save(f"{HEADER}sfen {STARTPOS}\n7g7f none\nsfen {AFTER_7G7F}\n3c3d none\n", tmp_path / "book.db")
    assert Book(path).find(AFTER_7G7F) == [BookMove("3c3d")]
    with pytest.raises(BookError, match=r"book\.db: byte 102: positions are not sorted"):
        Book(path, on_the_fly=True)


def test_a_large_file_is_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_module, "_CHECK_WHOLE", 100)
    book: Entries = [(key, 1, [BookMove("7g7f", count=at)]) for at, key in enumerate(POOL)]
    path = save(written(book), tmp_path / "book.db")
    assert all(Book(path, on_the_fly=True).find(f"{key} 1")[0].count == at for at, key in enumerate(POOL))
    for damage, words in (
        (written(book[::-1]), "not sorted"),
        (written(book) + "7g", "expected"),
        ("x" * 200, "no 'sfen' line"),
    ):
        with pytest.raises(BookError, match=words):
            Book(save(damage, path), on_the_fly=True)
    # A line that the samples miss causes an error of the lookup, not a crash or a wrong move.
    save(written(book).replace("7g7f none 0 0 17\n", "7g7f none 0 0 ?\n"), path)
    reader = Book(path, on_the_fly=True)
    assert reader.find(f"{POOL[16]} 1") == [BookMove("7g7f", count=16)]
    with pytest.raises(BookError, match=r"byte \d+: expected 'MOVE"):
        reader.find(f"{POOL[17]} 1")


def test_no_file(tmp_path: Path) -> None:
    for on_the_fly in (False, True):
        with pytest.raises(BookError, match=r"no\.db"):
            Book(tmp_path / "no.db", on_the_fly)
        with pytest.raises(BookError, match="a folder, not a file"):
            Book(tmp_path, on_the_fly)
