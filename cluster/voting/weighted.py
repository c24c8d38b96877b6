"""Stockfish's vote of its threads (`worker.search.smp.elect`), times the nodes that the voter has searched.

These are its speed where all search for the same time: a node with four times the nodes is worth more than four voters.
A known win goes to the highest score; a known loss weighs nothing while another ballot is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cluster.api import Ballot
from cluster.voting.counting import Count, heaviest, known_win, weights_of_open

_LEAST_WEIGHT: Final = 14
"""Score's part of the worst ballot's weight: Stockfish's figure."""


def count(ballots: Sequence[Ballot]) -> Count:
    """Count the ballots, at least one."""
    return known_win(ballots) or heaviest(ballots, weights_of_open(ballots, _weight))


def _weight(ballot: Ballot, worst: int) -> float:
    return float((ballot.score - worst + _LEAST_WEIGHT) * max(1, ballot.depth) * max(1, ballot.nodes))
