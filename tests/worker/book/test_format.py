"""Lines of a book, and positions and moves turned around."""

from __future__ import annotations

import pytest

from benchmarks.playouts import positions
from worker.book.format import (
    BookError,
    BookMove,
    flip_key,
    flip_move,
    parse_move,
    parse_position,
    ranked,
    split_sfen,
)
from worker.shogi import STARTPOS, Position, move_to_usi


@pytest.mark.parametrize(
    ("line", "move"),
    [
        (b"7g7f 3c3d 32 20 5\n", BookMove("7g7f", "3c3d", 32, 20, 5)),
        (b"P*5e none -120 8 1\r\n", BookMove("P*5e", None, -120, 8, 1)),
        (b"8h2b+ resign", BookMove("8h2b+")),
        (b"7g7f", BookMove("7g7f")),
        (b"7g7f 3c3d none none none", BookMove("7g7f", "3c3d")),
        (b"7g7f 3c3d 1 2 3 1.5 0.5\n", BookMove("7g7f", "3c3d", 1, 2, 3)),
        (b"7g7f\t3c3d 1 2 3 # remark", BookMove("7g7f", "3c3d", 1, 2, 3)),
        (b"7g7f 3c3d # remark\n", BookMove("7g7f", "3c3d")),
        (b"none none 0 0 0", None),
        (b"resign none", None),
    ],
)
def test_a_candidate(line: bytes, move: BookMove | None) -> None:
    assert parse_move(line) == move


@pytest.mark.parametrize(
    "line",
    [b"7g", b"7g7", b"0g7f none", b"K*5e none", b"7g7f3c3d", b"7g7f 3c3d x", b"7g7f 3c3d 1.5", b"\x00\x01", b"7g7f 3c"],
)
def test_a_damaged_candidate(line: bytes) -> None:
    with pytest.raises(BookError, match="expected 'MOVE PONDER VALUE DEPTH COUNT'"):
        parse_move(line)


def test_a_position() -> None:
    key, ply = split_sfen(STARTPOS)
    assert parse_position(f"sfen {STARTPOS}\r\n".encode()) == (key.encode(), ply)
    assert parse_position(f"sfen {key}".encode()) == (key.encode(), None)
    many = "4k4/9/9/9/9/9/9/9/4K4 b 2R2B4G4S4N4L10P8p"
    assert parse_position(f"sfen {many} 120".encode()) == (many.encode(), 120)
    for damaged in ("sfen 9/9/9 b - 1", f"sfen {key} one", f"sfen {key.replace(' b ', ' x ')} 1", "sfen lnsg"):
        with pytest.raises(BookError, match="expected 'sfen BOARD SIDE HANDS PLY'"):
            parse_position(damaged.encode())


def test_the_most_played_comes_first_and_twice_is_once() -> None:
    moves = [
        BookMove("1g1f", value=9),
        BookMove("2g2f", count=3),
        BookMove("7g7f", value=12),
        BookMove("1g1f", value=5, count=4),
    ]
    assert ranked(moves) == [BookMove("1g1f", value=5, count=5), BookMove("2g2f", count=3), BookMove("7g7f", value=12)]


@pytest.mark.parametrize(
    ("earlier", "later", "one"),
    [
        ((20, "3c3d", 30), (12, None, 5), (20, "3c3d", 30)),
        ((12, "3c3d", 30), (20, None, 5), (20, "3c3d", 5)),
        ((20, None, 30), (12, "8c8d", 5), (20, "8c8d", 30)),
        ((12, "3c3d", 30), (12, "8c8d", 5), (12, "8c8d", 5)),
    ],
)
def test_of_two_lines_the_deeper_holds_and_a_known_reply_is_kept(
    earlier: tuple[int, str | None, int], later: tuple[int, str | None, int], one: tuple[int, str | None, int]
) -> None:
    lines = [BookMove("7g7f", ponder, value, depth, 3) for depth, ponder, value in (earlier, later)]
    assert ranked(lines) == [BookMove("7g7f", one[1], one[2], one[0], 6)]


def test_a_position_turned_around_has_the_moves_turned_around() -> None:
    for position in positions(seed=5, number=25):
        key, ply = split_sfen(position.sfen())
        turned = Position.from_sfen(f"{flip_key(key)} {ply}")
        assert turned.turn == 1 - position.turn
        assert flip_key(flip_key(key)) == key
        assert turned.sfen() == f"{flip_key(key)} {ply}", "hands in canonical order"
        moves = {move_to_usi(move) for move in position.legal_moves()}
        assert {flip_move(move) for move in moves} == {move_to_usi(move) for move in turned.legal_moves()}
        assert {flip_move(flip_move(move)) for move in moves} == moves
