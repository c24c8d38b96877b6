"""The positions of a game that have to be searched, and the step from a search to the evaluation of a position.
Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

import msgspec

from master.analysis.game import GameFileError, RecordedGame
from worker.engine import Bound
from worker.score import DRAW, MATE, from_child, mate_in, mated_in
from worker.shogi import MoveError, Position, SfenError, move_to_usi
from worker.shogi.position import Repetition

_REPEATED: Final = {Repetition.DRAW: DRAW, Repetition.WIN: mate_in(1), Repetition.LOSE: mated_in(0)}
_LONGEST_CHAIN: Final = 32
"""Maximum number of consecutive forced replies that are followed after the game's last move."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of several root moves that a search compared (multi-PV)."""

    score: int
    depth: int
    pv: tuple[str, ...]
    bound: Bound = Bound.EXACT


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The evaluation of a position; the score from its side to move (`worker.score`). The stores of an analysis keep it
    as JSON."""

    score: Annotated[int, msgspec.Meta(ge=-MATE, le=MATE)]
    best: str = ""
    """A USI move, or ``win`` (a declaration); empty if the game is over."""
    pv: tuple[str, ...] = ()
    """Starts at the position; its first move is ``best``."""
    depth: int = 0
    nodes: int = 0
    elapsed_ms: int = 0
    alternatives: tuple[Alternative, ...] = ()
    """Best first, if more than one was asked for."""
    bound: Bound = Bound.EXACT
    """The meaning of ``score``: a search that was stopped during a fail-high or fail-low may know only a bound."""


@dataclass(frozen=True, slots=True)
class Point:
    """A position of the game."""

    ply: int
    """Number of moves made before it."""
    sfen: str
    turn: int
    choices: int
    """Number of legal moves; 2 stands for two or more."""
    search: tuple[str, ...] | None
    """The moves since the start to the position to search: this one, or the one reached by its only legal moves. None:
    no search is needed."""
    over: Evaluation | None = None
    """Evaluation of the position that ``forced`` leads to, if no search is needed."""
    forced: tuple[str, ...] = ()
    """The consecutive only legal moves from here to the searched position."""


def plan(game: RecordedGame, first: int = 1, last: int | None = None) -> tuple[Point, ...]:
    """The positions needed to judge the moves ``first`` to ``last``: those before each, and the one after the last.

    Args:
        first: first move to judge; 1 is the game's first move.
        last: last move to judge. None, or a number past the end: the game's last move.

    Raises:
        GameFileError: the start position cannot be played, a move is not legal, or no move is in range.
    """
    end = len(game.moves) if last is None else min(last, len(game.moves))
    if not 1 <= first <= end:
        raise GameFileError(f"{game.source}: no move from {first} to {last or end}: it has {len(game.moves)} moves")
    try:
        position = Position.from_sfen(game.start_sfen)
    except SfenError as error:
        raise GameFileError(f"{game.source}: the start position: {error}") from error
    points = []
    usis = tuple(move.usi for move in game.moves)
    for ply in range(end + 1):
        if ply >= first - 1:
            points.append(_point(position, usis, ply))
        if ply < end:
            try:
                position.push_usi(usis[ply])
            except MoveError as error:
                raise GameFileError(f"{game.source}: move {ply + 1}: {error}") from error
    return tuple(points)


def _point(position: Position, usis: tuple[str, ...], ply: int) -> Point:
    legal = len(position.legal_moves())
    point = Point(ply, position.sfen(), position.turn, min(legal, 2), None)
    ahead = position.copy()
    forced: list[str] = []
    while True:
        if (over := _over(ahead)) is not None:
            return replace(point, over=over, forced=tuple(forced))
        moves = ahead.legal_moves()
        if len(moves) > 1 or len(forced) == _LONGEST_CHAIN:
            return replace(point, search=usis[:ply] + tuple(forced), forced=tuple(forced))
        forced.append(move_to_usi(moves[0]))
        ahead.push(moves[0])


def _over(position: Position) -> Evaluation | None:
    """The evaluation of a position whose outcome is known by the rules."""
    if position.is_mated():
        return Evaluation(mated_in(0))
    repetition = position.repetition()
    if repetition is not Repetition.NONE:
        return Evaluation(_REPEATED[repetition])
    return Evaluation(mate_in(1), "win", ("win",)) if position.can_declare() else None


def searches(points: Sequence[Point], plies: Collection[int] | None = None) -> list[tuple[str, ...]]:
    """The positions to search, each once, the game's last position first.

    Args:
        plies: plies of the wanted points; None: all.

    A search of a position finds the next position's result in the table, so both sides of the comparison "best move
    against played move" rest on the same knowledge. docs/notebook/analysis.md has the measured benefit.
    """
    wanted = dict.fromkeys(
        point.search for point in reversed(points) if point.search is not None and (plies is None or point.ply in plies)
    )
    return [moves for moves in wanted if moves is not None]


def evaluations(points: Sequence[Point], found: Mapping[tuple[str, ...], Evaluation]) -> tuple[Evaluation | None, ...]:
    """The evaluation of each point; None if its search is missing in ``found``."""
    return tuple(_evaluation(point, found) for point in points)


def _evaluation(point: Point, found: Mapping[tuple[str, ...], Evaluation]) -> Evaluation | None:
    searched = point.over if point.search is None else found.get(point.search)
    if searched is None or not point.forced:
        return searched
    score, bound = searched.score, searched.bound
    for _ in point.forced:
        score, bound = from_child(score), opposite(bound)
    return replace(
        searched, score=score, best=point.forced[0], pv=point.forced + searched.pv, alternatives=(), bound=bound
    )


def opposite(bound: Bound) -> Bound:
    """The bound as the other side sees it."""
    return {Bound.LOWER: Bound.UPPER, Bound.UPPER: Bound.LOWER}.get(bound, bound)
