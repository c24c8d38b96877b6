"""YaneuraOu's binary book and Apery's: looked up as a dict would, damaged ones, keys and packed positions."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from rsshogi.core import Board

from worker.book import BookError, BookMove, BookPlayer, BookSettings, open_file
from worker.book.binary import YBB_MAGIC, AperyBook, YbbBook, apery_key, mersenne64, packed_sfen
from worker.book.format import flip_key, flip_move, split_sfen
from worker.shogi import STARTPOS, Position
from worker.shogi.sfen import parse


def walk(plies: int) -> list[str]:
    """The positions of a random game."""
    rng, position, found = random.Random(3), Position.startpos(), []
    for _ in range(plies):
        position.push(rng.choice(position.legal_moves()))
        found.append(position.sfen())
    return found


POOL = walk(30)
SUIT = "8l/1l+R2P3/p2pBG1pp/kps1p4/Nn1P2G2/P1P1P2PP/1PS6/1KSG3+r1/LN2+p3L w Sbgn3p 124"
Entry = tuple[str, list[tuple[int, int, int]]]
"""A position, and its moves: (move of 16 bits, value, depth)."""


def move16(usi: str) -> int:
    """YaneuraOu's 16 bits."""
    target = (int(usi[2]) - 1) * 9 + "abcdefghi".index(usi[3])
    if usi[1] == "*":
        return 1 << 14 | " PLNSBRG".index(usi[0]) << 7 | target
    origin = (int(usi[0]) - 1) * 9 + "abcdefghi".index(usi[1])
    return (usi.endswith("+") << 15) | origin << 7 | target


def ybb(entries: list[Entry], *, depth: bool = True, sort: bool = True) -> bytes:
    """The bytes of a book."""
    made = [(packed_sfen(parse(sfen)), split_sfen(sfen)[1], moves) for sfen, moves in entries]
    if sort:
        made.sort()
    index, moves_part = b"", b""
    for packed, ply, moves in made:
        index += struct.pack("<32sQHH", packed, len(moves_part), ply, len(moves))
        for move in moves:
            moves_part += struct.pack("<HhH", *move) if depth else struct.pack("<Hh", *move[:2])
    return struct.pack("<16sQQ", YBB_MAGIC, len(made), int(depth)) + index + moves_part


def saved(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


BOOK: list[Entry] = [
    (sfen, [(move16("7g7f"), 10 + number, 20), (move16("P*5e"), -30, 5), (move16("8h2b+"), 99, number)])
    for number, sfen in enumerate(POOL)
]


def test_the_twister_is_the_standards() -> None:
    """The 10,000th number by default (ISO C++, [rand.predef]), and the first."""
    numbers = mersenne64(10_000)
    assert numbers[0] == 14514284786278117030
    assert numbers[9_999] == 9981545732273789042


@pytest.mark.parametrize("sfen", [STARTPOS, SUIT, *POOL[:8]])
def test_packed_positions_are_the_fields(sfen: str) -> None:
    packed = packed_sfen(parse(sfen))
    board = Board()
    board.set_packed_sfen(packed)
    assert board.to_sfen().split()[:3] == Board(sfen).to_sfen().split()[:3]


def test_positions_without_all_pieces_have_none() -> None:
    assert packed_sfen(parse("4k4/9/9/9/9/9/9/9/4K4 b - 1")) == b""
    assert packed_sfen(parse("9/9/9/9/9/9/9/9/4K4 b - 1")) == b""


@pytest.mark.parametrize("on_the_fly", [False, True])
@pytest.mark.parametrize("depth", [False, True])
def test_it_finds_every_position_and_no_other(tmp_path: Path, on_the_fly: bool, depth: bool) -> None:
    book = open_file(saved(tmp_path / "own.ybb", ybb(BOOK[::2], depth=depth)), on_the_fly)
    for number, sfen in enumerate(POOL):
        key, ply = split_sfen(sfen)
        expected = [
            BookMove("8h2b+", None, 99, number if depth else 0, 0),
            BookMove("7g7f", None, 10 + number, 20 if depth else 0, 0),
            BookMove("P*5e", None, -30, 5 if depth else 0, 0),
        ]
        expected.sort(key=lambda move: -move.value)
        there = expected if number % 2 == 0 else []
        assert book.find(sfen) == there
        assert book.find(f"{key} {ply + 1}") == []
        assert book.find(f"{key} {ply + 1}", any_ply=True) == there
    assert book.find("4k4/9/9/9/9/9/9/9/4K4 b - 1", any_ply=True) == []


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[:20], "byte 20: it ends inside its header"),
        (lambda data: data[:-300], "ends inside a position's moves"),
        (
            lambda data: data[:16] + b"\xff" * 8 + data[24:],
            "it ends inside the index of its 18,446,744",
        ),
        (lambda data: data[:24] + b"\x02" + data[25:], r"not a book of this version \(flags 2\)"),
        (lambda data: b"Y" * len(data), "no YaneuraOu binary book: it begins with b'YYYY"),
        (lambda data: ybb(BOOK[::-1], sort=False), "positions are not sorted"),
    ],
)
def test_damaged_books(tmp_path: Path, damage: Callable[[bytes], bytes], message: str) -> None:
    path = saved(tmp_path / "own.ybb", damage(ybb(BOOK)))
    with pytest.raises(BookError, match=message):
        [*map(open_file(path).find, POOL)]


