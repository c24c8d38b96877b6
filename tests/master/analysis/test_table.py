"""The report at a terminal: better moves, few columns, no kanji."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from master.analysis import table
from master.analysis.judgement import Quality
from master.analysis.plan import Evaluation
from master.analysis.report import GameReport, ReportSettings, range_words, report, score_words
from master.analysis.table import Terminal
from tests.master.analysis.records import blunder_report, evaluated, game
from worker.engine import Bound
from worker.score import mate_in, mated_in


def shown(one: GameReport, width: int, encoding: str = "utf-8") -> list[str]:
    """The whole printed report of a game."""
    stream = io.StringIO()
    console = Console(file=stream, width=width, color_system=None)
    terminal = Terminal(width, encoding)
    console.print(table.game_table(one, terminal))
    console.print(table.players_table(one.players, terminal, terminal.marks))
    for bands in table.bands_tables(one.players, terminal):
        console.print(bands)
    console.print(table.notes(ReportSettings("Gougi", "1 node"), terminal))
    return stream.getvalue().splitlines()


def rows(one: GameReport) -> dict[int, str]:
    """The rows of the game's table, by the move's number."""
    stream = io.StringIO()
    Console(file=stream, width=100, color_system=None).print(table.game_table(one, Terminal(100)))
    return {int(line.split()[0]): line for line in stream.getvalue().splitlines()[1:]}


def test_better_means_better_for_the_mover() -> None:
    lines = rows(blunder_report())
    assert "☖８四歩" in lines[2]
    for other in (1, 3, 4):
        assert lines[other].count("☗") + lines[other].count("☖") == 1


def test_a_move_that_turned_out_better_than_the_first_choice_has_none() -> None:
    """White's 3c3d scores higher, from white's view, than the search's first choice."""
    of = game()
    points, found = evaluated(of, {1: Evaluation(100, "8c8d", ("8c8d",), 9), 2: Evaluation(-400, "2g2f", ("2g2f",), 9)})
    one = report(of, points, found, None)
    second = one.moves[1]
    assert second.quality is Quality.GOOD and not second.had_better
    assert "☖８四歩" not in rows(one)[2]
    assert replace(second, loss=0.01).had_better and replace(second, allowed_mate=True).had_better


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_forty_columns_are_enough(encoding: str) -> None:
    lines = [line.rstrip() for line in shown(blunder_report(), 40, encoding)]
    assert max(map(cell_len, lines)) <= 40
    told = "\n".join(lines)
    for move in ("☗７六歩", "☖３四歩", "→ ☖８四歩") if encoding == "utf-8" else ("+76P", "-34P", "-> -84P"):
        assert move in told
    assert "…" not in told and "accuracy" in told and "bert & <son>" in told


def test_a_verdict_says_how_sure_it_is_and_speaks_english() -> None:
    line = rows(blunder_report(again=True))[2]
    assert "mistake, sure" in line and "悪手" not in line


def test_in_japanese_nothing_is_half_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")
    assert "悪手、確実" in rows(blunder_report(again=True))[2]
    bands = "\n".join(shown(blunder_report(), 100))
    assert "-250 ～ 250" in bands and "互角" in bands and "even" not in bands and " to " not in bands


def test_scores_and_ranges_in_words() -> None:
    assert [score_words(score) for score in (None, 120, mate_in(7), mated_in(0))] == [
        "-",
        "+120",
        "☗ mates in 7",
        "☖ has mated",
    ]
    assert score_words(mated_in(4), Bound.UPPER) == "≤ ☖ mates in 4"
    japanese = "{side} {plies}手詰"
    assert score_words(mated_in(4), Bound.LOWER, lambda _, **words: japanese.format(**words)) == "≥ ☖ 4手詰"
    assert [range_words(index, str.format) for index in (0, 1, 3, 6)] == [
        "below -1500",
        "-1500 to -700",
        "-250 to 250",
        "above 1500",
    ]


def test_without_kanji_there_are_words_and_letters() -> None:
    told = "\n".join(shown(blunder_report(), 100, "ascii"))
    assert told.isascii(), sorted({sign for sign in told if not sign.isascii()})
    assert "mistake" in told and "-84P" in told
