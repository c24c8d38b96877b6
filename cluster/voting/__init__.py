"""Rules that make one move of the nodes' answers. Whoever only names them, as the configuration does, loads no more."""

from __future__ import annotations

import enum


class Vote(enum.StrEnum):
    """The rules by which ballots are counted: the one list of them. The function of the same name in
    `cluster.voting.rules` explains each."""

    MAJORITY = "majority"
    OPTIMISTIC = "optimistic"
    WEIGHTED = "weighted"
    SCORE_SUM = "score_sum"
    MATE_FIRST = "mate_first"
