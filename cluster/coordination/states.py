"""The states of the coordinator, of each of its searches and of their groups.

``docs/explanation/state-machines.md`` draws them.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final


class CoordinatorState(enum.Enum):
    IDLE = "nothing is searched"
    PONDERING = "the opponent thinks; likely replies are searched"
    SEARCHING = "a decision is owed"


COORDINATOR: Final[Mapping[CoordinatorState, Mapping[CoordinatorState, str]]] = {
    CoordinatorState.IDLE: {
        CoordinatorState.SEARCHING: "StartSearch",
        CoordinatorState.PONDERING: "PonderSearch",
    },
    CoordinatorState.PONDERING: {
        CoordinatorState.SEARCHING: "StartSearch, a ponder hit or a miss",
        CoordinatorState.IDLE: "StopSearch, another PonderSearch, or a forced move",
    },
    CoordinatorState.SEARCHING: {CoordinatorState.IDLE: "decided"},
}


class SearchState(enum.Enum):
    PONDERED = "on the opponent's time; nothing is decided"
    RUNNING = "until its time, its limits or a proven mate"
    STOPPING = "the decision is wanted now"
    OVER = "decided, or abandoned"


SEARCH: Final[Mapping[SearchState, Mapping[SearchState, str]]] = {
    SearchState.PONDERED: {
        SearchState.RUNNING: "ponder hit",
        SearchState.OVER: "abandoned",
    },
    SearchState.RUNNING: {
        SearchState.STOPPING: "StopSearch",
        SearchState.OVER: "decided",
    },
    SearchState.STOPPING: {SearchState.OVER: "decided"},
    SearchState.OVER: {},
}


class Phase(enum.StrEnum):
    """The phases of a group. In ``WHOLE`` it has one node."""

    WHOLE = "whole"
    PRESEARCH = "presearch"
    SPLIT = "split"


GROUP: Final[Mapping[Phase, Mapping[Phase, str]]] = {
    Phase.WHOLE: {Phase.PRESEARCH: "two nodes or more, and it pays to split"},
    Phase.PRESEARCH: {Phase.SPLIT: "a line, and the presearch is over"},
    Phase.SPLIT: {},
}
