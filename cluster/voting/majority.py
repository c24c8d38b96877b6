"""Most votes: a group has one for each of its nodes that searched. A tie, or any known win, goes to the highest score
(Gikou)."""

from __future__ import annotations

from collections.abc import Sequence

from cluster.api import Ballot
from cluster.voting.counting import Count, heaviest, known_win


def count(ballots: Sequence[Ballot]) -> Count:
    """Count the ballots, at least one."""
    return known_win(ballots) or heaviest(ballots, [float(ballot.members) for ballot in ballots])
