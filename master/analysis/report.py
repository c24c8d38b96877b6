"""Facts about analysed games for every form of output (``table``, ``html``, ``annotate``). Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from master.analysis.game import Game
from master.analysis.judgement import Judged, Quality, judge, turning_points, win_probability
from master.analysis.plan import Evaluation, Point, evaluations
from master.analysis.statistics import BANDS, PlayerStatistics, Rates, band_range, statistics
from master.analysis.strength import Calibration, Interval, Strength, strength, virtual_score
from worker.score import is_mate, mate_distance


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the analysis, for the reader of the report."""

    engine: str
    """Name of the searcher, and its network."""
    effort: str
    """In words: ``50000 nodes a move on each of 2 nodes``."""


@dataclass(frozen=True, slots=True)
class PlayerReport:
    """One player's statistics and strength, in one game or over all."""

    statistics: PlayerStatistics
    strength: Strength | None
    """None: too few moves, or the analysis does not fit the calibration."""


@dataclass(frozen=True, slots=True)
class GameReport:
    game: Game
    points: tuple[Point, ...]
    known: tuple[Evaluation | None, ...]
    """Evaluation of each point."""
    moves: tuple[Judged, ...]
    """Between the points."""
    players: tuple[PlayerReport, PlayerReport]
    """Black, white."""
    turning: tuple[Judged, ...]
    virtual: Interval | None
    """Black's share of the points in virtual games against white (`master.analysis.strength`)."""


def report(
    game: Game,
    points: Sequence[Point],
    found: Mapping[tuple[str, ...], Evaluation],
    calibration: Calibration | None,
) -> GameReport:
    """The report of one game.

    Args:
        found: the searches that are done; all need not be.
        calibration: one that fits the analysis; None: no strength is estimated.
    """
    known = evaluations(points, found)
    moves = judge(game, points, known)
    black, white = (statistics(game.names[turn], [move for move in moves if move.turn == turn]) for turn in (0, 1))
    return GameReport(
        game,
        tuple(points),
        known,
        moves,
        (_player(black, calibration), _player(white, calibration)),
        turning_points(moves),
        virtual_score(black.losses, white.losses),
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


def strength_text(found: Strength | None) -> str:
    """``about 1.2k (600 to 2.5k)``, in nodes a move of our own searcher; ``-`` where nothing can be said."""
    if found is None:
        return "-"
    if math.isinf(found.elo.value):
        return "more than the strongest level" if found.elo.value > 0 else "fewer than the weakest level"
    return f"about {_nodes(found.nodes.value)} ({_nodes(found.nodes.low)} to {_nodes(found.nodes.high)})"


def _nodes(nodes: float) -> str:
    if nodes == 0.0 or math.isinf(nodes):
        return _beyond(nodes > 0.0)
    return f"{nodes:.0f}" if nodes < 1000 else f"{nodes / 1000:.3g}k"


def elo_text(found: Interval) -> str:
    """``+310 (+120 to +480)``; ``-`` beyond the levels."""
    if math.isinf(found.value):
        return "-"
    return f"{_elo(found.value)} ({_elo(found.low)} to {_elo(found.high)})"


def _elo(value: float) -> str:
    return _beyond(value > 0) if math.isinf(value) else f"{value:+.0f}"


def _beyond(above: bool) -> str:
    return "above all" if above else "below all"


def black_view(score: int | None, turn: int) -> int | None:
    """A score of the side ``turn`` as black sees it."""
    return None if score is None else score if turn == 0 else -score


def score_facts(score: int | None) -> dict[str, Any]:
    """A score from black's view for programs: ``cp``, or ``mate`` in plies (negative where white mates), and ``win``.

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
        "virtual_score_of_black": _interval_facts(one.virtual),
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
        "lines": [
            {"score": score_facts(black_view(line.score, point.turn)), "depth": line.depth, "pv": list(line.pv)}
            for line in found.alternatives
        ],
    }


def _move_facts(move: Judged, game: Game) -> dict[str, Any]:
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
        "ms": played.ms,
        "own_score": played.own_score,
    }


def player_facts(player: PlayerReport) -> dict[str, Any]:
    """A player for programs; shares are 0 to 1, the accuracy is in percent, None where no move was judged."""
    own = player.statistics
    return {
        "name": own.name,
        "games": own.games,
        "accuracy": None if own.accuracy is None else round(own.accuracy, 2),
        **_rates_facts(own.total),
        "missed_mates": own.missed_mates,
        "counts": {quality.word: own.counts.get(quality, 0) for quality in Quality if quality in own.counts},
        "bands": [
            {"band": name, "range": band_range(index), **_rates_facts(rates)}
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


def _interval_facts(found: Interval | None) -> dict[str, Any] | None:
    """JSON has no infinity: an end without one is null."""
    if found is None:
        return None
    values = {"value": found.value, "low": found.low, "high": found.high}
    return {name: round(value, 3) if math.isfinite(value) else None for name, value in values.items()}
