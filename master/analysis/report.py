"""Facts about analysed games for every form of output (``table``, ``html``, ``files``), and their words. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from master.analysis.game import RecordedGame
from master.analysis.judgement import (
    BANDS,
    EDGES,
    Judged,
    PlayerStatistics,
    Quality,
    Rates,
    judge,
    statistics,
    turning_points,
    win_probability,
)
from master.analysis.plan import Evaluation, Point, evaluations, opposite
from master.analysis.strength import LEAST_MOVES, Calibration, Interval, Strength, strength
from master.records.notation import pv_text, score_text, usi_target
from master.ui.texts import page_say
from worker.engine import Bound
from worker.score import is_mate, mate_distance

Say = Callable[..., str]
"""Puts a message into the reader's language, with its fields."""


@dataclass(frozen=True, slots=True)
class ReportSettings:
    """Settings of the analysis, for the reader of the report."""

    engine: str
    """Name of the searcher, and its network."""
    effort: str
    """In words: ``50000 nodes a move on each of 2 nodes``."""
    no_strength: str = ""
    """The reason why the whole analysis does not fit the calibration, in words; empty: it fits."""


@dataclass(frozen=True, slots=True)
class PlayerReport:
    """One player's statistics and strength, in one game or over all."""

    statistics: PlayerStatistics
    strength: Strength | None
    """None: too few moves, or the analysis does not fit the calibration."""


@dataclass(frozen=True, slots=True)
class GameReport:
    game: RecordedGame
    points: tuple[Point, ...]
    known: tuple[Evaluation | None, ...]
    """Evaluation of each point."""
    moves: tuple[Judged, ...]
    """One for each step from a point to the next."""
    players: tuple[PlayerReport, PlayerReport]
    """Black, white."""
    turning: tuple[Judged, ...]


def report(
    game: RecordedGame,
    points: Sequence[Point],
    found: Mapping[tuple[str, ...], Evaluation],
    calibration: Calibration | None,
    again: Mapping[tuple[str, ...], Evaluation] | None = None,
) -> GameReport:
    """The report of one game.

    Args:
        found: the finished searches; some may be missing.
        calibration: one that fits the analysis; None: no strength is estimated.
        again: the searches with more effort, for moves that are doubtful after the first ones (`doubtful`).
    """
    again = again or {}
    moves = judge(game, points, evaluations(points, found), evaluations(points, again) if again else None)
    known = evaluations(points, {**found, **again})
    black, white = (statistics(game.names[turn], [move for move in moves if move.turn == turn]) for turn in (0, 1))
    return GameReport(
        game,
        tuple(points),
        known,
        moves,
        (_player(black, calibration), _player(white, calibration)),
        turning_points(moves),
    )


def players(reports: Sequence[GameReport], calibration: Calibration | None) -> tuple[PlayerReport, ...]:
    """Each player over all games, by name, those with the most moves first."""
    moves: dict[str, list[Judged]] = {}
    games: dict[str, int] = {}
    for one in reports:
        for turn, name in enumerate(one.game.names):
            moves.setdefault(name, []).extend(move for move in one.moves if move.turn == turn)
        for name in set(one.game.names):
            games[name] = games.get(name, 0) + 1
    found = (statistics(name, own, games[name]) for name, own in moves.items())
    return tuple(_player(one, calibration) for one in sorted(found, key=lambda one: -one.total.moves))


def _player(one: PlayerStatistics, calibration: Calibration | None) -> PlayerReport:
    return PlayerReport(one, None if calibration is None else strength(one.losses, calibration))


def strength_words(player: PlayerReport, settings: ReportSettings, text: Say = page_say) -> str:
    """The strength estimate, or the reason why there is none; empty: `ReportSettings` gives it for all."""
    found = player.strength
    if found is None:
        fields = {"moves": len(player.statistics.losses), "least": LEAST_MOVES}
        no = text("No strength: {moves} judged moves are too few, it takes {least}.", **fields)
        return "" if settings.no_strength else no
    nodes = _interval_words(found.nodes, _nodes, text)
    elo = _interval_words(found.elo, "{:+.0f}".format, text)
    plays = text("Plays like our own searcher with {nodes} nodes a move", nodes=nodes)
    return plays + text(": Elo {elo} over its weakest level.", elo=elo)


def _interval_words(found: Interval, shown: Callable[[float], str], text: Say) -> str:
    """``1.2k (600 to 2.5k)``; an open end is the weakest or strongest level."""
    low, high = (None if end in (0.0, math.inf, -math.inf) else shown(end) for end in (found.low, found.high))
    if low is None and high is None:
        return text("{value} (from all that was measured)", value=shown(found.value))
    if low is None:
        return text("{value} (at most {high})", value=shown(found.value), high=high)
    if high is None:
        return text("{value} (at least {low})", value=shown(found.value), low=low)
    return text("{value} ({low} to {high})", value=shown(found.value), low=low, high=high)


def _nodes(nodes: float) -> str:
    return f"{nodes:.2g}" if nodes < 100 else f"{round(nodes, -1):.0f}" if nodes < 1000 else f"{nodes / 1000:.2g}k"


def range_words(index: int, text: Say) -> str:
    """The scores of a band: ``-250 to 250``."""
    if index == 0:
        return text("below {edge}", edge=EDGES[0])
    if index == len(EDGES):
        return text("above {edge}", edge=EDGES[-1])
    return text("{low} to {high}", low=EDGES[index - 1], high=EDGES[index])


