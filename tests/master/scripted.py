"""Searchers with scripted answers, for tests of the master."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from cluster import api
from tests.answers import make_decision
from worker.shogi import Position, move_to_usi

Choice = Callable[[Position], tuple[str, int | None]]
"""From the position to a move (USI, ``resign``, ``win``) and a score for the side to move."""


def first_legal(position: Position) -> tuple[str, int | None]:
    return move_to_usi(position.legal_moves()[0]), 0


def shuffle(position: Position) -> tuple[str, int | None]:
    """The rook to and fro, until the position repeats."""
    for usi in ("2h3h", "3h2h") if position.turn == 0 else ("8b7b", "7b8b"):
        try:
            position.parse_usi(usi)
        except ValueError:
            continue
        return usi, 12
    return first_legal(position)


class ScriptedSearcher:
    """`cluster.api.Searcher` that decides ``delay_s`` after each start; with no choice it never decides."""

    name = "scripted"

    def __init__(self, choose: Choice | None = first_legal, delay_s: float = 0.0) -> None:
        self.choose = choose
        self.delay_s = delay_s
        self.requests: list[api.SearchRequest] = []
        self.stopped: list[int] = []
        self.pondered: list[api.SearchRequest] = []
        self.retimed: list[tuple[int, int]] = []
        self.games = 0
        self.listener = api.Listener()
        self.searches: dict[int, api.SearchListener] = {}
        """The callback of each search id."""
        self.knows: api.Known | None = None
        """The result that pondering finds at once for every reply; None: nothing."""

    async def open(self, listener: api.Listener) -> None:
        self.listener = listener

    async def new_game(self) -> None:
        self.games += 1

    def handle(self, order: api.SearchOrder, listener: api.SearchListener = api.SILENT) -> None:
        match order:
            case api.StartSearch(request):
                self.start(request, listener)
            case api.PonderSearch(request, expected):
                self.ponder(request, listener, expected)
            case api.RetimeSearch(search_id, soft_ms):
                self.retime(search_id, soft_ms)
            case api.StopSearch(search_id):
                self.stop(search_id)

    def start(self, request: api.SearchRequest, listener: api.SearchListener = api.SILENT) -> None:
        if self.requests and request.search_id <= self.requests[-1].search_id:
            raise ValueError("the search id does not rise")
        self.requests.append(request)
        self.searches[request.search_id] = listener
        if self.choose is not None:
            asyncio.get_running_loop().call_later(self.delay_s, self._decide, request, self.choose)

    def ponder(self, request: api.SearchRequest, listener: api.SearchListener = api.SILENT, expected: str = "") -> None:
        self.pondered.append(request)
        if self.knows is not None:
            position = Position.from_sfen(request.sfen)
            position.push_all(request.moves)
            replies = {move_to_usi(move): self.knows for move in position.legal_moves()}
            asyncio.get_running_loop().call_soon(listener.on_pondered, api.Pondered(request.search_id, replies))

    def decide(self, decision: api.Decision) -> None:
        """The search of that id ends."""
        self.searches[decision.search_id].on_decision(decision)

    def retime(self, search_id: int, soft_ms: int) -> None:
        self.retimed.append((search_id, soft_ms))

    def stop(self, search_id: int) -> None:
        self.stopped.append(search_id)

    async def close(self) -> None:
        pass

    def _decide(self, request: api.SearchRequest, choose: Choice) -> None:
        position = Position.from_sfen(request.sfen)
        position.push_all(request.moves)
        move, score = choose(position)
        pv = () if move in ("resign", "win") else (move,)
        self.decide(make_decision(request.search_id, move, score, 5, pv, 100, 1, "split"))


class BrokenSearcher(ScriptedSearcher):
    """Cannot do anything."""

    async def new_game(self) -> None:
        raise api.FleetError("no fleet")

    def start(self, request: api.SearchRequest, listener: api.SearchListener = api.SILENT) -> None:
        raise api.FleetError("no fleet")

    def stop(self, search_id: int) -> None:
        raise api.FleetError("no fleet")
