"""Streams that never block their writer: real pipes without a reader, and a full device."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import io
import os
import sys
import threading
import time

import pytest
from structlog.testing import capture_logs

from master.ui.console import Console
from master.ui.outlet import Outlet
from master.ui.show import Show
from tests.master.ui.shown import GAME


def pipe() -> tuple[int, io.TextIOWrapper]:
    """The end that reads, and a stream into the other one."""
    reads, writes = os.pipe()
    return reads, io.TextIOWrapper(io.BufferedWriter(io.FileIO(writes, "w")), encoding="utf-8")


def test_a_writer_does_not_wait_and_nothing_that_fits_is_lost() -> None:
    reads, stream = pipe()
    outlet = Outlet()
    console = Console(file=outlet.stream(stream))
    lines = [f"line {number} " + "x" * 100 for number in range(2000)]  # three times what a pipe holds
    writing = threading.Thread(target=lambda: [console.say(line) for line in lines], daemon=True)
    writing.start()
    writing.join(30)
    assert not writing.is_alive()
    assert not outlet.drain(0.05), "nobody has read it"
    stream.flush()  # nor does a lock hold up a caller that flushes the stream itself
    found = bytearray()
    while found.count(b"\n") < len(lines):
        found += os.read(reads, 1 << 16)
    assert found.decode().splitlines() == lines
    assert outlet.drain(30)


def test_too_much_is_dropped_whole_writes_at_a_time() -> None:
    reads, stream = pipe()
    outlet = Outlet()
    out = outlet.stream(stream)
    for number in range(40):
        out.write(f"{number:9}" * 10_000 + "\n")
    found = bytearray()
    while not outlet.drain(0.01):
        found += os.read(reads, 1 << 20)
    os.set_blocking(reads, False)
    found += os.read(reads, 1 << 20)
    numbers = [line.split() for line in found.decode().splitlines()]
    assert 10 <= len(numbers) < 40
    assert all(len(words) == 10_000 and len(set(words)) == 1 for words in numbers)


def test_two_streams_keep_their_order() -> None:
    reads, stream = pipe()
    outlet = Outlet()
    out, err = outlet.stream(stream), outlet.stream(stream)
    for number in range(100):
        (out, err)[number % 2].write(f"{number}\n")
    assert outlet.drain(30)
    assert os.read(reads, 1 << 16).decode().split() == [str(number) for number in range(100)]


def test_an_error_is_raised_once_by_the_next_write() -> None:
    with open("/dev/full", "w") as full:
        outlet = Outlet()
        out = outlet.stream(full)
        out.write("lost\n")
        assert outlet.drain(30)
        with pytest.raises(OSError, match="No space left"):
            out.write("this too\n")
        out.raise_trouble()
        assert out.isatty() is False


def test_text_streams_without_bytes_do_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    outlet = Outlet()
    Console(file=outlet.stream(sys.stdout)).say("[red] as it is")
    assert outlet.drain(30)
    assert stream.getvalue() == "[red] as it is\n"
    stream.close()
    out = outlet.stream(io.StringIO())
    out._target.close()
    out.write("x")
    assert outlet.drain(30)
    with pytest.raises(OSError, match="closed"):
        out.raise_trouble()


def test_a_reader_that_comes_back_gets_the_rest() -> None:
    reads, stream = pipe()
    outlet = Outlet()
    out = outlet.stream(stream)
    out.write("y" * 200_000)
    time.sleep(0.05)
    left = 200_000
    while left:
        left -= len(os.read(reads, 1 << 16))
    assert outlet.drain(30)


def test_a_closed_pipe_ends_no_game() -> None:
    reads, stream = pipe()
    os.close(reads)
    outlet = Outlet()
    out = outlet.stream(stream)

    def drain() -> None:
        outlet.drain(30)
        out.raise_trouble()

    console = Console(file=out)
    show = Show(console, console, plain=True, drain=drain)
    for line in ("lost", "this too", "and this"):
        show.say(line)
        outlet.drain(30)
    with pytest.raises(BrokenPipeError):
        show.settle()


async def test_a_screen_that_takes_long_to_draw_is_drawn_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cores belong to the search."""
    now_s, waited_s, drawn = 0.0, 0.0, list[float]()
    console = Console(file=io.StringIO(), force_terminal=True, width=120, height=40)
    show = Show(console, console)

    def draw() -> None:
        nonlocal now_s, waited_s
        drawn.append(now_s)
        stalls = 10.0 if len(drawn) == 1 else 0.0
        now_s, waited_s = now_s + stalls + 0.03, waited_s + stalls

    async def sleep(seconds: float) -> None:
        nonlocal now_s, waited_s
        if now_s > 40:
            raise asyncio.CancelledError
        now_s, waited_s = now_s + seconds, waited_s + seconds

    show.observe(GAME[0])
    show.observe(GAME[1])
    monkeypatch.setattr(show, "_live", object())
    monkeypatch.setattr(show, "_draw", draw)
    monkeypatch.setattr("master.ui.show.time.thread_time", lambda: now_s - waited_s)
    monkeypatch.setattr("master.ui.show.asyncio.sleep", sleep)
    with contextlib.suppress(asyncio.CancelledError):
        await show._paint()
    # The first one waited 10 s for a core, which is no drawing.
    assert 0.015 < 0.03 * len(drawn) / 30 < 0.022 and drawn[1] < 12.5


class Dead(io.StringIO):
    """A terminal that accepts nothing for a while."""

    dead = False

    def write(self, text: str) -> int:
        if self.dead:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().write(text)


@pytest.mark.parametrize("as_it_begins", [False, True])
def test_a_terminal_that_is_away_ends_no_game(as_it_begins: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("master.ui.show.REFRESH_S", 0.01)
    monkeypatch.setattr("master.ui.show.MOST_DRAWING", 1e9)
    terminal = Dead()
    console = Console(file=terminal, force_terminal=True, width=120, height=40)
    show = Show(console, console)

    async def play() -> None:
        async with show:
            terminal.dead = as_it_begins
            for event in GAME[:4]:
                show.observe(event)
            terminal.dead = True
            await asyncio.sleep(0.1)
            terminal.dead = False
            before = len(terminal.getvalue())
            await asyncio.sleep(0.1)
            assert len(terminal.getvalue()) > before, "it is drawn again"
            assert terminal.getvalue().rpartition("\x1b[?1049")[2].startswith("h"), "on the screen of its own"
            show.say("a line while the screen is on")
            assert "a line while the screen is on" in show.view.notes
            for event in GAME[4:]:
                show.observe(event)

    with capture_logs() as logs:
        asyncio.run(play())
    assert [entry["event"] for entry in logs] == ["output_lost"]
    assert "a line while the screen is on" in terminal.getvalue().rpartition("\x1b[?1049l")[2]
    with pytest.raises(OSError, match="Input/output error"):
        show.settle()
