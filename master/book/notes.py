"""Follows a game for the book: our moves, what was thought about each, and how it ended. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from cluster.api import Decision
from master.book.lessons import OwnMove
from master.book.thoughts import Thought, reference_seconds
from master.events import GameBegan, GameEvent, MovePlayed, ThinkingBegan, ThinkingEnded


def thought_of(decision: Decision) -> Thought | None:
    """What a decision is worth to the book; None where nothing was searched, or the move is no move."""
    if decision.score is None or not decision.nodes or decision.source in ("forced", "fallback"):
        return None
    if decision.pv[:1] != (decision.move,):
        return None
    seconds = reference_seconds(decision.nodes)
    return Thought(decision.move, decision.score, decision.depth, seconds, decision.pv)


@dataclass(slots=True)
class GameNotes:
    """Our side of one game, from its events."""

    start_sfen: str = ""
    name: str = ""
    opponent: str = ""
    colour: int = 0
    moves: list[str] = field(default_factory=list)
    """USI, of both sides, since ``start_sfen``."""
    own: list[OwnMove] = field(default_factory=list)
    _sfen: str = ""
    _decision: Decision | None = None

    def take(self, event: GameEvent) -> OwnMove | None:
        """Follow an event; our move, where it is one that the server has confirmed."""
        match event:
            case GameBegan(summary, sfen):
                self.start_sfen, self._sfen = sfen, sfen
                self.colour = summary.my_colour
                self.name, self.opponent = summary.names[self.colour], summary.names[1 - self.colour]
            case ThinkingBegan():
                self._decision = None
            case ThinkingEnded(decision):
                self._decision = decision
            case MovePlayed():
                return self._played(event)
            case _:
                pass
        return None

    def _played(self, event: MovePlayed) -> OwnMove | None:
        own = None
        if event.mine:
            decision, self._decision = self._decision, None
            # The last resort plays a move that nothing decided on.
            thought = thought_of(decision) if decision is not None and decision.move == event.usi else None
            score = event.score if event.score is None or self.colour == 0 else -event.score
            own = OwnMove(event.ply, self._sfen, tuple(self.moves), event.usi, thought, score)
            self.own.append(own)
        self.moves.append(event.usi)
        self._sfen = event.sfen
        return own
