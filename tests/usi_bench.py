"""A GUI for the USI front in virtual time, for any searcher, and random GUI lines."""

from __future__ import annotations

from typing import Any

from worker.book import BookReply
from worker.usi.events import AskBook, BookReplied, GuiLine, Prepared, SendToGui, Tick
from worker.usi.front import UsiFront

TIMES = "btime 60000 wtime 60000 binc 1000 winc 1000"

LINES = (
    "isready",
    "usinewgame",
    "position startpos",
    "position startpos moves 7g7f 3c3d",
    "position startpos moves 7g7e",
    "go btime 1000 wtime 1000 byoyomi 500",
    "go ponder btime 1000 wtime 1000",
    "go ponder",
    "go ponder infinite",
    "go infinite",
    "go nodes 100",
    "go",
    "go mate 100",
    "go mate infinite",
    "go there",
    "go btime abc wtime",
    "go mate soon",
    "ponderhit",
    "ponderhit btime 5 wtime 5",
    "stop",
    "gameover win",
    "",
    "bestmove 7g7f",
)
"""Random lines, right and wrong. Each searcher's test adds options."""


class UsiBench:
    """``said`` are the lines for the GUI since the last `take`, ``done`` all other instructions.

    Args:
        ready: whether ``isready`` has been answered.
    """

    def __init__(self, front: UsiFront, *, ready: bool) -> None:
        self.front = front
        self.now = 1000.0
        self.book: BookReply | None = BookReply(None)
        """The book's immediate answer; None: it takes its time."""
        self.said: list[str] = []
        self.done: list[Any] = []
        self.asked: list[AskBook] = []
        """The book's questions."""
        if ready:
            self.send("isready")
            self.feed(Prepared())
            assert self.take() == ["readyok"]
            self.done.clear()

    def feed(self, event: object, after: float = 0) -> list[Any]:
        """Give the front an event, ``after`` milliseconds. Returns its instructions, and those that the book causes."""
        self.now += after
        out = self.front.handle(event, self.now)
        for instruction in out:
            if isinstance(instruction, SendToGui):
                self.said.append(instruction.text)
            elif isinstance(instruction, AskBook):
                self.asked.append(instruction)
                if self.book is not None:
                    out = [*out, *self.feed(BookReplied(self.book))]
            else:
                self.done.append(instruction)
        return out

    def send(self, *lines: str, after: float = 0) -> None:
        for line in lines:
            self.feed(GuiLine(line, self.now + after), after)

    def tick(self, after: float) -> None:
        """Go on in time, with a `Tick` whenever one is due."""
        end = self.now + after
        while (wake := self.front.wake_ms()) is not None and wake <= end:
            self.feed(Tick(), max(0.0, wake - self.now))
        self.now = end

    def take(self) -> list[str]:
        said, self.said = self.said, []
        return said

    def moves(self) -> list[str]:
        """The ``bestmove`` lines since the last `take`, which this is."""
        return [line for line in self.take() if line.startswith("bestmove")]
