"""Elo, its error, the likelihood of superiority and the SPRT, from games in pairs. Pure functions.

Two games from one opening with colours swapped are correlated, so a *pair* is the sample: it scores 0, 1/2, 1, 3/2 or 2
for player A (pentanomial). The SPRT is the generalized one for a multinomial sample (M. Van den Bergh, "A practical
introduction to the GSPRT", http://hardy.uhasselt.be/Fishtest/GSPRT_approximation.pdf; fishtest's ``LLRcalc.py``), with
the exact maximum-likelihood LLR, not its normal approximation, which needs dozens of pairs before it is meaningful.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

PAIR_SCORES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Score per game of the five outcomes of a pair."""
_PRIOR: Final = 1e-3
"""Count for an outcome that never occurred, as in fishtest: a likelihood needs every outcome to be possible."""
_BISECTIONS: Final = 60
_Z95: Final = 1.959964


@dataclass(frozen=True, slots=True)
class Tally:
    """Results for player A. ``pairs`` counts finished pairs by outcome (0 .. 2 points); the rest counts games."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    pairs: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """Points per game; 1/2 before the first."""
        return (self.wins + self.draws / 2) / self.games if self.games else 0.5


def tally(results: Sequence[tuple[int, float]]) -> Tally:
    """Count games given as (pair number, points of A: 0, 1/2 or 1).

    Raises:
        ValueError: other points, or a third game of one pair.
    """
    by_pair: dict[int, list[float]] = {}
    for pair, points in results:
        if points not in (0.0, 0.5, 1.0):
            raise ValueError(f"a game scores 0, 1/2 or 1, not {points}")
        by_pair.setdefault(pair, []).append(points)
    counts = [0, 0, 0, 0, 0]
    for pair, both in by_pair.items():
        if len(both) > 2:
            raise ValueError(f"pair {pair} has {len(both)} games")
        if len(both) == 2:
            counts[int(2 * sum(both))] += 1
    scores = [points for _, points in results]
    return Tally(
        scores.count(1.0), scores.count(0.5), scores.count(0.0), (counts[0], counts[1], counts[2], counts[3], counts[4])
    )


def elo_of(score: float) -> float:
    """The Elo difference that expects ``score`` points per game; infinite at 0 and 1."""
    if score <= 0:
        return -math.inf
    if score >= 1:
        return math.inf
    return 400 * math.log10(score / (1 - score))


def score_of(elo: float) -> float:
    """The points per game that an Elo difference expects."""
    return 1 / (1 + 10 ** (-elo / 400))


@dataclass(frozen=True, slots=True)
class Strength:
    """The strength of A against B: Elo, its 95 % interval, and the likelihood (0 .. 1) that A is stronger at all.

    ``elo`` is infinite if A won or lost every game; the interval then has one finite end. Without games everything is
    unknown: (0, -inf, inf, 0.5).
    """

    elo: float
    low: float
    high: float
    superiority: float

    def __str__(self) -> str:
        """``+182 (+106 to +257)``."""
        return f"{self.elo:+.0f} ({self.low:+.0f} to {self.high:+.0f})"

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any]) -> Strength:
        """Read the output of `result_facts`."""
        swept = math.inf if facts["score"] > 0.5 else -math.inf
        elo, low, high = facts["elo"], facts["elo_low"], facts["elo_high"]
        return cls(
            swept if elo is None else elo,
            -math.inf if low is None else low,
            math.inf if high is None else high,
            facts["los"],
        )


def strength(result: Tally) -> Strength:
    """The strength of A.

    The variance is that of the pairs, or, if they show none (or there are none), that of independent games. The
    interval is Wilson's, for the number of independent games with that variance: it stays within 0 .. 1 for lopsided
    results.
    """
    if result.games == 0:
        return Strength(0.0, -math.inf, math.inf, 0.5)
    score = result.score
    pairs = sum(result.pairs)
    variance = 0.0
    if pairs > 1:
        mean = sum(n * s for n, s in zip(result.pairs, PAIR_SCORES, strict=True)) / pairs
        variance = sum(n * (s - mean) ** 2 for n, s in zip(result.pairs, PAIR_SCORES, strict=True)) / pairs / pairs
    if variance == 0:
        variance = (result.wins * (1 - score) ** 2 + result.draws * (0.5 - score) ** 2 + result.losses * score**2) / (
            result.games**2
        )
    independent = score * (1 - score) / variance if variance > 0 and 0 < score < 1 else float(result.games)
    low, high = _wilson(score, independent)
    decisive = result.wins + result.losses
    if variance > 0:
        deviations = (score - 0.5) / math.sqrt(variance)
    else:
        deviations = (result.wins - result.losses) / math.sqrt(decisive) if decisive else 0.0
    return Strength(elo_of(score), elo_of(low), elo_of(high), (1 + math.erf(deviations / math.sqrt(2))) / 2)


def _wilson(score: float, games: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a score over that many independent games."""
    spread = _Z95**2 / games
    centre = (score + spread / 2) / (1 + spread)
    half = _Z95 / (1 + spread) * math.sqrt(score * (1 - score) / games + spread / games / 4)
    # At a score of 0 or 1 the interval ends exactly there; rounding would leave it slightly inside.
    return (0.0 if score == 0 else centre - half), (1.0 if score == 1 else centre + half)


