"""The output for a person: notation, the board, the screen in every size, the plain lines."""

from __future__ import annotations

import asyncio
import io
from dataclasses import replace

import pytest

from master.player.events import (
    Conclusion,
    GameBegan,
    GameEnded,
    GameOutcome,
    LineMeasured,
    MovePlayed,
    ThinkingBegan,
)
from master.records.notation import Notation, clock_text, count_text, pv_text, score_text, usi_target
from master.ui.board import BOARD_COLUMNS, board_text, hand_text
from master.ui.console import Console
from master.ui.lines import LineView, own_result_words, result_text
from master.ui.model import GameView, SeriesView
from master.ui.screen import GameScreen
from master.ui.show import Show
from tests.master.ui.shown import CLOCKS, DECISION, GAME, PROGRESS, SUMMARY, after
from worker.score import mate_in, mated_in
from worker.shogi import STARTPOS, Position


def drawn(view: GameView, width: int, height: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None)
    with console.capture() as capture:
        console.print(GameScreen(view))
    return capture.get().splitlines()


# Notation


def test_a_variation_reads_as_in_a_book() -> None:
    assert pv_text(STARTPOS, ("7g7f", "3c3d", "8h2b+", "3a2b", "B*5e")) == "☗７六歩 ☖３四歩 ☗２二角成 ☖同銀 ☗５五角打"
    assert pv_text(STARTPOS, ("6i5h", "3c3d")) == "☗５八金(69) ☖３四歩"
    assert pv_text(STARTPOS, ("7g7f",), before=usi_target("2c7f")) == "☗同歩"
    assert pv_text(STARTPOS, ("7g7f", "7g7f", "3c3d")) == "☗７六歩"  # cut where it is not legal


def test_a_declined_promotion_is_told() -> None:
    sfen = "4k4/9/4P4/9/9/9/9/9/4K4 b - 1"
    assert pv_text(sfen, ("5c5b",)) == "☗５二歩不成"
    assert pv_text(sfen, ("5c5b+",)) == "☗５二歩成"
    assert pv_text(sfen, ("5i5h",)) == "☗５八玉"


def test_numbers() -> None:
    assert [score_text(score) for score in (None, 0, 35, -120)] == ["-", "+0", "+35", "-120"]
    assert score_text(35, 1) == "-35"
    assert (score_text(mate_in(7)), score_text(mated_in(4)), score_text(mate_in(7), 1)) == (
        "mate 7",
        "mated 4",
        "mated 7",
    )
    assert [clock_text(left) for left in (-5, 7_390, 10_000, 65_400)] == ["0:00.0", "0:07.3", "0:10", "1:05"]
    assert [count_text(number) for number in (999, 12_345, 4_560_000)] == ["999", "12.3k", "4.56M"]


def test_usi_targets() -> None:
    assert [usi_target(usi) for usi in ("7g7f", "P*1a", "9i9a+", "resign", "win")] == [59, 0, 72, None, None]


# The board


def test_every_row_of_the_board_is_as_wide() -> None:
    position = Position.from_sfen("l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1")
    rows = board_text(position).plain.splitlines()
    console = Console(width=200)
    assert {console.measure(row).maximum for row in rows[2:11]} == {BOARD_COLUMNS}
    assert rows[2] == "|v香 ・ ・ ・ ・ ・ ・v桂v香|一"
    assert (hand_text(position, 0), hand_text(position, 1)) == ("☗ 飛 金", "☖ 金 銀 桂 歩五")
    assert hand_text(Position.startpos(), 0) == "☗ -"
    assert hand_text(Position.from_sfen("4k4/9/9/9/9/9/9/9/4K4 b 18P 1"), 0) == "☗ 歩十八"


def test_a_terminal_without_kanji_gets_a_board_of_letters() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="replace")
    Console(file=stream, width=75, height=40).print(GameScreen(GameView()))
    stream.flush()
    rows = stream.buffer.getvalue().decode().splitlines()  # type: ignore[attr-defined]
    board = [row for row in rows if row.startswith("|")]
    assert len(board) == 9 and len({len(row.rstrip()) for row in board}) == 1
    assert not any("?" in row for row in board)


