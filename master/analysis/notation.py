"""Moves and variations of a report in Japanese notation, and scores in words. Pure."""

from __future__ import annotations

from collections.abc import Callable

from master.analysis.plan import Point
from master.analysis.report import GameReport
from master.records.notation import pv_text, score_text, usi_target
from worker.engine import Bound
from worker.score import is_mate, mate_distance

DECLARATION = "入玉宣言"


def move_words(point: Point, usi: str, before: str | None = None) -> str:
    """A legal move of the position, or ``win``.

    Args:
        before: the move that led to the position.
    """
    if usi == "win":
        return DECLARATION
    return pv_text(point.sfen, (usi,), usi_target(before))


def pv_words(point: Point, pv: tuple[str, ...], before: str | None = None) -> list[str]:
    """A variation from the position on, a text for each move."""
    if pv == ("win",):
        return [DECLARATION]
    return pv_text(point.sfen, pv, usi_target(before)).split()


def before(report: GameReport, point: Point) -> str | None:
    """The game's move that led to the point."""
    return report.game.moves[point.ply - 1].usi if point.ply else None


def score_words(score: int | None, bound: Bound = Bound.EXACT) -> str:
    """A score from black's view: ``+120``; ``☗ mates in 7``, ``☖ has mated``; ``≥ +120`` where it is a bound.

    Args:
        bound: from black's view too.
    """
    if bound is not Bound.EXACT:
        return ("≤ " if bound is Bound.UPPER else "≥ ") + score_words(score)
    if score is None or not is_mate(score):
        return score_text(score)
    side, plies = "☗" if score > 0 else "☖", abs(mate_distance(score))
    return f"{side} mates in {plies}" if plies else f"{side} has mated"


def score_said(words: str, text: Callable[..., str]) -> str:
    """`score_words` in the language of ``text``."""
    head, _, rest = words.partition(" mates in ")
    if rest:
        return text("{side} mates in {plies}", side=head, plies=rest)
    head, found, _ = words.partition(" has mated")
    return text("{side} has mated", side=head) if found else words
