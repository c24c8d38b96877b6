"""The embedded game: the whole system on this machine, against a single searcher, over real TCP.

It has a practice server on a free loopback port, the cluster (Ray, node processes) as one player, and one searcher in
this process as the other. Both play as on any server; nothing here knows more about the game than a client does.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from cluster.api import Listener, Searcher
from master.csa.login import ServerAddress
from master.game.driver import GameSettings, Observer, play_game
from master.player.events import Conclusion, GameOutcome
from master.player.instructions import Login, PlayerSettings
from master.practice.server import PracticeServer, ServerOptions
from master.practice.server_room import RoomOptions

OPPONENT: Final = "single"
_PASSWORD: Final = "embedded"  # any word works: the server is ours, on loopback, and accepts everybody
_LAST_WORDS_S: Final = 3.0
"""Seconds that the players have to leave a game that the server has stopped."""

PROPER_ENDS: Final = (Conclusion.WIN, Conclusion.LOSE, Conclusion.DRAW, Conclusion.CENSORED)
"""Ends of a game by the rules."""


@dataclass(frozen=True, slots=True)
class EmbeddedSettings:
    """Settings of the games. Times in whole seconds."""

    record_folder: Path
    name: str = "gougi"
    total_s: int = 10
    increment_s: int = 1
    """Added with each move (Fischer)."""
    games: int | None = 1
    """None: without end."""
    max_moves: int = 160
    """The move limit, which draws. With a second a move this is under five minutes: fractions of a second are free, and
    used."""
    player: PlayerSettings = field(default_factory=PlayerSettings)

    @property
    def game_name(self) -> str:
        """The password in the form that the server wants."""
        return f"embedded-{self.total_s}-{self.increment_s}F"


@dataclass(frozen=True, slots=True)
class Seat:
    """One of the two players."""

    searcher: Searcher
    listener: Listener
    observers: Sequence[Observer]
    """Receive the events of this player."""


async def play_embedded(
    settings: EmbeddedSettings,
    cluster: Seat,
    opponent: Seat,
    on_result: Callable[[GameOutcome], None],
    last_game: asyncio.Event,
) -> list[GameOutcome]:
    """Open both searchers and play ``settings.games`` games; the server changes the sides from game to game.

    Cancelled, the server stops the running game and writes its record; both searchers are closed in any case.

    Args:
        cluster: the player whose outcome counts.
        on_result: gets each game's end, also of an interrupted game. The record is the server's.
        last_game: once set, no other game begins.

    Raises:
        FleetError: a searcher cannot be opened.
        ServerError: no port is free on loopback.
    """
    results: list[GameOutcome] = []
    async with contextlib.AsyncExitStack() as stack:
        room = RoomOptions(max_moves=settings.max_moves, entering=settings.player.entering)
        options = ServerOptions(port=0, room=room, record_folder=settings.record_folder)
        server = await stack.enter_async_context(PracticeServer(options))
        for seat in (cluster, opponent):
            stack.push_async_callback(seat.searcher.close)
            await seat.searcher.open(seat.listener)

        def ended(outcome: GameOutcome) -> None:
            game_id = "" if outcome.summary is None else outcome.summary.game_id
            results.append(replace(outcome, record_path=server.record_paths.get(game_id)))
            on_result(results[-1])

        for _ in itertools.count() if settings.games is None else range(settings.games):
            if last_game.is_set():
                break
            await _play_one(settings, server, cluster, opponent, ended)
    return results


async def _play_one(
    settings: EmbeddedSettings,
    server: PracticeServer,
    cluster: Seat,
    opponent: Seat,
    ended: Callable[[GameOutcome], None],
) -> None:
    """One game; ``ended`` gets the cluster's outcome. If cancelled, it lets the server stop the game, and then
    raises."""
    address = ServerAddress(*server.address)
    other_name = OPPONENT if settings.name != OPPONENT else f"{OPPONENT}-2"  # the server requires two names
    main, other = (
        asyncio.create_task(
            play_game(
                address,
                Login(name, f"{settings.game_name},{_PASSWORD}"),
                seat.searcher,
                GameSettings(player=settings.player),
                seat.observers,
            )
        )
        for name, seat in ((settings.name, cluster), (other_name, opponent))
    )
    try:
        await asyncio.wait({main, other}, return_when=asyncio.FIRST_EXCEPTION)
    except asyncio.CancelledError:
        await server.stop()
        await asyncio.wait({main, other}, timeout=_LAST_WORDS_S)
        raise
    finally:
        main.cancel()
        other.cancel()
        failures = await asyncio.gather(other, main, return_exceptions=True)
        if not main.cancelled() and main.exception() is None:
            ended(main.result())
    for failure in failures:
        if isinstance(failure, Exception):
            raise failure
