"""The progress of a long work: the estimate, the plain lines, and the bars at a real terminal."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from master.ui.progress import Bars, Pace, span
from tests.master.terminal import Terminal, at_terminal

WORK = """
from master.ui.progress import Bars
with Bars("games") as bars:
    first, second = bars.bar("one", 4, hourly=True), bars.bar("two", 2, at_most=True)
    for number in range(5):
        first.show(number, f"Elo +{number}", tell=True)
        if number == 2:
            bars.note("game 2: [red]lost[/red]")
    second.show(1, "x" * 300, tell=True)
print("done")
"""


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_pace_since_the_first_call() -> None:
    pace = Pace()
    pace.begin(100, 10.0)
    pace.begin(0, 0.0)
    assert pace.left_s(100, 200, 10.0) is None, "nothing was done yet"
    assert pace.left_s(100, 200, 20.0) is None
    assert pace.left_s(150, 200, 20.0) == pytest.approx(10.0)
    assert pace.rate(150, 20.0) == pytest.approx(5.0)
    assert pace.left_s(150, None, 20.0) is None
    assert pace.left_s(250, 200, 20.0) == 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-0.3, "0 s"), (45.4, "45 s"), (89.9, "90 s"), (720, "12 min"), (5399, "1 h 30 min"), (11_100, "3 h 5 min"),
        (172_700, "47 h 58 min"), (172_790, "2 d 0 h"), (187_200, "2 d 4 h"),
    ],
)  # fmt: skip
def test_a_time_in_words(seconds: float, text: str) -> None:
    assert span(seconds) == text


def test_lines_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Bars("games", now=clock) as bars:
        bar = bars.bar("", 1_200, at_most=True, hourly=True)
        bar.show(200, "starting", tell=True)
        clock.now += 600
        bar.show(300, "Elo +3", tell=False)
        bar.show(300, "Elo +4", tell=True)
        bars.note("above")
        bar.show(1_200, tell=True)
    with Bars(now=clock) as bars:
        bar = bars.bar("", None)
        bar.begin()
        clock.now += 1
        bar.show(5, "loss 0.5", total=1_000, tell=True)
    assert capsys.readouterr().err.splitlines() == [
        "200/1,200 games, starting",
        "300/1,200 games, Elo +4, 600 games/h, at most 1 h 30 min left",
        "above",
        "1,200/1,200 games, 6,000 games/h",
        "0.5%, loss 0.5, 3 min left",
    ]


def test_at_a_terminal(tmp_path: Path) -> None:
    seen = at_terminal([sys.executable, "-c", WORK], tmp_path)
    assert seen.code == 0, seen.text
    assert seen.redrawn
    assert "━" in seen.text
    last = [line for line in seen.text.splitlines() if line.startswith(("one", "two"))][-2:]
    assert re.search(r"^one .*4/4 games .*Elo \+4", last[0])
    assert re.search(r"^two .*1/2 games .*x+…$", last[1].rstrip()), "cut at the edge"
    assert all(len(line) <= 100 for line in last)
    assert "game 2: [red]lost[/red]" in seen.text
    assert seen.text.rstrip().endswith("done"), "standard output is below the bars"


def test_ctrl_c_in_compiled_code_leaves_the_cursor(tmp_path: Path) -> None:
    work = """
import time
from master.commands.common import interruptible
from master.ui.progress import Bars
def work():
    with Bars("openings") as bars:
        bars.bar("making openings", 9).begin()
        time.sleep(60)
interruptible(work)
"""
    with Terminal([sys.executable, "-c", work], tmp_path) as terminal:
        terminal.wait_for("making openings")
        terminal.type("\x03")
        seen = terminal.seen(30)
    assert seen.code == 130 and "interrupted" in seen.text
    assert seen.raw.rindex("\x1b[?25h") > seen.raw.rindex("\x1b[?25l"), "shown again after it was hidden"


def test_a_long_name_leaves_room_for_the_time_left(tmp_path: Path) -> None:
    work = (
        "import time\nfrom master.ui.progress import Bars\nwith Bars('positions') as bars:\n"
        "    bar = bars.bar('1/1 gougi+embedded-300-10F+single+gougi+20261128012136', 20)\n    bar.begin()\n"
        "    for done in (1, 2):\n        time.sleep(1.2)\n        bar.show(done)\n    time.sleep(0.5)"
    )
    seen = at_terminal([sys.executable, "-c", work], tmp_path, columns=80)
    assert "s left" in seen.text and "1/1 gougi+embedded" in seen.text


def test_at_a_narrow_terminal_nothing_breaks(tmp_path: Path) -> None:
    seen = at_terminal([sys.executable, "-c", WORK], tmp_path, columns=24, rows=8)
    assert seen.code == 0, seen.text
    assert max(map(len, seen.text.replace("\r", "\n").splitlines())) <= 24
