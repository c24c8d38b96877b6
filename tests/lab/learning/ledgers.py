"""Ledgers for tests: results as the commands print them."""

from __future__ import annotations

from typing import Any

from lab.learning.ledger import Done, Kind, Ledger
from lab.learning.recipe import training_name


def match(wins: int, losses: int, verdict: str | None = None, los: float = 0.5) -> dict[str, Any]:
    """The JSON of a match without draws; its Elo is a round figure."""
    games = wins + losses
    facts: dict[str, Any] = {
        "pace": "1,000 nodes", "games": games, "wins": wins, "draws": 0, "losses": losses, "score": wins / games,
        "elo": None if 0 in (wins, losses) else 10.0 * (wins - losses), "elo_low": -50.0 if wins else None,
        "elo_high": 90.0 if losses else None, "los": los,
    }  # fmt: skip
    return facts if verdict is None else {**facts, "sprt": {"verdict": verdict}}


RESULTS: dict[Kind, dict[str, Any]] = {
    Kind.GAMES: {"games": 1000, "positions": 120_000},
    Kind.SPARRING: match(10, 20),
    Kind.FROM_SPARRING: {"games": 200, "positions": 20_000},
    Kind.TRAIN: {
        "training_positions": 60_000, "validation_loss": 0.0084, "quantised_rms": 4.5, "sha256": "f" * 64,
        "scale": 1869.4,
    },
    Kind.BLEND: {"sha256": "e" * 64},
    Kind.ATTACKS: {"sha256": "a" * 64},
    Kind.COMPARE: {
        "results_b": {"scale": 960.0, "loss": 0.6065, "early": 0.6125, "late": 0.4645},
    },
}  # fmt: skip


def with_generation(
    ledger: Ledger, *, verdict: str = "H1", los: float = 0.99, upto: Kind = Kind.GATE, trainings: int = 1
) -> Ledger:
    """One more generation, with its steps up to one of them."""
    number = len(ledger.generations) + 1
    ledger = ledger.begun(number)
    more = [(Kind.TRAIN, training_name(place)) for place in range(1, trainings)]
    mean = [(Kind.BLEND, "")] if more else []
    for kind, name in ((Kind.GAMES, ""), (Kind.TRAIN, ""), *more, *mean, (Kind.COMPARE, ""), (Kind.GATE, "")):
        result = match(30, 20, verdict, los) if kind is Kind.GATE else RESULTS[kind]
        ledger = ledger.with_step(number, Done(kind, name, (kind.value,), 60.0, result))
        if kind is upto:
            return ledger
    return ledger


def with_match(ledger: Ledger, number: int, opponent: str, wins: int = 30, losses: int = 10) -> Ledger:
    return ledger.with_step(number, Done(Kind.MATCH, opponent, ("match",), 60.0, match(wins, losses)))
