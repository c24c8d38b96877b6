"""The engines of the virtual nodes, made when they are first needed and kept for the games that follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cluster.engine_spec import EngineSpec, Networks, Variety
from worker.engine import Engine

MakeEngine = Callable[[Variety, int], Engine]
"""Makes the searcher of a virtual node from its fleet's variety and its number: one that answers alike every time after
`new_game`. Goes to other processes, so it must pickle."""

_MOST_KEPT = 64
"""Engines, of some 30 MB each, before those that were not used for longest are thrown away."""


class EngineMaker:
    """`MakeEngine` for our own searcher; engines of one process share networks that are the same."""

    def __init__(self, base: EngineSpec) -> None:
        self._base = base
        self._networks = Networks()

    def __call__(self, variety: Variety, number: int) -> Engine:
        """Make it. Raises EngineError."""
        return variety.vary(self._base, number).build(self._networks)


class EnginePool:
    """The engines of both sides of a game."""

    def __init__(self, make_engine: MakeEngine) -> None:
        self._make_engine = make_engine
        self._kept: dict[tuple[str, Variety], list[Engine]] = {}
        """By side and variety, those that were used last in the end."""

    def engines(self, side: str, variety: Variety, count: int) -> Sequence[Engine]:
        """The engines of nodes 0 to ``count`` - 1 of ``side``, as earlier games left them."""
        key = side, variety
        own = self._kept.pop(key, [])
        # The ones that were used last may be the other side's in the same game.
        while len(self._kept) > 1 and sum(map(len, self._kept.values())) + count > _MOST_KEPT:
            for engine in self._kept.pop(next(iter(self._kept))):
                engine.close()
        own += [self._make_engine(variety, number) for number in range(len(own), count)]
        self._kept[key] = own
        return own[:count]
