"""Drives a searcher through the positions of a game, one search after another, and stores each result at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Self

from cluster.api import Decision, FleetError, Listener, Searcher, SearchListener, SearchRequest
from cluster.drivers.fleet import FleetFault
from master.analysis.game import RecordedGame
from master.analysis.plan import Alternative, Evaluation
from master.analysis.store import PositionStore

_PATIENCE_MS: Final = 600_000
"""Limit after which a search by nodes is ended, in case all nodes were lost."""

Found = Callable[[Evaluation, bool], None]
"""Callback for each position: its evaluation, and whether an earlier run had stored it."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The effort for a position: nodes or time, exactly one of them."""

    nodes: int | None = None
    """Node limit of every node's search."""
    ms: int | None = None
    multipv: int = 1


class Session:
    """An open searcher. An async context manager.

    Args:
        searcher: the fleet, or one local engine; opened and closed by the session.
        stores: open stores of earlier results; the first that has a position is asked, and each gets the new ones.
        settings: called once the searcher is open; returns everything except the position on which a search's result
            depends, in words; part of the store's keys.
        on_event: fleet events, as `cluster.api.Listener.on_event`.
    """

    def __init__(
        self,
        searcher: Searcher,
        stores: Sequence[PositionStore],
        pace: Pace,
        settings: Callable[[], str],
        on_event: Callable[[str, dict[str, object]], None] = lambda _name, _fields: None,
    ) -> None:
        self._searcher = searcher
        self._stores = stores
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
        self, game: RecordedGame, positions: Sequence[tuple[str, ...]], on_found: Found, times: int = 1
    ) -> dict[tuple[str, ...], Evaluation]:
        """Search positions of ``game`` in this order, except those in a store.

        Args:
            positions: the moves from the start to each.
            times: effort for each, as a multiple of the pace.

        Raises:
            FleetError: the fleet has no answer.
            OSError: a store cannot be read or written.
        """
        results: dict[tuple[str, ...], Evaluation] = {}
        settings = self._settings() + (f" x{times}" if times > 1 else "")
        fresh = False
        for moves in positions:
            known = (store.get(settings, game.start_sfen, moves) for store in self._stores)
            found = next((one for one in known if one is not None), None)
            kept = found is not None
            if found is None:
                if not fresh:
                    await self._searcher.new_game()
                    fresh = True
                found = await self._search(game.start_sfen, moves, times)
                for store in self._stores:
                    store.add(settings, game.start_sfen, moves, found)
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
        if decision.score is None or not decision.is_of_nodes:  # a result of the fallback is no analysis
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
        """End the running search: a result of the master's own engine is no analysis."""
        self._searcher.stop(self._search_id)

    def _decided(self, decision: Decision) -> None:
        waiting = self._waiting
        if decision.search_id == self._search_id and waiting is not None and not waiting.done():
            waiting.set_result(decision)
