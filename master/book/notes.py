"""Follows a game for the book: our moves, the search of each, and how it ended. Pure.

The notes go to the book with each own move (`GameNotes.own_text`), so that a game which a crash has cut short can be
taken up from there (`GameNotes.taken_up`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from cluster.api import Decision
from master.book.lessons import OwnMove
from master.book.searches import BookSearch, reference_seconds
from master.player.events import GameBegan, GameEvent, MovePlayed, ThinkingBegan
from worker.shogi import Position


def book_search_of(decision: Decision) -> BookSearch | None:
    """The search for the book that a decision stands for; None where nothing was searched."""
    if decision.score is None or not decision.nodes or not decision.is_of_nodes:
        return None
    seconds = reference_seconds(decision.nodes)
    return BookSearch(decision.move, decision.score, decision.depth, seconds, decision.pv)


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
            case Decision():
                self._decision = event
            case MovePlayed():
                return self._played(event)
            case _:
                pass
        return None

    def copy(self) -> Self:
        """The notes as they are now."""
        return replace(self, moves=self.moves[:], own=self.own[:])

    def own_text(self) -> str:
        """Our moves as JSON; with ``moves`` they are all that `taken_up` needs."""
        return json.dumps([(len(own.moves), own.known_score, own.seconds) for own in self.own])

    @classmethod
    def taken_up(cls, start_sfen: str, name: str, opponent: str, colour: int, moves: Sequence[str], own: str) -> Self:
        """Notes of a game again, as far as they were kept.

        Raises:
            ValueError: they are damaged.
        """
        position = Position.from_sfen(start_sfen)
        notes = cls(start_sfen, name, opponent, colour, _sfen=start_sfen)
        marks = {int(before): (score, float(seconds)) for before, score, seconds in json.loads(own)}
        for before, move in enumerate(moves):
            if before in marks:
                score, seconds = marks[before]
                search = BookSearch(move, score, 0, seconds, (move,)) if score is not None and seconds else None
                sfen = position.sfen()
                notes.own.append(OwnMove(int(sfen.split()[3]), sfen, tuple(moves[:before]), move, search, score))
            position.push_usi(move)
            notes.moves.append(move)
        notes._sfen = position.sfen()
        return notes

    def _played(self, event: MovePlayed) -> OwnMove | None:
        own = None
        if event.mine:
            decision, self._decision = self._decision, None
            # The last resort plays a move that nothing decided on.
            search = book_search_of(decision) if decision is not None and decision.move == event.usi else None
            score = event.comment.score
            score = score if score is None or self.colour == 0 else -score
            own = OwnMove(event.ply, self._sfen, tuple(self.moves), event.usi, search, score)
            self.own.append(own)
        self.moves.append(event.usi)
        self._sfen = event.sfen
        return own