def result_facts(result: Tally) -> dict[str, Any]:
    """A result and its strength as plain values: JSON has no infinity, so an infinite Elo is null."""

    def finite(value: float) -> float | None:
        return round(value, 1) if math.isfinite(value) else None

    measured = strength(result)
    return {
        "games": result.games,
        "wins": result.wins,
        "draws": result.draws,
        "losses": result.losses,
        "pairs": list(result.pairs),
        "score": round(result.score, 4),
        "elo": finite(measured.elo),
        "elo_low": finite(measured.low),
        "elo_high": finite(measured.high),
        "los": round(measured.superiority, 4),
    }


class Verdict(enum.Enum):
    """The result of the test so far."""

    OPEN = "open"
    H0 = "H0"
    H1 = "H1"


_MOST_ELO: Final = 4000.0
"""The largest difference of a hypothesis: far beyond it a score is 0 or 1 in float precision."""


@dataclass(frozen=True, slots=True)
class Sprt:
    """A test of H0 "A is ``elo0`` stronger" against H1 "A is ``elo1`` stronger".

    Args:
        alpha: probability to accept H1 if H0 is true.
        beta: probability to accept H0 if H1 is true.

    Raises:
        ValueError: ``elo0`` is not below ``elo1``, one of them is beyond 4,000 either way, or an error probability is
            not within 0 .. 1/2.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        if not self.elo0 < self.elo1:
            raise ValueError(f"SPRT: elo0 ({self.elo0:g}) must be below elo1 ({self.elo1:g})")
        for name, value in (("elo0", self.elo0), ("elo1", self.elo1)):
            if not abs(value) <= _MOST_ELO:
                raise ValueError(f"SPRT: {name} is {value:g}: expected -{_MOST_ELO:g} to {_MOST_ELO:g}")
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < value < 0.5:
                raise ValueError(f"SPRT: {name} is {value:g}: expected between 0 and 0.5")

    @classmethod
    def parse(cls, text: str, alpha: float = 0.05, beta: float = 0.05) -> Sprt:
        """``0,10``: ``elo0`` and ``elo1``, in the command line's form. Raises ValueError, which names ``--sprt``."""
        try:
            elo0, elo1 = (float(part) for part in text.split(","))
        except ValueError:
            raise ValueError(f"--sprt {text}: expected two numbers ELO0,ELO1, such as 0,10") from None
        return cls(elo0, elo1, alpha, beta)

    @property
    def bounds(self) -> tuple[float, float]:
        """The LLR at which H0, and at which H1, is accepted (Wald)."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def llr(self, pairs: Sequence[int]) -> float:
        """Log-likelihood ratio of H1 to H0, for counts of pairs by outcome."""
        if not sum(pairs):
            return 0.0
        counts = [count or _PRIOR for count in pairs]
        likely0 = _most_likely(counts, score_of(self.elo0))
        likely1 = _most_likely(counts, score_of(self.elo1))
        return sum(n * math.log(p1 / p0) for n, p0, p1 in zip(counts, likely0, likely1, strict=True))

    def facts(self, pairs: Sequence[int]) -> dict[str, Any]:
        """The test so far, as plain values."""
        return {
            "elo0": self.elo0,
            "elo1": self.elo1,
            "llr": round(self.llr(pairs), 3),
            "bounds": [round(bound, 3) for bound in self.bounds],
            "verdict": self.verdict(pairs).value,
        }

    def verdict(self, pairs: Sequence[int]) -> Verdict:
        """The decision after these pairs."""
        lower, upper = self.bounds
        llr = self.llr(pairs)
        if llr >= upper:
            return Verdict.H1
        return Verdict.H0 if llr <= lower else Verdict.OPEN


def _most_likely(counts: Sequence[float], mean: float) -> list[float]:
    """The most likely probabilities of the outcomes of a pair whose expected score per game is ``mean``.

    With Lagrange multipliers p[i] = f[i] / (1 + t (s[i] - mean)), f the observed shares; t is the root of a sum that
    falls monotonically between the two poles (Van den Bergh, proposition 1.1).
    """
    total = sum(counts)
    shares = [count / total for count in counts]
    offsets = [score - mean for score in PAIR_SCORES]
    low, high = -1 / offsets[-1], -1 / offsets[0]
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if sum(f * d / (1 + middle * d) for f, d in zip(shares, offsets, strict=True)) > 0:
            low = middle
        else:
            high = middle
    root = (low + high) / 2
    return [f / (1 + root * d) for f, d in zip(shares, offsets, strict=True)]
