"""The shortest proven mate, one no longer than its search was deep; else most votes, in which a known loss gets no
hearing while another ballot is open; then the highest score (tanuki's proxy, dlshogi)."""

from __future__ import annotations

from collections.abc import Sequence

from cluster.api import Ballot
from cluster.voting.counting import Count, heaviest, is_win, known_win, weights_of_open
from worker.score import MATE


def count(ballots: Sequence[Ballot]) -> Count:
    """Count the ballots, at least one."""
    return known_win(ballots, _proven) or heaviest(ballots, weights_of_open(ballots, lambda one, _: float(one.members)))


def _proven(ballot: Ballot) -> bool:
    return is_win(ballot) and MATE - ballot.score <= ballot.depth