# The screen and the lines


@pytest.mark.parametrize("count", range(len(GAME) + 1))
@pytest.mark.parametrize("size", [(120, 40), (76, 24), (75, 40), (60, 20), (31, 30), (30, 20), (10, 5)])
def test_the_screen_fits_at_every_moment(count: int, size: tuple[int, int]) -> None:
    view = GameView()
    for event in GAME[:count]:
        view.observe(event)
    view.note("warning: node_lost node=node-2 " + "x" * 200)
    width, height = size
    measure = Console(width=500).measure
    assert all(measure(line).maximum <= width for line in drawn(view, width, height))


def test_the_delay_of_the_servers_echo_is_shown() -> None:
    view = GameView()
    begun = next(index for index, event in enumerate(GAME) if isinstance(event, MovePlayed))
    for event in GAME[: begun + 1]:
        view.observe(event)
    assert "echo" not in "\n".join(drawn(view, 120, 40))
    view.observe(LineMeasured(37.4))
    assert any(line.rstrip().endswith("server's echo 37 ms") for line in drawn(view, 120, 40))


def test_the_wide_screen_shows_it_all() -> None:
    view = GameView(now=lambda: 0.0)
    for event in GAME[:5]:
        view.observe(event)
    text = "\n".join(drawn(view, 120, 40))
    for words in (
        "0:10  anna  ◀",
        "bert",
        "depth 14  score +55",
        "☗７六歩 ☖３四歩",
        "612.3k",
        "lost",
        "decided by split",
    ):
        assert words in text, words


@pytest.mark.parametrize("notation", Notation)
def test_a_screen_has_one_notation(notation: Notation) -> None:
    """Last move, variations, votes and what the nodes search."""
    csa, usi, japanese = "7776FU", "7g7f", "☗７六歩"
    for count in (5, 6):
        view = GameView(now=lambda: 0.0, notation=notation)
        for event in GAME[:count]:
            view.observe(event)
        text = "\n".join(drawn(view, 120, 40))
        assert csa not in text
        assert (usi in text, japanese in text) == (notation is Notation.USI, notation is Notation.JAPANESE)
        assert (text.count(usi) + text.count(japanese)) >= 4, text


def test_what_a_node_searches_in_words() -> None:
    job = Notation.JAPANESE.job
    assert job(STARTPOS, "7g7f 3c3d") == "☗７六歩 ☖３四歩"
    assert job(STARTPOS, "7g7f 3c3d/8c8d") == "☗７六歩 ☖３四歩/☖８四歩"
    assert job(STARTPOS, "7g7f 3c3d 8h2b+ 3a2b") == "☗７六歩 ☖３四歩 ☗２二角成 ☖同銀"
    assert [job(STARTPOS, label) for label in ("all", "others", "idle")] == ["all", "others", "idle"]
    assert job(STARTPOS, "7g7f others") == "☗７六歩 others"
    assert job(STARTPOS, "7g7e") == "7g7e"  # of another position
    assert Notation.USI.job(STARTPOS, "7g7f 3c3d/8c8d") == "7g7f 3c3d/8c8d"


def test_the_live_pages_address_stays_on_the_screen() -> None:
    view = GameView()
    view.page = "http://127.0.0.1:4082/"
    for event in GAME[:5]:
        view.observe(event)
        for note in "abcdef":
            view.note(note)
        assert any("live page: http://127.0.0.1:4082/" in line for line in drawn(view, 120, 40))


def test_the_narrow_screen_shows_what_counts() -> None:
    view = GameView()
    for event in GAME:
        view.observe(event)
    text = "\n".join(drawn(view, 28, 20))
    assert "一" not in text.replace("一手", "")
    assert "anna" in text
    assert "resignation" in text


def test_clocks_run_for_the_side_to_move_only() -> None:
    now = [100.0]
    view = GameView(now=lambda: now[0])
    for event in GAME[:2]:
        view.observe(event)
    now[0] += 3
    assert (view.left_ms(0), view.left_ms(1)) == (7000, 10_000)
    now[0] += 30
    assert view.left_ms(0) == 0
    view.observe(GAME[-1])
    assert view.left_ms(0) == 10_000


