"""The data that the book keeps of a game: its moves, its searches, and the lessons of a lost one. Pure.

The unit of search is the **reference second**: `REFERENCE_NPS` nodes, searched by the whole fleet. A search of 20
reference seconds took a fleet of 4 Mn/s five seconds. This makes searches on different machines comparable.

**Method II** selects own moves of a lost game to be searched again. The **turn** (turning point) is the first own move
at which the evaluation is bad and stays so. The mistake was made before it, so the turn and the own moves before it are
searched again, the nearest first, each for twice its previous time. The better evaluation of a longer search moves the
turn towards its cause: if a position turns out to be bad for every move, the own move before it is studied
too, and so on.

A lesson may be longer than any gap between two games. So it is searched in **pieces**, whose times add up until the
lesson is complete. Its result combines all of them: a mate if one was found, otherwise the move with the most search
time. It counts with the time of the longest piece: each piece starts afresh, so many short ones see no deeper than one
of them.

Source: several tournament programs are known to have a book that reconsiders the moves of lost games; the choice of
moves and times is ours, and measured by ``benchmarks/learning.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from cluster.api import Decision
from master.player.events import GameBegan, GameEvent, MovePlayed, ThinkingBegan
from worker.book.format import flip_key, flip_move, split_sfen
from worker.score import is_mate

REFERENCE_NPS: Final = 1_000_000
"""Nodes of a reference second."""


def reference_seconds(nodes: float) -> float:
    """``nodes`` of the whole fleet in reference seconds."""
    return nodes / REFERENCE_NPS


@dataclass(frozen=True, slots=True)
class BookSearch:
    """The result of a search as the book stores it; for the position as given, not for its key."""

    move: str
    """In USI."""
    score: int
    """Score from the side to move."""
    depth: int
    seconds: float
    """Reference seconds."""
    pv: tuple[str, ...] = ()
    """USI moves from the position on; ``move`` is the first."""
    studied: bool = False
    """Made by method II, after a lost game; otherwise by method I, during a game."""

    def flipped(self) -> BookSearch:
        """The same on the rotated board, with the colours swapped."""
        return replace(self, move=flip_move(self.move), pv=tuple(flip_move(move) for move in self.pv))


@dataclass(frozen=True, slots=True)
class PositionKey:
    """A position without its ply, with black to move: the same for both sides and for all move orders."""

    text: str
    """Board, side and hands as in SFEN."""
    flipped: bool
    """Whether the position was rotated."""

    @classmethod
    def of(cls, sfen: str) -> PositionKey:
        """The key of a position, given as SFEN with a ply."""
        key, _ = split_sfen(sfen)
        flipped = key.split()[1] == "w"
        return cls(flip_key(key) if flipped else key, flipped)

    def turn(self, search: BookSearch) -> BookSearch:
        """Convert a search of the position to one of the key, or back."""
        return search.flipped() if self.flipped else search


UNKNOWN = "unknown"
"""The reason if the end of the game is unknown: the connection broke, or this process died, before it."""
_BLAMELESS = ("TIME_UP", "ILLEGAL_MOVE", "ILLEGAL_ACTION", UNKNOWN)
"""Endings that say nothing about the moves, unless the evaluation had become bad before."""


@dataclass(frozen=True, slots=True)
class OwnMove:
    ply: int
    """Its number in the game, 1 for the first of the game."""
    sfen: str
    """The position in which it was made, with its ply."""
    moves: tuple[str, ...]
    """USI moves from the game's start position to that one."""
    move: str
    search: BookSearch | None
    """None if nothing was searched: a book move, the only legal one, the last resort."""
    known_score: int | None = None
    """Score from our view, if it is known: from the search, or from the book's entry."""

    @property
    def seconds(self) -> float:
        """Reference seconds spent on the move."""
        return self.search.seconds if self.search else 0.0


@dataclass(frozen=True, slots=True)
class Lesson:
    """A position to search again."""

    start_sfen: str
    moves: tuple[str, ...]
    """USI moves from there: the history, for repetition."""
    sfen: str
    """The position itself."""
    ply: int
    seconds: float
    """Time to search it, in reference seconds (`master.book.lessons`)."""
    pieces: tuple[BookSearch, ...] = ()
    """Its searches so far."""

    @property
    def left_seconds(self) -> float:
        """Time left for this lesson, in reference seconds."""
        return max(0.0, self.seconds - sum(piece.seconds for piece in self.pieces))

    def with_piece(self, piece: BookSearch | None) -> Lesson:
        """The lesson with one more search; None: that search has no result."""
        return self if piece is None else replace(self, pieces=(*self.pieces, piece))


