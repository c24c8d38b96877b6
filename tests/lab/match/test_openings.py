"""Openings: generated ones are even, different and repeatable; files are read strictly."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from lab.match.openings import (
    OpeningError,
    make_openings,
    natural_openings,
    read_openings,
    write_openings,
)
from worker.engine import Bound, InfoCallback, Limits, SearchInfo, SearchResult
from worker.shogi import STARTPOS, Position, move_to_usi


class Judge:
    """An engine that finds a position the more uneven, the more pawns have left their first rank."""

    name = "judge"

    def __init__(self, factor: int) -> None:
        self._factor = factor
        self._position = Position.startpos()

    def new_game(self) -> None: ...

    def set_position(self, sfen: str, moves: Sequence[str] = ()) -> None:
        self._position = Position.from_sfen(sfen)
        self._position.push_all(moves)

    def go(self, limits: Limits, on_info: InfoCallback | None = None) -> SearchResult:
        moved = sum(self._position.piece_on(file * 9 + 6) != 1 for file in range(9))
        info = SearchInfo(1, 1, moved * self._factor, Bound.EXACT, 1, 1, 0, ("7g7f",))
        return SearchResult("7g7f", None, 1, 1, (info,))

    def stop(self) -> None: ...

    def close(self) -> None: ...


def test_made_openings_are_even_different_and_repeatable() -> None:
    found: list[int] = []
    openings = make_openings(5, 3, Judge(50), plies=6, margin_cp=100, on_found=found.append)
    assert found == [1, 2, 3, 4, 5]
    assert len(set(openings)) == 5
    for sfen in openings:
        position = Position.from_sfen(sfen)
        assert position.move_number == 7
        assert sum(position.piece_on(file * 9 + 6) != 1 for file in range(9)) <= 2
    assert openings == make_openings(5, 3, Judge(50), plies=6, margin_cp=100)
    assert openings != make_openings(5, 4, Judge(50), plies=6, margin_cp=100)


class Chooser(Judge):
    """An engine that prefers the first legal moves."""

    def go(self, limits: Limits, on_info: InfoCallback | None = None) -> SearchResult:
        best = [move_to_usi(move) for move in self._position.legal_moves()[: limits.multipv]]
        lines = [SearchInfo(1, 1, 0, Bound.EXACT, 1, 1, 0, (move,), place + 1) for place, move in enumerate(best)]
        return SearchResult(best[0], None, 1, 1, tuple(lines))


def test_moves_of_the_best_alone() -> None:
    allowed = {Position.startpos().sfen()}
    for _ in range(2):
        following = set()
        for sfen in allowed:
            for move in Position.from_sfen(sfen).legal_moves()[:2]:
                position = Position.from_sfen(sfen)
                position.push(move)
                following.add(position.sfen())
        allowed = following
    assert set(make_openings(3, 1, Chooser(0), plies=2, best=2)) <= allowed
    with pytest.raises(OpeningError, match="4 of 5"):
        make_openings(5, 1, Chooser(0), plies=2, best=2)


def test_natural_openings_travel_with_the_package() -> None:
    openings = natural_openings(1)
    assert len(set(openings)) == 500
    assert all(Position.from_sfen(sfen).move_number == 11 for sfen in openings)
    assert natural_openings(1) == openings != natural_openings(2)
    assert sorted(natural_openings(2)) == sorted(openings)


def test_too_narrow_a_margin_is_told() -> None:
    with pytest.raises(OpeningError, match=r"1 of 2 openings found with 0 random moves.*wider margin"):
        make_openings(2, 1, Judge(50), plies=0, margin_cp=100)


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "openings"
    file.write_text(
        "# a comment\n\nstartpos moves 7g7f 3c3d\nposition startpos\n"
        f"sfen {STARTPOS} moves 2g2f\n{STARTPOS}\nposition sfen {STARTPOS}\n",
        encoding="utf-8",
    )
    openings = read_openings(file)
    assert [Position.from_sfen(sfen).move_number for sfen in openings] == [3, 1, 2, 1, 1]
    write_openings(file, openings)
    assert read_openings(file) == openings
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert read_openings(file) == openings, "as a Windows editor writes it"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no opening in it"),
        ("startpos moves 7g7f 7g7f\n", "line 1: move 2"),
        ("# x\nsfen 9/9 b - 1\n", "line 2: "),
        ("4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1\n", "line 1: .* no legal move"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "openings"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(OpeningError, match=words):
        read_openings(file)
    with pytest.raises(OpeningError, match="gone: cannot be read: no such file"):
        read_openings(tmp_path / "gone")


def test_positions_of_a_match(tmp_path: Path) -> None:
    moves = ["+2726FU", "-8384FU", "+2625FU", "-8485FU", "+6978KI", "-4132KI", "+3938GI", "-7172GI"] + [
        "+5958OU",
        "-5152OU",
        "+5859OU",
        "-5251OU",
    ] * 3
    (tmp_path / "records").mkdir()
    for number, length in ((1, 16), (2, 15)):
        record = ["V3.0", "PI", "+", *moves[:length], "%TORYO"]
        (tmp_path / "records" / f"game-{number:04d}.csa").write_text("\n".join(record) + "\n", encoding="utf-8")
    found = read_openings(tmp_path)
    assert [Position.from_sfen(sfen).move_number for sfen in found] == [8], "the eighth position, of both games once"
    (tmp_path / "records" / "game-0003.csa").write_text("V3.0\nPI\n+\n+2726XX\n", encoding="utf-8")
    with pytest.raises(OpeningError, match=r"game-0003\.csa: "):
        read_openings(tmp_path)
    with pytest.raises(OpeningError, match="no folder of a match, or its games are too short"):
        read_openings(tmp_path / "records")
