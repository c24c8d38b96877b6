"""Questions and answers of one player, and the faults in them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from worker.shogi import MoveError, Position

_PIPES_MS = 60.0
"""Delay of the pipes and of the watcher itself."""
_STARVED = 4.0
"""An answer may be late by this factor times the watcher's own delay in that time: each hand-over waits for a core."""

_SHORTLY_MS = 5000.0


@dataclass(slots=True)
class Question:
    """A ``go``, and the answers to it."""

    moves: tuple[str, ...]
    """The game so far, from the start position."""
    byoyomi_ms: int
    asked_ms: float
    answers: list[tuple[float, str]] = field(default_factory=list)
    """Time (ms) and move of each."""
    given_up: bool = False
    """The player was killed before it could answer."""


@dataclass(slots=True)
class History:
    """All of one player's questions, and how late the watcher itself woke up."""

    questions: list[Question] = field(default_factory=list)
    stray: list[str] = field(default_factory=list)
    """``bestmove`` lines without a question."""
    overslept: list[tuple[float, float]] = field(default_factory=list)
    """Time (ms) and delay (ms) of each late wake-up."""
    befell: list[tuple[float, str]] = field(default_factory=list)
    """Time (ms) and name of each fault and of each new player."""

    def faults(self) -> list[str]:
        """Describe each fault in a line."""
        found = [f"an answer that nobody asked for: {line}" for line in self.stray]
        for number, question in enumerate(self.questions, start=1):
            if len(question.answers) != 1 and not (question.given_up and not question.answers):
                found.append(f"question {number}: {len(question.answers)} answers")
            for at_ms, move in question.answers:
                if not _playable(question.moves, move):
                    found.append(f"question {number}: {move} after {' '.join(question.moves)}")
                late_ms = at_ms - question.asked_ms - question.byoyomi_ms
                allowed_ms = self.allowance_ms(question.asked_ms, at_ms)
                if late_ms > allowed_ms:
                    before = self.before(at_ms)
                    found.append(f"question {number}: {late_ms:.0f} ms late, {allowed_ms:.0f} allowed; {before}")
        return found

    def before(self, at_ms: float) -> str:
        """Faults that hit the player shortly before."""
        said = [
            f"{what} {at_ms - when:.0f} ms before" for when, what in self.befell if 0 <= at_ms - when <= _SHORTLY_MS
        ]
        return ", ".join(said) or "nothing before"

    def allowance_ms(self, begin_ms: float, end_ms: float) -> float:
        """The delay (ms) that an answer between the two times may have on a machine with too few free cores."""
        worst = max((by for at, by in self.overslept if begin_ms - 200 <= at <= end_ms + 200), default=0.0)
        return _PIPES_MS + _STARVED * worst

    def lateness_ms(self) -> list[float]:
        """The delay of every answer after its byoyomi, in ms; below 0: before it."""
        return [at - each.asked_ms - each.byoyomi_ms for each in self.questions for at, _ in each.answers]


def _playable(moves: tuple[str, ...], move: str) -> bool:
    position = Position.startpos()
    position.push_all(moves)
    if move == "win":
        return position.can_declare()
    if move == "resign":
        return not position.legal_moves()
    try:
        position.parse_usi(move)
    except MoveError:
        return False
    return True