def judged(pieces: Sequence[BookSearch]) -> BookSearch | None:
    """The combined result of a lesson's pieces; None if there is none.

    If a mate was found, for us or against us, that; otherwise the move with the most search time, as found by the
    longest piece that chose it, with the time of the longest of all.
    """
    if not pieces:
        return None
    if mates := [piece for piece in pieces if is_mate(piece.score)]:
        return max(mates, key=lambda piece: piece.score)
    times: dict[str, float] = {}
    for piece in pieces:
        times[piece.move] = times.get(piece.move, 0.0) + piece.seconds
    best = max(times, key=lambda move: times[move])
    longest = max((piece for piece in pieces if piece.move == best), key=lambda piece: piece.seconds)
    return replace(longest, seconds=max(piece.seconds for piece in pieces))


@dataclass(frozen=True, slots=True)
class StudySettings:
    """Settings of the study after a lost game."""

    bad_score: int = 300
    """The evaluation is bad if it is this far below zero, in centipawns."""
    moves: int = 4
    """Number of own moves that are searched again after one game."""
    factor: float = 2.0
    """Factor by which the lesson's search is longer than the previous search of the position."""
    most_seconds: float = 3600.0
    """Reference seconds from which a position is not searched again; earlier ones are selected instead."""


def earlier_lesson(
    lesson: Lesson, found: BookSearch, sfen: str, before: BookSearch | None, settings: StudySettings
) -> Lesson | None:
    """The lesson that follows one whose position turned out to be bad: the own move before it.

    Args:
        sfen: the position two plies before it.
        before: the book's search of that position.

    Returns:
        None if the position is not bad, or nothing was searched before it, or that was studied already or has had the
        maximum time.
    """
    if found.score > -settings.bad_score or before is None or before.studied:
        return None
    if before.seconds >= settings.most_seconds:
        return None
    seconds = min(before.seconds * settings.factor, settings.most_seconds)
    return Lesson(lesson.start_sfen, lesson.moves[:-2], sfen, lesson.ply - 2, seconds)


def find_turn(own: Sequence[OwnMove], bad_score: int) -> int | None:
    """The index of the first own move from which the evaluation is bad until the end; None if there is none.

    Moves without a score have the score of the move before them.
    """
    turn = None
    for index, move in enumerate(own):
        if move.known_score is None:
            continue
        if move.known_score > -bad_score:
            turn = None
        elif turn is None:
            turn = index
    return turn


def plan_lessons(
    start_sfen: str,
    own: Sequence[OwnMove],
    reason: str,
    seconds: Mapping[str, float],
    settings: StudySettings,
) -> list[Lesson]:
    """The lessons from a lost game, the most important first.

    Args:
        reason: the way it was lost, in the server's word (``RESIGN`` …), or `UNKNOWN`.
        seconds: previous search time of each position, in reference seconds, by ``OwnMove.sfen``; a position that is
            missing was not searched.
    """
    turn = find_turn(own, settings.bad_score)
    if turn is None:
        if reason in _BLAMELESS:
            return []
        turn = len(own) - 1  # lost without a bad evaluation before
    lessons: list[Lesson] = []
    for move in reversed(own[: turn + 1]):
        had = max(seconds.get(move.sfen, 0.0), move.seconds)
        if 0 < had < settings.most_seconds:
            wanted = min(had * settings.factor, settings.most_seconds)
            lessons.append(Lesson(start_sfen, move.moves, move.sfen, move.ply, wanted))
        if len(lessons) >= settings.moves:
            break
    return lessons


def book_search_of(decision: Decision) -> BookSearch | None:
    """The search to store in the book for a decision; None if nothing was searched."""
    if decision.score is None or not decision.nodes or not decision.is_of_nodes:
        return None
    seconds = reference_seconds(decision.nodes)
    return BookSearch(decision.move, decision.score, decision.depth, seconds, decision.pv)


@dataclass(slots=True)
class GameNotes:
    """Our side of one game, built from its events."""

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
        """Process an event; returns our move if the server has confirmed one."""
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

    def _played(self, event: MovePlayed) -> OwnMove | None:
        own = None
        if event.mine:
            decision, self._decision = self._decision, None
            # The last resort plays a move without a decision.
            search = book_search_of(decision) if decision is not None and decision.move == event.usi else None
            score = event.comment.score
            score = score if score is None or self.colour == 0 else -score
            own = OwnMove(event.ply, self._sfen, tuple(self.moves), event.usi, search, score)
            self.own.append(own)
        self.moves.append(event.usi)
        self._sfen = event.sfen
        return own