def test_the_opponents_search_is_a_side_of_its_own() -> None:
    view = GameView()
    for event in GAME[:6]:
        view.observe(event)
    for event in (ThinkingBegan(7, 1, 900, 2000, CLOCKS), PROGRESS):
        view.observe_opponent(event)
    assert view.sides[0].decision == DECISION
    assert view.sides[1].progress == PROGRESS
    assert view.sides[1].sfen == after("7g7f")


def test_an_opponent_that_hears_of_the_move_first_thinks_about_the_position_behind_it() -> None:
    view, lines = GameView(), list[str]()
    plain = LineView(view, lines.append)
    for event in GAME[:5]:
        view.observe(event)
        plain.observe(event)
    view.observe_opponent(ThinkingBegan(7, 1, 900, 2000, CLOCKS))
    view.observe_opponent(PROGRESS)
    for event in GAME[5:7]:
        view.observe(event)
        plain.observe(event)
        assert view.sides[1].sfen == after("7g7f")
    assert "depth 14" in lines[-1]


@pytest.mark.parametrize(
    ("notation", "first", "reply"), [(Notation.JAPANESE, "☗７六歩", "☖３四歩"), (Notation.USI, "7g7f", "3c3d")]
)
def test_plain_lines(notation: Notation, first: str, reply: str) -> None:
    lines: list[str] = []
    view = GameView(notation=notation)
    plain = LineView(view, lines.append)
    for event in GAME:
        view.observe(event)
        plain.observe(event)
    assert lines == [
        "anna waits for a game",
        "game g: ☗ anna  ☖ bert",
        f"  1 {first} 1s [0:10 0:10]  depth 14  +55  node-1 {first} 612.3k/s  node-2 lost  votes node-1:{first}  "
        f"{first} {reply}",
        f"  2 {reply} 1s [0:10 0:10]",
        "☗ anna wins by resignation after 2 moves",
    ]


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (GameOutcome(Conclusion.LOSE, "TIME_UP", SUMMARY, 1, 7), "☖ bert wins on time after 7 moves"),
        (GameOutcome(Conclusion.DRAW, "SENNICHITE", SUMMARY, None, 40), "drawn by fourfold repetition after 40 moves"),
        (
            GameOutcome(Conclusion.CENSORED, "MAX_MOVES", replace(SUMMARY, max_moves=256), None, 256),
            "drawn by the 256-move limit after 256 moves",
        ),
        (
            GameOutcome(Conclusion.WIN, "MAX_MOVES", replace(SUMMARY, max_moves=320), 0, 320),
            "☗ anna wins by the 320-move limit after 320 moves",
        ),
        (
            GameOutcome(Conclusion.INTERRUPTED, "CHUDAN", SUMMARY, None, 3),
            "no result: stopped by the server after 3 moves",
        ),
    ],
)
def test_results_in_words(outcome: GameOutcome, words: str) -> None:
    view = GameView(names=("anna", "bert"), outcome=outcome)
    assert result_text(view) == words


@pytest.mark.parametrize(
    ("conclusion", "winner", "words"),
    [
        (Conclusion.WIN, 0, "won by the 320-move limit"),
        (Conclusion.LOSE, 1, "lost by the 320-move limit"),
        (Conclusion.CENSORED, None, "drawn by the 320-move limit"),
    ],
)
def test_the_move_limit_may_have_a_winner(conclusion: Conclusion, winner: int | None, words: str) -> None:
    """A mate by the last move counts at some tournaments."""
    limited = replace(SUMMARY, max_moves=320)
    assert own_result_words(GameOutcome(conclusion, "MAX_MOVES", limited, winner, 320)) == words


