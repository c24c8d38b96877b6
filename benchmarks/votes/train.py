"""Teach the vote `learned` which ballots to trust, and tell what that is worth on positions that it has not seen.

    python -m benchmarks.votes.train FOLDER [--write cluster/voting/learned.json] [--decay X] [--folds N]

A model chooses by a softmax over the moves voted for; it is trained to lose as little winning chance as possible by
that choice, of each position's ballots, of the first half and of the first quarter of them (fleets of four and two).
The games are dealt into parts; each part is judged by the model of the others. A choice's loss is that of
`benchmarks.choices`.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.votes.data import read_games
from cluster.api import Ballot, Opinion
from cluster.voting import learned
from cluster.voting.consultation import Vote, comparable, count
from cluster.voting.learned import FEATURES, features
from worker.score import MATE_BOUND

_SCALE_CP = 300
_SLACK = 4
_STEPS = 1500
_RATE = 0.02

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Case:
    """A vote, and what each of its moves loses."""

    game: int
    voters: int
    ballots: tuple[Ballot, ...]
    losses: dict[str, float]
    moves: tuple[str, ...]
    """Those with a row in ``rows``; empty: nothing to learn, a win is known."""
    rows: Array
    """(moves, features)."""


def cases_of(games: Sequence[dict[str, Any]], voters: int, parts: Sequence[int] = (1, 2, 4)) -> list[Case]:
    """The votes of ``games``, by so many voters, that were not unanimous; of each, for every n in ``parts``, what the
    first 1/n of the voters had to choose from."""
    found = []
    for number, game in enumerate(games):
        for position in game["positions"]:
            ballots = [_ballot(plain) for plain in position["ballots"]]
            chances = {move: 1 / (1 + math.exp(-_cut(score) / _SCALE_CP)) for move, score in position["judged"].items()}
            for part in parts:
                fleet = voters // part
                heard = comparable([ballot for ballot in ballots if int(ballot.voter[1:]) <= fleet], _SLACK)
                if len({ballot.move for ballot in heard}) < 2:
                    continue
                best = max(chances[ballot.move] for ballot in heard)
                losses = {ballot.move: best - chances[ballot.move] for ballot in heard}
                found.append(_case(number, fleet, heard, losses))
    return found


def _case(game: int, voters: int, heard: Sequence[Ballot], losses: dict[str, float]) -> Case:
    alive = [ballot for ballot in heard if ballot.score > -MATE_BOUND]
    if not alive or any(ballot.score >= MATE_BOUND for ballot in heard):
        return Case(game, voters, tuple(heard), losses, (), np.zeros((0, len(FEATURES))))
    rows = features(alive)
    return Case(game, voters, tuple(heard), losses, tuple(rows), np.array(list(rows.values())))


def _ballot(plain: dict[str, Any]) -> Ballot:
    history = tuple(Opinion(*entry) for entry in plain["history"])
    pv = tuple(plain["pv"].split())
    return Ballot(plain["voter"], plain["move"], plain["score"], plain["depth"], pv, plain["nodes"], 1, history)


def _cut(score: int) -> int:
    return max(-3000, min(3000, score))


def train(cases: Sequence[Case], decay: float) -> Array:
    """The weights, in the order of `FEATURES`, that lose least, by Adam on the expected loss of a softmax choice.

    Args:
        decay: of the weights of features scaled to a standard deviation of 1; what a square is worth in mean loss.
    """
    taught = [case for case in cases if len(case.moves) > 1]
    most = max(len(case.moves) for case in taught)
    rows = np.zeros((len(taught), most, len(FEATURES)))
    lost = np.zeros((len(taught), most))
    there = np.zeros((len(taught), most), dtype=bool)
    for index, case in enumerate(taught):
        size = len(case.moves)
        rows[index, :size], there[index, :size] = case.rows, True
        lost[index, :size] = [case.losses[move] for move in case.moves]
    # Only differences between the moves of a position matter.
    middle = (rows * there[..., None]).sum(1) / there.sum(1)[:, None]
    scale = np.sqrt((((rows - middle[:, None]) ** 2) * there[..., None]).sum((0, 1)) / there.sum()) + 1e-9
    rows = (rows - middle[:, None]) / scale * there[..., None]
    weights = np.zeros(len(FEATURES))
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, _STEPS + 1):
        values = np.where(there, rows @ weights, -np.inf)
        chosen = np.exp(values - values.max(1, keepdims=True))
        chosen /= chosen.sum(1, keepdims=True)
        expected = (chosen * lost).sum(1, keepdims=True)
        slope = np.einsum("pm,pmf->f", chosen * (lost - expected), rows) / len(taught) + 2 * decay * weights
        first += 0.1 * (slope - first)
        second += 0.001 * (slope**2 - second)
        weights -= _RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-9)
    return weights / scale


def choice(case: Case, weights: Array) -> str:
    """The move that the model chooses; where nothing is to be learned, that of the majority."""
    if not case.moves:
        return count(case.ballots, Vote.MAJORITY).ballot.move
    return case.moves[int(np.argmax(case.rows @ weights))]


def held_out(cases: Sequence[Case], folds: int, decay: float) -> list[float]:
    """The loss of the learned choice in each case, by the model of the games that are not of its part."""
    models = [train([case for case in cases if case.game % folds != fold], decay) for fold in range(folds)]
    return [case.losses[choice(case, models[case.game % folds])] for case in cases]


def _error(beyond: Array, games: Sequence[int]) -> float:
    """The standard error of the mean; what comes of one game is not independent."""
    sums = np.bincount(games, beyond - beyond.mean())
    return float(np.sqrt((sums**2).sum()) / len(beyond))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.votes.train", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="of benchmarks.votes.data")
    parser.add_argument("--write", type=Path, help="file for the weights of all games")
    parser.add_argument("--decay", type=float, default=3e-3)
    parser.add_argument("--folds", type=int, default=10)
    options = parser.parse_args()
    games = read_games(options.folder)
    cases = cases_of(games, json.loads((options.folder / "data.json").read_text("utf-8"))["nodes"])
    searched = sum(game["searched"] for game in games)
    print(f"{len(games)} games, {searched} positions, {sum(len(game['positions']) for game in games)} of them judged")
    lost = held_out(cases, options.folds, options.decay)
    rules: dict[str, Callable[[Case], float]] = {
        str(vote): (lambda case, vote=vote: case.losses[count(case.ballots, vote).ballot.move])
        for vote in Vote
        if vote is not Vote.LEARNED
    }
    rules["first voter"] = lambda case: case.losses.get(case.ballots[0].move, 0.0)
    rules["best"] = lambda _case: 0.0
    for voters in sorted({case.voters for case in cases}):
        chosen = [index for index, case in enumerate(cases) if case.voters == voters]
        usual = np.array([rules["majority"](cases[index]) for index in chosen])
        table = {"learned": np.array([lost[index] for index in chosen])}
        table |= {name: np.array([rule(cases[index]) for index in chosen]) for name, rule in rules.items()}
        print(f"{voters} voters, {len(chosen)} votes that were not unanimous: loss, and beyond that of the majority")
        for name, row in table.items():
            beyond = row - usual
            error = _error(beyond, [cases[index].game for index in chosen])
            print(f"  {name:12}{row.mean():8.3%}{beyond.mean():+9.3%} ± {error:.3%}")
    weights = train(cases, options.decay)
    for name, weight in zip(FEATURES, weights, strict=True):
        print(f"  {name:12}{weight:+9.4f}", file=sys.stderr)
    if options.write:
        plain = {name: round(float(weight), 5) for name, weight in zip(FEATURES, weights, strict=True)}
        origin = f"{len(games)} games, {searched} positions, {len(cases)} votes, decay {options.decay:g}"
        options.write.write_text(json.dumps({"trained": origin, "weights": plain}, indent=1) + "\n", "utf-8")
        learned.standard_weights.cache_clear()


if __name__ == "__main__":
    main()
