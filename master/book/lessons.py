"""What the book keeps of a game: its notes, its searches, and the lessons of a lost one. Pure.

The unit of search is the **reference second**: `REFERENCE_NPS` nodes, searched by the whole fleet. A search of 20
reference seconds took a fleet of 4 Mn/s five seconds. So searches of different machines can be compared.

**Method II** chooses own moves of a lost game to be searched again. The **turn** is the first own move at which the
evaluation is bad and stays so. What went wrong was played before it, so the turn and the own moves before it are
searched again, the nearest first, each for twice the time that it has had. The better evaluation of a longer search
moves the turn towards its cause: if a position turns out to be bad already, whatever is played, the own move before it
is studied too, and so on back.

A lesson may be longer than any gap between two games. So it is searched in **pieces**, whose times add up until it has
had all of its time. It is judged by them all: a mate that was found, else the move that most of the time has found.
That is worth the time of the longest piece: each begins anew, so many short ones see no deeper than one of them.

Source: the idea of a book that thinks again about the moves of lost games is known from several tournament programs;
which moves and how long is ours, and measured by ``benchmarks/learning.py``.
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
    """The result of a search as the book keeps it; for the position as it was given, not its key's."""

    move: str
    """In USI."""
    score: int
    """Score from the side to move."""
    depth: int
    seconds: float
    """Reference seconds."""
    pv: tuple[str, ...] = ()
    """USI moves from the position on, ``move`` the first."""
    studied: bool = False
    """Made by method II, after a lost game; otherwise by method I, in a game."""

    def flipped(self) -> BookSearch:
        """The same on the board turned around, with the colours swapped."""
        return replace(self, move=flip_move(self.move), pv=tuple(flip_move(move) for move in self.pv))


@dataclass(frozen=True, slots=True)
class PositionKey:
    """A position without its ply, with black to move: what two sides and all ways to a position have in common."""

    text: str
    """Board, side and hands as in SFEN."""
    flipped: bool
    """Whether it is the position turned around."""

    @classmethod
    def of(cls, sfen: str) -> PositionKey:
        """The key of a position, given as SFEN with a ply."""
        key, _ = split_sfen(sfen)
        flipped = key.split()[1] == "w"
        return cls(flip_key(key) if flipped else key, flipped)

    def turn(self, search: BookSearch) -> BookSearch:
        """Turn a search of the position into one of the key, or back."""
        return search.flipped() if self.flipped else search


UNKNOWN = "unknown"
"""Stands for the reason where nobody has told us how the game ended: the line, or this process, broke down before."""
_BLAMELESS = ("TIME_UP", "ILLEGAL_MOVE", "ILLEGAL_ACTION", UNKNOWN)
"""Endings that say nothing about the moves, unless the evaluation had turned before."""


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
    """Score from our view, if it is known: of the search, or of the book's entry."""

    @property
    def seconds(self) -> float:
        """Reference seconds that the move was searched."""
        return self.search.seconds if self.search else 0.0


@dataclass(frozen=True, slots=True)
class Lesson:
    """A position to think about again."""

    start_sfen: str
    moves: tuple[str, ...]
    """USI moves from there: the history, for repetition."""
    sfen: str
    """The position itself."""
    ply: int
    seconds: float
    """Time to search it, in reference seconds (`master.book.lessons`)."""
    pieces: tuple[BookSearch, ...] = ()
    """The searches that it has had so far."""

    @property
    def left_seconds(self) -> float:
        """Time left for this lesson, in reference seconds."""
        return max(0.0, self.seconds - sum(piece.seconds for piece in self.pieces))

    def with_piece(self, piece: BookSearch | None) -> Lesson:
        """The lesson with one search more; None: that has found nothing."""
        return self if piece is None else replace(self, pieces=(*self.pieces, piece))


def judged(pieces: Sequence[BookSearch]) -> BookSearch | None:
    """The result of a lesson's pieces together; None where there is none.

    A mate where one was found, for us or against us; else the move that most of the time has found, as the longest
    piece that found it has it, with the time of the longest of all.
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
    """Factor by which a lesson is searched longer than the position was before."""
    most_seconds: float = 3600.0
    """Reference seconds from which on a position is not searched again; earlier ones are taken instead."""


def earlier_lesson(
    lesson: Lesson, found: BookSearch, sfen: str, before: BookSearch | None, settings: StudySettings
) -> Lesson | None:
    """The lesson that follows one which has found its position to be bad: the own move before it.

    Args:
        lesson: what was studied.
        found: what came of it.
        sfen: the position two plies before it.
        before: what the book knows about that.
        settings: what is bad, and how much longer to think.

    Returns:
        None where the position is not bad, or nothing was searched before it, or that was studied already, or had as
        much time as anything gets.
    """
    if found.score > -settings.bad_score or before is None or before.studied:
        return None
    if before.seconds >= settings.most_seconds:
        return None
    seconds = min(before.seconds * settings.factor, settings.most_seconds)
    return Lesson(lesson.start_sfen, lesson.moves[:-2], sfen, lesson.ply - 2, seconds)


def find_turn(own: Sequence[OwnMove], bad_score: int) -> int | None:
    """The index of the first own move from which on the evaluation is bad to the end; None where it never is.

    Moves without a score count as the one before them.
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
    """The lessons that a lost game leaves, the most important first.

    Args:
        start_sfen: the game's start position.
        own: our moves.
        reason: how it was lost, in the server's word (``RESIGN`` …), or `UNKNOWN`.
        seconds: how long each position was searched so far, in reference seconds, by ``OwnMove.sfen``; a position
            that is missing was not searched.
    """
    turn = find_turn(own, settings.bad_score)
    if turn is None:
        if reason in _BLAMELESS:
            return []
        turn = len(own) - 1  # lost out of the blue
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
    """The search for the book that a decision stands for; None if nothing was searched."""
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
        """Follow an event; our move, if it is one that the server has confirmed."""
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
            # The last resort plays a move that nothing decided on.
            search = book_search_of(decision) if decision is not None and decision.move == event.usi else None
            score = event.comment.score
            score = score if score is None or self.colour == 0 else -score
            own = OwnMove(event.ply, self._sfen, tuple(self.moves), event.usi, search, score)
            self.own.append(own)
        self.moves.append(event.usi)
        self._sfen = event.sfen
        return own