def apery(entries: list[tuple[str, int, int, int]]) -> bytes:
    """The bytes of a book.bin: (position, move of 16 bits, count, score) each."""
    return b"".join(struct.pack("<QHHi", apery_key(parse(sfen)), *rest) for sfen, *rest in entries)


def test_apery(tmp_path: Path) -> None:
    bishop_takes = move16("8h2b+") & 0x3FFF | 1 << 14
    drop = (81 + 1 - 1) << 7 | move16("P*5e") & 127
    entries = [(sfen, move16("7g7f"), number, 15) for number, sfen in enumerate(POOL)]
    entries += [(sfen, bishop_takes, 50, -15) for sfen in POOL] + [(sfen, drop, 100, 3) for sfen in POOL]
    book = open_file(saved(tmp_path / "book.bin", apery(entries)))
    assert isinstance(book, AperyBook)
    for number, sfen in enumerate(POOL):
        assert set(book.find(sfen)) == {
            BookMove("P*5e", None, 3, 256, 100),
            BookMove("8h2b+", None, -15, 256, 50),
            BookMove("7g7f", None, 15, 256, number),
        }
    assert book.find(STARTPOS) == []


def test_apery_keys_tell_positions_apart() -> None:
    """By board, by the side to move, and by the mover's hand; the other's hand follows from them."""
    keys = {apery_key(parse(sfen)) for sfen in POOL}
    assert len(keys) == len({split_sfen(sfen)[0] for sfen in POOL})
    board = STARTPOS.split()[0]
    assert apery_key(parse(f"{board} b - 1")) != apery_key(parse(f"{board} w - 1"))


def test_what_is_no_apery_book(tmp_path: Path) -> None:
    with pytest.raises(BookError, match=r"book\.bin: 17 bytes: a book\.bin has 16 for each move"):
        open_file(saved(tmp_path / "book.bin", bytes(17)))
    with pytest.raises(BookError, match=r"byte 0: no move; is it a book\.bin\?"):
        open_file(saved(tmp_path / "book.bin", b"\xff" * 160))
    with pytest.raises(BookError, match="no such file"):
        open_file(tmp_path / "none.bin")


class TestSeveral:
    def settings(self, path: Path) -> BookSettings:
        return BookSettings(file=path, depth_limit=0, eval_diff=0, eval_limits=(-9999, -9999))

    def moves(self, folder: Path, name: str) -> list[str | None]:
        player = BookPlayer(random.Random(1))
        player.open(self.settings(folder / name))
        after = Position.startpos()
        after.push_usi("5g5f")
        return [player.reply(position, self.settings(folder / name)).move for position in (Position.startpos(), after)]

    def test_the_first_that_knows_the_position_speaks(self, tmp_path: Path) -> None:
        after = Position.startpos()
        after.push_usi("5g5f")
        text = f"#YANEURAOU-DB2016 1.00\nsfen {STARTPOS}\n7g7f none 10 20 1\nsfen {after.sfen()}\n3c3d none 10 20 1\n"
        (tmp_path / "user.db").write_text("".join([text.splitlines(keepends=True)[i] for i in (0, 1, 2, 3, 4)]))
        assert self.moves(tmp_path, "user.db") == ["7g7f", "3c3d"]
        saved(tmp_path / "user-001.ybb", ybb([(STARTPOS, [(move16("5g5f"), 1, 1)])]))
        assert self.moves(tmp_path, "user.db") == ["7g7f", "3c3d"], "001 without 000 does not count"
        saved(tmp_path / "user-000.ybb", ybb([(STARTPOS, [(move16("2g2f"), 1, 1)])]))
        assert self.moves(tmp_path, "user.db") == ["2g2f", "3c3d"]

    def test_the_binary_book_of_a_name_that_is_not_there(self, tmp_path: Path) -> None:
        saved(tmp_path / "user.ybb", ybb([(STARTPOS, [(move16("2g2f"), 1, 1)])]))
        assert self.moves(tmp_path, "user.db")[0] == "2g2f"

    def test_a_name_that_is_as_long_as_names_may_be(self, tmp_path: Path) -> None:
        name = f"{'n' * 252}.db"
        saved(tmp_path / name, f"sfen {STARTPOS}\n7g7f none 10 20 1\n".encode())
        assert self.moves(tmp_path, name) == ["7g7f", None]
        with pytest.raises(BookError, match="name too long"):
            BookPlayer(random.Random(1)).open(self.settings(tmp_path / f"n{name}"))

    def test_a_position_turned_around(self, tmp_path: Path) -> None:
        key = flip_key(split_sfen(STARTPOS)[0])
        saved(tmp_path / "user.ybb", ybb([(f"{key} 1", [(move16(flip_move("2g2f")), 1, 1)])]))
        assert isinstance(open_file(tmp_path / "user.ybb"), YbbBook)
        assert self.moves(tmp_path, "user.ybb")[0] == "2g2f"
