"""The output for a person: notation, the board, the screen in every size, the plain lines."""

from __future__ import annotations

import asyncio
import io
from dataclasses import replace

import pytest

from master.player.events import Conclusion, GameBegan, GameEnded, GameOutcome, ThinkingBegan
from master.records.notation import Notation
from master.ui.console import Console
from master.ui.lines import LineView, own_result_words
from master.ui.model import GameView, SeriesView
from master.ui.screen import GameScreen
from master.ui.show import Show
from tests.master.ui.shown import CLOCKS, DECISION, GAME, PROGRESS, SUMMARY, after
from worker.shogi import STARTPOS


def drawn(view: GameView, width: int, height: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None)
    with console.capture() as capture:
        console.print(GameScreen(view))
    return capture.get().splitlines()


# Notation


# The board


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


def test_the_increment_is_used_up_first() -> None:
    clock = iter((0.0, 0.6, 3.0, 20.0))
    view = GameView(now=lambda: next(clock))
    for event in GAME[:3]:
        view.observe(event)
    assert [view.left_ms(0) for _ in range(3)] == [10_000, 8000, 0]


def test_a_screen_of_80_columns_cuts_only_variations_and_notes() -> None:
    view = GameView(now=lambda: 0.0)
    variation = ("7g7f", "3c3d", "2g2f", "8c8d", "2f2e", "8d8e", "6i7h", "4a3b")
    for event in (*GAME[:4], replace(DECISION, lines=(replace(DECISION.lines[0], pv=variation),))):
        view.observe(event)
    view.note("warning: node_lost " + "x" * 80)
    lines = drawn(view, 80, 24)
    first, second = (line for line in lines if "…" in line)
    assert "☗７六歩 ☖３四歩 ☗２六歩" in first and "warning: node_lost" in second
    assert "612.3k" in " ".join(lines) and "decided by split" in " ".join(lines)


@pytest.mark.parametrize("notation", Notation)
def test_a_screen_has_one_notation(notation: Notation) -> None:
    """Last move, variations, votes and the nodes' jobs."""
    csa, usi, japanese = "7776FU", "7g7f", "☗７六歩"
    for count in (5, 6):
        view = GameView(now=lambda: 0.0, notation=notation)
        for event in GAME[:count]:
            view.observe(event)
        text = "\n".join(drawn(view, 120, 40))
        assert csa not in text
        assert (usi in text, japanese in text) == (notation is Notation.USI, notation is Notation.JAPANESE)
        assert (text.count(usi) + text.count(japanese)) >= 4, text


def test_a_nodes_job_in_words() -> None:
    job = Notation.JAPANESE.job
    assert job(STARTPOS, "7g7f 3c3d") == "☗７六歩 ☖３四歩"
    assert job(STARTPOS, "7g7f 3c3d/8c8d") == "☗７六歩 ☖３四歩/☖８四歩"
    assert job(STARTPOS, "7g7f 3c3d 8h2b+ 3a2b") == "☗７六歩 ☖３四歩 ☗２二角成 ☖同銀"
    assert [job(STARTPOS, label) for label in ("all", "others", "idle")] == ["all", "others", "idle"]
    assert job(STARTPOS, "7g7f others") == "☗７六歩 others"
    assert job(STARTPOS, "7g7e") == "7g7e"  # of another position
    assert Notation.USI.job(STARTPOS, "7g7f 3c3d/8c8d") == "7g7f 3c3d/8c8d"


def test_the_narrow_screen_shows_the_essentials() -> None:
    view = GameView()
    for event in GAME:
        view.observe(event)
    text = "\n".join(drawn(view, 28, 20))
    assert "一" not in text.replace("一手", "")
    assert "anna" in text
    assert "resignation" in text


def test_the_opponents_search_is_a_side_of_its_own() -> None:
    view = GameView()
    for event in GAME[:6]:
        view.observe(event)
    for event in (ThinkingBegan(7, 1, 900, 2000, CLOCKS), PROGRESS):
        view.observe_opponent(event)
    assert view.sides[0].decision == DECISION
    assert view.sides[1].progress == PROGRESS
    assert view.sides[1].sfen == after("7g7f")


def test_an_opponent_that_gets_the_move_first_thinks_about_the_position_after_it() -> None:
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


def test_a_result_without_a_reason() -> None:
    """A server may send ``#WIN`` alone."""
    assert own_result_words(GameOutcome(Conclusion.WIN, "", SUMMARY, 0, 80)) == "won as the server says"


@pytest.mark.parametrize(("terminal", "stderr_too"), [(False, False), (True, False), (True, True)])
async def test_warnings_go_to_stderr(terminal: bool, stderr_too: bool) -> None:
    """Even if the full screen is on: at once if that does not disturb it, otherwise after it."""
    out, err = io.StringIO(), io.StringIO()
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
    assert err.getvalue() == "warning: before\nwarning: [during] the game\n"
    assert "before" not in out.getvalue()
    assert "the result" in out.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
async def test_a_show_from_beginning_to_end(terminal: bool) -> None:
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
        show.say("after the game")
    text = stream.getvalue()
    assert "starting node-1" in text
    assert "warning: something" in text
    assert "☗ anna wins by resignation after 2 moves" in text
    assert text.rstrip().endswith("after the game")
    entered, left = text.count("\x1b[?1049h"), text.count("\x1b[?1049l")
    assert entered == left == int(terminal)
    assert terminal or "\x1b" not in text


# Progress


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
