"""A book out of game records: the choice of games, the counts, and the resulting file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from master.book import importing
from master.book.dbfile import WrittenMove, read_positions, write_positions
from tests.master.book.games import LINE, record
from worker.book import Book, BookError, BookMove
from worker.shogi import STARTPOS, Position

RULES = importing.GameFilter(min_plies=4, plies=8)


ILLEGAL = record().replace("+2726FU", "+2724FU")


def read(tmp_path: Path, text: str, rules: importing.GameFilter = RULES) -> list[importing.BookPly] | importing.Skipped:
    path = tmp_path / "game.csa"
    path.write_text(text)
    (game,) = importing.read_games(path, rules)
    return game if isinstance(game, list) else game[0]


def test_a_game(tmp_path: Path) -> None:
    plies = read(tmp_path, record(scores=(55, -12)), importing.GameFilter(min_plies=4, plies=3))
    assert isinstance(plies, list)
    assert [(ply.move, ply.ply, ply.won, ply.score) for ply in plies] == [
        ("7g7f", 1, 0.0, 55),  # white wins: black is to move after the line, and resigns
        ("3c3d", 2, 1.0, 12),
        ("2g2f", 3, 0.0, None),
    ]
    assert f"{plies[0].key} 1" == STARTPOS


@pytest.mark.parametrize(
    ("text", "rules", "why"),
    [
        (ILLEGAL, RULES, importing.Skipped.UNREADABLE),
        ("no record", RULES, importing.Skipped.UNREADABLE),
        ("V2.2\nPI\n+\n%TORYO\n", RULES, importing.Skipped.EMPTY),
        (record(end="%CHUDAN"), RULES, importing.Skipped.UNFINISHED),
        (record(summary="'summary:time up:ABC win:DEF lose"), RULES, importing.Skipped.UNFINISHED),
        (record(), importing.GameFilter(min_plies=9), importing.Skipped.SHORT),
        (record(), importing.GameFilter(min_rating=3100, min_plies=4), importing.Skipped.RATING),
        (record(rates=None), importing.GameFilter(min_rating=3100, min_plies=4), importing.Skipped.RATING),
        (record(), importing.GameFilter(max_gap=500, min_plies=4), importing.Skipped.GAP),
        (record(scores=(0, 0, 0, -700)), RULES, importing.Skipped.ONE_SIDED),
    ],
)
def test_games_that_are_left_out(
    tmp_path: Path, text: str, rules: importing.GameFilter, why: importing.Skipped
) -> None:
    assert read(tmp_path, text, rules) is why


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (record(), importing.GameFilter(min_rating=3000, max_gap=600, min_plies=4)),
        (record(scores=(0, 0, 0, 0, 0, 0, 0, 900)), importing.GameFilter(min_plies=4, plies=7)),
        (record(scores=(0, 900)), importing.GameFilter(min_plies=4, one_sided=None)),
    ],
)
def test_games_that_are_taken(tmp_path: Path, text: str, rules: importing.GameFilter) -> None:
    assert isinstance(read(tmp_path, text, rules), list)


@pytest.mark.parametrize(
    ("end", "won"),
    [("'summary:sennichite:ABC draw:DEF draw", 0.5), ("%KACHI\nT1\n%KACHI\n'summary:kachi:ABC win:DEF lose", 1.0)],
)
def test_endings_as_floodgate_keeps_them(tmp_path: Path, end: str, won: float) -> None:
    plies = read(tmp_path, record(end=end, summary=""))
    assert isinstance(plies, list)
    assert plies[0].won == won


def test_every_game_of_a_file_counts_and_a_broken_or_empty_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "games.csa"
    path.write_text("/\n".join((record(), ILLEGAL, "V2.2\nPI\n+\n", record(["2g2f", LINE[1], LINE[0], LINE[3]]))))
    with importing.Tally(importing.CandidateRules(min_games=1)) as tally:
        summary = importing.count_records([path], RULES, tally, False, jobs=1)
        found = dict(tally.positions())
    assert (summary.files, summary.games) == (1, 2)
    assert summary.skipped == {importing.Skipped.UNREADABLE: 1, importing.Skipped.EMPTY: 1}
    assert [fault.rsplit("/", 1)[1] for fault in summary.faults] == [
        "games.csa, line 38: move 3 is not legal",
        "games.csa, game 3: no moves in it",
    ]
    assert {move.entry.move for move in found[STARTPOS]} == {"7g7f", "2g2f"}


def folder(tmp_path: Path, games: Iterable[str]) -> Path:
    games_folder = tmp_path / "2024" / "01"
    games_folder.mkdir(parents=True)
    for number, text in enumerate(games):
        (games_folder / f"game{number}.csa").write_text(text)
    return tmp_path / "2024"


GAMES = (record(), record(), record([*LINE[:2], "2h6h", *LINE[3:4]]), record(["7g7f", "8c8d"]), ILLEGAL)


def test_a_book_is_counted_and_sorted(tmp_path: Path) -> None:
    out = tmp_path / "out.db"
    with importing.Tally(importing.CandidateRules(min_games=1)) as tally:
        summary = importing.count_records(
            importing.find_records([folder(tmp_path, GAMES)]), RULES, tally, False, jobs=1
        )
        assert write_positions(out, tally.positions()) == 9
    assert summary.games == 3
    assert summary.skipped == {importing.Skipped.SHORT: 1, importing.Skipped.UNREADABLE: 1}
    book = Book(out, on_the_fly=True)  # refuses unsorted entries
    assert book.find(STARTPOS) == [BookMove("7g7f", "3c3d", importing.value_of_wins(3, 0), 0, 3)]
    line = Position.startpos()
    line.push_all(LINE[:2])
    assert [(entry.move, entry.ponder, entry.count) for entry in book.find(line.sfen())] == [
        ("2g2f", "8c8d", 2),
        ("2h6h", "8c8d", 1),
    ]
    assert "# wins 0.0% of 3" in out.read_text()


@pytest.mark.parametrize(("least", "moves"), [(1, {"2g2f", "2h6h"}), (2, {"2g2f"}), (3, set())])
def test_moves_of_few_games_are_left_out(tmp_path: Path, least: int, moves: set[str]) -> None:
    with importing.Tally(importing.CandidateRules(min_games=least)) as tally:
        importing.count_records(importing.find_records([folder(tmp_path, GAMES)]), RULES, tally, False, jobs=1)
        line = Position.startpos()
        line.push_all(LINE[:2])
        found = {sfen: {move.entry.move for move in candidates} for sfen, candidates in tally.positions()}
    assert found.get(line.sfen(), set()) == moves


def test_scores_and_wins(tmp_path: Path) -> None:
    games = (record(scores=(10, -30)), record(scores=(40,)), record())
    with importing.Tally(importing.CandidateRules(by_scores=True, min_wins=0.5, depth=16)) as tally:
        importing.count_records(importing.find_records([folder(tmp_path, games)]), RULES, tally, False, jobs=1)
        found = {move.entry.move: move.entry for _, moves in tally.positions() for move in moves}
    assert set(found) == {"3c3d", "8c8d", "8d8e", "4a3b"}  # white won
    assert found["3c3d"] == BookMove("3c3d", "2g2f", 30, 16, 3)


def test_colours_merged(tmp_path: Path) -> None:
    """White's 3c3d against 7g7f is black's 7g7f against 3c3d."""
    games = (record(), record(["2g2f", *LINE[1:2], "7g7f", *LINE[3:4]]))
    with importing.Tally(importing.CandidateRules(min_games=1, merge_colours=True)) as tally:
        importing.count_records(importing.find_records([folder(tmp_path, games)]), RULES, tally, True, jobs=1)
        found = dict(tally.positions())
    assert all(" b " in sfen and int(sfen.split()[3]) % 2 == 1 for sfen in found)
    turned = Position.startpos()
    turned.push_all(("1g1f", "3c3d"))
    answers = {move.entry.move: move.entry for moves in found.values() for move in moves}
    assert answers["7g7f"].count == 1  # as the first move; the other 7g7f are moves of other positions
    assert {"7g7f", "2g2f"} <= set(answers)


@pytest.mark.slow
def test_processes_count_as_one_does(tmp_path: Path) -> None:
    paths = importing.find_records([folder(tmp_path, GAMES * 90)])
    found = []
    for jobs in (1, 2):
        steps: list[int] = []
        with importing.Tally(importing.CandidateRules()) as tally:
            summary = importing.count_records(paths, RULES, tally, False, jobs, steps.append)
            found.append((list(tally.positions()), summary.games, summary.skipped))
        assert steps == sorted(steps) and steps[-1] == len(paths)
    assert found[0] == found[1]


def test_reading_a_file_by_positions(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    path.write_bytes(
        b"\xef\xbb\xbf#YANEURAOU-DB2016 1.00\r\n" + f"sfen {STARTPOS}\r\n7g7f 3c3d 1 2 3\r\n".encode() + b"\r\n2g2f\r\n"
    )
    assert list(read_positions(path)) == [(STARTPOS, [BookMove("7g7f", "3c3d", 1, 2, 3), BookMove("2g2f")])]
    path.write_text("7g7f 3c3d 1 2 3\n")
    with pytest.raises(BookError, match=r"book\.db: line 1: a move before the first 'sfen' line"):
        list(read_positions(path))
    with pytest.raises(BookError, match=r"none\.db: no such file"):
        list(read_positions(tmp_path / "none.db"))


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    path.write_text("as it was")
    later = STARTPOS.replace("lnsg", "1nsg", 1)
    with pytest.raises(ValueError, match="not in order"):
        write_positions(path, [(STARTPOS, [WrittenMove(BookMove("7g7f"))]), (later, [])])
    assert path.read_text() == "as it was"
    assert [file.name for file in tmp_path.iterdir()] == ["book.db"]
