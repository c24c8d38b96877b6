"""The vote of Stockfish's cluster branch: the sum of the scores above the worst one, with the depth for what even the
worst ballot says. Known wins and losses as in `cluster.voting.weighted`."""

from __future__ import annotations

from collections.abc import Sequence

from cluster.api import Ballot
from cluster.voting.counting import Count, heaviest, known_win, weights_of_open


def count(ballots: Sequence[Ballot]) -> Count:
    """Count the ballots, at least one."""
    return known_win(ballots) or heaviest(ballots, weights_of_open(ballots, _weight))


def _weight(ballot: Ballot, worst: int) -> float:
    return float(ballot.score - worst + max(1, ballot.depth))
