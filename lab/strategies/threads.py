"""The laboratory's names of strategies: those of `lab.strategies.strategy`, and `threads`.

``threads`` is an engine with as many threads as there are nodes: searchers in lockstep on one table, with one set of
shared histories. They vote as nodes do. Settings remove one of these properties at a time, or give it to nodes::

    threads    threads+one_history=0    threads+one_table=0+share_depth=1    consult+slice_ms=8

``one_table``, ``one_history``: 0 or 1. ``slice_ms``: how far one searcher runs ahead of the others, and the maximum
delay of its results to them, in milliseconds of the virtual second that a search takes. ``histories``: the most changed
values of histories that a node sends to all others together in a slice. ``nets``: how many of the laboratory's
networks are dealt to the nodes in turn; ``second_budget``: the budget of the nodes with the second one, in percent of
that of the others::

    consult+nets=2    consult+nets=2+second_budget=300
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from typing import Any, Final

from cluster.coordination.settings import Mode, Settings
from lab.strategies.strategy import Strategy, StrategyError, strategy

SLICE_MS: Final = 32
"""A thirty-second of the virtual second: the maximum delay of one node's results to the others. Real nodes send every
30 to 60 ms (`cluster.sharing.node`)."""
HISTORIES: Final = 224
"""The most changed values of histories that a node sends to all others together in a slice, of some 400 that change.
Real nodes send each other about as large a part (`cluster.sharing.histories`): of eight each hears 32, of two 224."""
THREADS: Final = "threads"
_TOGETHER_MS: Final = 8
"""Slices of threads: at 20,000 nodes a move 160 nodes."""
OWN_SETTINGS: Final = {
    "one_table": 1,
    "one_history": 1,
    "slice_ms": 1000,
    "histories": 1_000_000,
    "nets": 8,
    "second_budget": 10_000,
}
"""The laboratory's settings, and the highest value of each."""


@dataclass(frozen=True, slots=True)
class LabStrategy(Strategy):
    """A strategy, how closely its virtual nodes are coupled (`lab.strategies.virtual.VirtualFleet`), and how they
    differ."""

    one_table: bool = False
    one_history: bool = False
    slice_ms: int = SLICE_MS
    histories: int = HISTORIES
    nets: int = 1
    second_budget: int = 100

    def budget_of(self, number: int, budget: int) -> int:
        """The budget of node ``number``, from 0 on, if that of the others is ``budget``."""
        return budget * self.second_budget // 100 if number % self.nets == 1 else budget


SINGLE: Final = LabStrategy("single", Settings(mode=Mode.CONSULT))
"""The strategy of a single node, which has nothing to split or to vote on."""


@functools.cache
def lab_strategy(text: str) -> LabStrategy:
    """The strategy with a name.

    Raises:
        StrategyError: as `strategy` does, or a setting of the laboratory is out of range.
    """
    head, *changes = text.strip().split("+")
    of_threads = head == THREADS
    own: dict[str, Any] = {}
    if of_threads:
        own = {"one_table": True, "one_history": True, "slice_ms": _TOGETHER_MS, "histories": 0}
        head = Mode.CONSULT
    names: list[str] = []
    others: list[str] = []
    for change in changes:
        key, _, value = change.partition("=")
        if key not in OWN_SETTINGS:
            others.append(change)
            continue
        is_switch = key.startswith("one_")
        least = 0 if is_switch or key == "histories" else 1
        if not value.isdecimal() or not least <= int(value) <= OWN_SETTINGS[key]:
            raise StrategyError(f"{text!r}: {key}: {value!r} is no number from {least} to {OWN_SETTINGS[key]}")
        own[key] = value == "1" if is_switch else int(value)
        names.append(f"{key}={int(value)}")
    found = strategy("+".join((head, *others)))
    name = "+".join((THREADS if of_threads else head, *found.name.split("+")[1:], *names))
    return LabStrategy(name, **{item.name: getattr(found, item.name) for item in fields(Strategy)[1:]}, **own)
