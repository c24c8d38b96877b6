"""Drives a searcher through the positions of a game, one search after the other, keeping each result at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Self

from cluster.api import Decision, FleetError, Listener, Searcher, SearchListener, SearchRequest
from cluster.drivers.fleet import FleetFault
from master.analysis.game import Game
from master.analysis.plan import Alternative, Evaluation
from master.analysis.store import Store, store_key

_PATIENCE_MS: Final = 600_000
"""A search by nodes that is not over by then, as all nodes were lost, is."""

AGAIN_TIMES: Final = 5
"""Effort of the second search of a doubtful move, in times the first, if nothing else is asked for."""

Found = Callable[[Evaluation, bool], None]
"""Told of each position: what is known, and whether it had been kept from an earlier run."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The effort for a position: nodes, or time; one of the two."""

    nodes: int | None = None
    """Node limit of every node's search."""
    ms: int | None = None
    multipv: int = 1


class Session:
    """An open searcher. An async context manager.

    Args:
        searcher: the fleet, or one local engine; opened and closed by the session.
        store: what is kept.
        settings: gives, once the searcher is open, what a search's result depends on besides the position, in words;
            part of the store's keys.
        on_event: fleet events, as `cluster.api.Listener.on_event`.
    """

    def __init__(
        self,
        searcher: Searcher,
        store: Store,
        pace: Pace,
        settings: Callable[[], str],
        on_event: Callable[[str, dict[str, object]], None] = lambda _name, _fields: None,
    ) -> None:
        self._searcher = searcher
        self._store = store
        self._pace = pace
        self._settings = settings
        self._on_event = on_event
        self._fault = FleetFault(self._stop)
        self._listener = Listener(on_event=self._heard)
        self._search_id = 0
        self._waiting: asyncio.Future[Decision] | None = None

    async def __aenter__(self) -> Self:
        try:
            await self._searcher.open(self._listener)
        except BaseException:
            await self._searcher.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._searcher.close()

    async def search(
        self, game: Game, positions: Sequence[tuple[str, ...]], on_found: Found, times: int = 1
    ) -> dict[tuple[str, ...], Evaluation]:
        """Search positions of ``game``, in this order, those apart that the store has.

        Args:
            positions: the moves since the start to each.
            times: how many times the pace's effort for each.

        Raises:
            FleetError: the fleet has no answer.
            OSError: the store cannot be written.
        """
        results: dict[tuple[str, ...], Evaluation] = {}
        settings = self._settings() + (f" x{times}" if times > 1 else "")
        fresh = False
        for moves in positions:
            key = store_key(game.start_sfen, moves, settings)
            found = self._store.get(key)
            kept = found is not None
            if found is None:
                if not fresh:
                    await self._searcher.new_game()
                    fresh = True
                found = await self._search(game.start_sfen, moves, times)
                self._store.add(key, found)
            results[moves] = found
            on_found(found, kept)
        return results

    async def _search(self, sfen: str, moves: tuple[str, ...], times: int) -> Evaluation:
        self._search_id += 1
        ms = (self._pace.ms if self._pace.ms is not None else _PATIENCE_MS) * times
        self._fault.check()
        request = SearchRequest(
            self._search_id,
            sfen,
            moves,
            soft_ms=ms,
            hard_ms=ms,
            nodes=None if self._pace.nodes is None else self._pace.nodes * times,
            multipv=self._pace.multipv,
        )
        self._waiting = asyncio.get_running_loop().create_future()
        self._searcher.start(request, SearchListener(on_decision=self._decided))
        decision = await self._waiting
        self._fault.check()
        if decision.score is None or not decision.is_of_nodes:  # what the fallback finds is no analysis
            raise FleetError(f"the fleet has no score after {len(moves)} moves; is a node there?")
        return Evaluation(
            decision.score,
            decision.move,
            decision.pv,
            decision.depth,
            decision.nodes,
            decision.elapsed_ms,
            tuple(Alternative(line.score, line.depth, line.pv, line.bound) for line in decision.lines),
            decision.lines[0].bound,
        )

    def _heard(self, name: str, fields: dict[str, object]) -> None:
        self._on_event(name, fields)
        self._fault.on_event(name, fields)

    def _stop(self) -> None:
        """End the search that runs: what the master's own engine finds is no analysis."""
        self._searcher.stop(self._search_id)

    def _decided(self, decision: Decision) -> None:
        waiting = self._waiting
        if decision.search_id == self._search_id and waiting is not None and not waiting.done():
            waiting.set_result(decision)
