"""Drives a searcher through the positions of a game, one search after another, and stores each result at once.

A line of the store is one searched position, as JSON. Its key is built from the game and everything on which the search
depends (network, effort, fleet): other settings find nothing, and earlier results stay beside the new ones. A line that
a crash truncated, or that an older version wrote in another form, is skipped. Lines are only ever added.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, Self

import msgspec

from cluster.api import Decision, FleetError, Listener, Searcher, SearchListener, SearchRequest
from cluster.drivers.fleet import FleetFault
from master.analysis.game import RecordedGame
from master.analysis.plan import Alternative, Evaluation
from worker.files import append_text


class Store:
    """The searched positions of a folder.

    Args:
        path: the file; the first `add` creates it and its folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[str, Evaluation] = {}
        self._complete = True

    def read(self) -> int:
        """Read the existing file; returns the number of damaged lines that were skipped.

        Raises:
            OSError: the file exists but cannot be read.
        """
        if not self.path.exists():
            return 0
        damaged = 0
        data = self.path.read_bytes()
        self._complete = not data or data.endswith(b"\n")
        for line in data.splitlines():
            try:
                stored = msgspec.json.decode(line, type=_Line)
            except (msgspec.MsgspecError, RecursionError):
                damaged += 1
            else:
                self._known[stored.key] = stored.found
        return damaged

    def get(self, key: str) -> Evaluation | None:
        """The evaluation under this key; None: there is none."""
        return self._known.get(key)

    def add(self, key: str, found: Evaluation) -> None:
        """Store it, also in the file.

        Raises:
            OSError: writing to disk failed.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = msgspec.json.encode(_Line(key, found)).decode()
        append_text(self.path, ("" if self._complete else "\n") + line + "\n")
        self._complete = True
        self._known[key] = found


def store_key(start_sfen: str, moves: Sequence[str], settings: str) -> str:
    """The key of a position with its history.

    Args:
        settings: everything else on which the search depends, in words.
    """
    return hashlib.sha256("\n".join((settings, start_sfen, *moves)).encode()).hexdigest()[:24]


class _Line(msgspec.Struct):
    key: str
    found: Evaluation


_PATIENCE_MS: Final = 600_000
"""Limit after which a search by nodes is ended, in case all nodes were lost."""

AGAIN_TIMES: Final = 5
"""Default effort of the second search of a doubtful move, as a multiple of the first."""

Found = Callable[[Evaluation, bool], None]
"""Callback for each position: its evaluation, and whether an earlier run had stored it."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The effort for a position: nodes or time, exactly one of them."""

    nodes: int | None = None
    """Node limit of every node's search."""
    ms: int | None = None
    multipv: int = 1


class Shared(Protocol):
    """Storage shared with other analyses, by settings, start and moves: `master.analysis.shared.SharedPositions`."""

    def get(self, settings: str, start_sfen: str, moves: tuple[str, ...], /) -> Evaluation | None: ...

    def add(self, settings: str, start_sfen: str, moves: tuple[str, ...], found: Evaluation, /) -> None: ...


class Session:
    """An open searcher. An async context manager.

    Args:
        searcher: the fleet, or one local engine; opened and closed by the session.
        store: the stored results.
        settings: called once the searcher is open; returns everything except the position on which a search's result
            depends, in words; part of the store's keys.
        on_event: fleet events, as `cluster.api.Listener.on_event`.
        shared: storage shared with other analyses; None: none.
    """

    def __init__(
        self,
        searcher: Searcher,
        store: Store,
        pace: Pace,
        settings: Callable[[], str],
        on_event: Callable[[str, dict[str, object]], None] = lambda _name, _fields: None,
        shared: Shared | None = None,
    ) -> None:
        self._shared = shared
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
        self, game: RecordedGame, positions: Sequence[tuple[str, ...]], on_found: Found, times: int = 1
    ) -> dict[tuple[str, ...], Evaluation]:
        """Search positions of ``game`` in this order, except those in the store.

        Args:
            positions: the moves from the start to each.
            times: effort for each, as a multiple of the pace.

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
            if found is None and self._shared is not None:
                found = self._shared.get(settings, game.start_sfen, moves)
            kept = found is not None
            if found is None:
                if not fresh:
                    await self._searcher.new_game()
                    fresh = True
                found = await self._search(game.start_sfen, moves, times)
                self._store.add(key, found)
                if self._shared is not None:
                    self._shared.add(settings, game.start_sfen, moves, found)
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