@pytest.mark.parametrize(("terminal", "stderr_too"), [(False, False), (True, False), (True, True)])
def test_warnings_go_to_stderr(terminal: bool, stderr_too: bool) -> None:
    """Also where the full screen is on: at once where that does not disturb it, else behind it."""
    out, err = io.StringIO(), io.StringIO()

    async def main() -> None:
        console = Console(file=out, width=100, height=40, force_terminal=terminal, color_system=None)
        warnings = Console(file=err, force_terminal=stderr_too, color_system=None)
        async with Show(console, warnings) as show:
            show.warn("warning: before")
            assert err.getvalue() == "warning: before\n"
            for event in GAME[:4]:
                show.observe(event)
            show.warn("warning: [during] the game")
            assert ("during" in err.getvalue()) == (not stderr_too)
            assert ("warning: [during] the game" in show.view.notes) == terminal
            show.observe(GAME[-1])
            show.say("the result")

    asyncio.run(main())
    assert err.getvalue() == "warning: before\nwarning: [during] the game\n"
    assert "before" not in out.getvalue()
    assert "the result" in out.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
def test_a_show_from_beginning_to_end(terminal: bool) -> None:
    async def main() -> str:
        stream = io.StringIO()
        console = Console(file=stream, width=100, height=40, force_terminal=terminal, color_system=None)
        async with Show(console, console) as show:
            show.fleet_event("node_starting", {"node": "node-1"})
            for event in GAME[:-1]:
                show.observe(event)
                await asyncio.sleep(0.05)
            show.warn("warning: something")
            await asyncio.sleep(0.25)
            show.observe(GAME[-1])
            show.say("behind the game")
        return stream.getvalue()

    text = asyncio.run(main())
    assert "starting node-1" in text
    assert "warning: something" in text
    assert "☗ anna wins by resignation after 2 moves" in text
    assert text.rstrip().endswith("behind the game")
    entered, left = text.count("\x1b[?1049h"), text.count("\x1b[?1049l")
    assert entered == left == int(terminal)
    assert terminal or "\x1b" not in text


# How far it is


def test_how_far_the_game_is() -> None:
    view = GameView(now=lambda: 0.0)
    limited = replace(SUMMARY, max_moves=160)
    for event in (GameBegan(limited, STARTPOS, CLOCKS), *GAME[2:6]):
        view.observe(event)
    assert view.ply == 1
    # 20 s on the clocks, and a second for each of 159 moves.
    assert view.left_at_most_s() == pytest.approx(179)
    text = "\n".join(drawn(view, 120, 40))
    assert "move 1 of at most 160  at most 3 min left" in text


def test_a_game_that_begins_in_the_middle() -> None:
    view = GameView(now=lambda: 0.0)
    view.observe(GameBegan(replace(SUMMARY, moves=("+7776FU",) * 40), STARTPOS, CLOCKS))  # type: ignore[arg-type]
    assert view.ply == 40


def test_without_an_end_there_is_no_bar() -> None:
    view = GameView(now=lambda: 0.0)
    for event in GAME:
        view.observe(event)
    assert view.left_at_most_s() is None
    assert "━" not in "\n".join(drawn(view, 120, 40))


def test_how_far_a_series_is() -> None:
    now = 0.0
    series = SeriesView(10, lambda: now)
    outcome = GameOutcome(Conclusion.WIN, "RESIGN", SUMMARY, 0, 87, STARTPOS)
    series.observe(GameBegan(SUMMARY, STARTPOS, CLOCKS))
    assert series.left_s is None
    for _ in range(2):
        now += 60.0
        series.observe(GameEnded(outcome))
    series.observe(GameEnded(GameOutcome(Conclusion.NOT_PLAYED, "REJECT")))
    assert (series.done, series.left_s) == (2, pytest.approx(480))
    console = Console(file=io.StringIO(), width=120, height=40, force_terminal=True, color_system=None)
    with console.capture() as capture:
        console.print(GameScreen(GameView(), series))
    assert "2 of 10 games  8 min left" in capture.get()


def test_lines_of_a_series() -> None:
    now = 0.0
    text = io.StringIO()
    show = Show(Console(file=text), Console(file=text), plain=True, now=lambda: now, games=2)
    for _ in range(2):
        now += 60.0
        for event in GAME:
            show.observe(event)
    show.observe(GameEnded(GameOutcome(Conclusion.WIN, "RESIGN", SUMMARY, 0, 87, STARTPOS)))
    assert text.getvalue().count("of 2 games") == 1
