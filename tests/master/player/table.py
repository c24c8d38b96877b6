"""A player at a table: a test gives it inputs and sees its actions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cluster.api import Decision, Known, Pondered, PonderSearch, Progress, SearchRequest, StartSearch, StopSearch
from master.csa.summary import GameSummary, format_summary, parse_summary
from master.player.events import GameEvent, GameOutcome, Note
from master.player.inputs import Connected, Input, PonderFound, Prepared, ServerLine
from master.player.instructions import Emit, Finish, Instruction, Login, PlayerSettings, Send
from master.player.player import Player
from tests.answers import make_decision, make_progress
from tests.master.csa.transcripts import summary_lines

BLACK = parse_summary(summary_lines("01_fischer_toryo.black")[1:-1])
WHITE = replace(BLACK, my_colour=1)
MATED = "4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1"
# Black's king in the camp, ten other pieces there, and 28 points.
ENTERED = "K1RRBB3/GGSS5/NNL6/9/9/9/9/9/8k b 8P 1"


def decision(search_id: int, move: str, score: int | None = 0, pv: Iterable[str] = (), **more: object) -> Decision:
    return make_decision(search_id, move, score, pv=(move, *pv), **more)  # type: ignore[arg-type]


def progress(search_id: int, *pv: str) -> Progress:
    return make_progress(search_id, 5, 3, 12, pv, 100)


class Table:
    """A player, and all its requested actions."""

    def __init__(self, settings: PlayerSettings | None = None) -> None:
        login = Login("alice", "test-60-5F-B,pwa")
        self.player = Player(login, replace(settings or PlayerSettings(), validate=True))
        self.now = 1_000.0
        self.all: list[Instruction] = []
        self.tell(Connected())

    def tell(self, event: Input, at_ms: float | None = None) -> list[Instruction]:
        """An event, now or at another time."""
        instructions = self.player.handle(event, self.now if at_ms is None else at_ms)
        self.all += instructions
        finished = [instruction for instruction in self.all if isinstance(instruction, Finish)]
        assert len(finished) <= 1
        if finished:
            assert self.all[-1] == finished[0]
        return instructions

    def hear(self, *lines: str, after_ms: float = 0) -> list[Instruction]:
        self.now += after_ms
        return [instruction for line in lines for instruction in self.tell(ServerLine(line))]

    def ponder(self, reply: str, known: Known) -> None:
        """Pondering has just found something about ``reply``."""
        self.tell(PonderFound(Pondered(self.pondered[-1].search_id, {reply: known}), self.now))

    def begin(self, summary: GameSummary = BLACK) -> Table:
        self.hear("LOGIN:alice OK", *format_summary(summary))
        self.tell(Prepared())
        self.hear(f"START:{summary.game_id}")
        return self

    @property
    def lines(self) -> list[str]:
        return [instruction.line for instruction in self.all if isinstance(instruction, Send)]

    @property
    def events(self) -> list[GameEvent]:
        return [instruction.event for instruction in self.all if isinstance(instruction, Emit)]

    @property
    def requests(self) -> list[SearchRequest]:
        return [instruction.request for instruction in self.all if isinstance(instruction, StartSearch)]

    @property
    def pondered(self) -> list[SearchRequest]:
        return [instruction.request for instruction in self.all if isinstance(instruction, PonderSearch)]

    @property
    def stopped(self) -> list[int]:
        return [instruction.search_id for instruction in self.all if isinstance(instruction, StopSearch)]

    @property
    def outcome(self) -> GameOutcome:
        assert self.player.outcome is not None
        return self.player.outcome

    def decide(self, move: str, score: int | None = 0, pv: Iterable[str] = (), **more: object) -> str:
        """The running search decides; returns the outgoing line."""
        before = len(self.lines)
        self.tell(decision(self.requests[-1].search_id, move, score, pv, **more))
        (line,) = self.lines[before:]
        return line

    def notes(self) -> list[str]:
        return [event.event for event in self.events if isinstance(event, Note)]