def black_view(score: int | None, turn: int) -> int | None:
    """A score of the side ``turn`` as black sees it."""
    return None if score is None else score if turn == 0 else -score


def black_bound(bound: Bound, turn: int) -> Bound:
    """A bound of a score of the side ``turn`` as black sees it."""
    return bound if turn == 0 else opposite(bound)


def score_facts(score: int | None) -> dict[str, Any]:
    """A score from black's view for programs: ``cp``, or ``mate`` in plies (negative if white mates), and ``win``.

    ``win`` is black's win probability. A side that is mated on the board has ``mate`` 0 and ``win`` 0 or 1.
    """
    if score is None:
        return {"cp": None, "mate": None, "win": None}
    if is_mate(score):
        return {"cp": None, "mate": mate_distance(score), "win": win_probability(score)}
    return {"cp": score, "mate": None, "win": round(win_probability(score), 4)}


def facts(one: GameReport) -> dict[str, Any]:
    """The report for programs. Scores are black's view, moves USI, times milliseconds, losses win probability."""
    game = one.game
    return {
        "file": game.source,
        "key": game.key,
        "start": game.start_sfen,
        "names": list(game.names),
        "event": game.event,
        "date": game.date,
        "ending": game.ending,
        "notice": game.notice,
        "winner": None if game.winner is None else ("black", "white")[game.winner],
        "positions": [_position_facts(point, found) for point, found in zip(one.points, one.known, strict=True)],
        "moves": [_move_facts(move, game) for move in one.moves],
        "players": [player_facts(player) for player in one.players],
        "turning_points": [move.number for move in one.turning],
    }


def _position_facts(point: Point, found: Evaluation | None) -> dict[str, Any]:
    head: dict[str, Any] = {"ply": point.ply, "sfen": point.sfen}
    if found is None:
        return head | {"score": None}
    return head | {
        "score": score_facts(black_view(found.score, point.turn)),
        "best": found.best,
        "pv": list(found.pv),
        "depth": found.depth,
        "nodes": found.nodes,
        "bound": black_bound(found.bound, point.turn).name.lower(),
        "lines": [
            {
                "score": score_facts(black_view(line.score, point.turn)),
                "bound": black_bound(line.bound, point.turn).name.lower(),
                "depth": line.depth,
                "pv": list(line.pv),
            }
            for line in found.alternatives
        ],
    }


def _move_facts(move: Judged, game: RecordedGame) -> dict[str, Any]:
    played = game.moves[move.number - 1]
    return {
        "number": move.number,
        "side": ("black", "white")[move.turn],
        "usi": move.usi,
        "quality": move.quality.word,
        "loss": round(move.loss, 4),
        "loss_cp": move.loss_cp,
        "missed_mate": move.missed_mate,
        "allowed_mate": move.allowed_mate,
        "sureness": None if move.sureness is None else move.sureness.value,
        "first": None
        if move.first is None
        else {"quality": move.first.quality.word, "loss": round(move.first.loss, 4)},
        "ms": played.ms,
        "own_score": played.score,
    }


def player_facts(player: PlayerReport, text: Say = str.format) -> dict[str, Any]:
    """A player for programs; shares are 0 to 1, the accuracy is in percent, None if no move was judged.

    Args:
        text: the language of the bands' ranges.
    """
    own = player.statistics
    return {
        "name": own.name,
        "games": own.games,
        "accuracy": None if own.accuracy is None else round(own.accuracy, 2),
        **_rates_facts(own.total),
        "missed_mates": own.missed_mates,
        "counts": {quality.word: own.counts.get(quality, 0) for quality in Quality if quality in own.counts},
        "bands": [
            {"band": name, "range": range_words(index, text), **_rates_facts(rates)}
            for index, (name, rates) in enumerate(zip(BANDS, own.bands, strict=True))
        ],
        "strength": None
        if player.strength is None
        else {"nodes": _interval_facts(player.strength.nodes), "elo": _interval_facts(player.strength.elo)},
    }


def _rates_facts(rates: Rates) -> dict[str, Any]:
    return {
        "moves": rates.moves,
        "best": round(rates.best, 4),
        "bad": round(rates.bad, 4),
        "loss": round(rates.loss, 5),
        "loss_cp": round(rates.loss_cp, 1),
    }


def _interval_facts(found: Interval) -> dict[str, Any]:
    """JSON has no infinity: an infinite end becomes null."""
    values = {"value": found.value, "low": found.low, "high": found.high}
    return {name: round(value, 3) if math.isfinite(value) else None for name, value in values.items()}


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


def score_words(score: int | None, bound: Bound = Bound.EXACT, text: Say = str.format) -> str:
    """A score from black's view: ``+120``; ``☗ mates in 7``, ``☖ has mated``; ``≥ +120`` if it is a bound.

    Args:
        bound: from black's view too.
    """
    if bound is not Bound.EXACT:
        return ("≤ " if bound is Bound.UPPER else "≥ ") + score_words(score, text=text)
    if score is None or not is_mate(score):
        return score_text(score)
    side, plies = "☗" if score > 0 else "☖", abs(mate_distance(score))
    return text("{side} mates in {plies}", side=side, plies=plies) if plies else text("{side} has mated", side=side)
