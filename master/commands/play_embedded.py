"""The embedded game of ``gougi play``: a fleet against a single searcher, over a server on this machine."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from master.commands.common import FAILED, INTERRUPTED, CommandError, compile_searcher
from master.commands.log_file import logged
from master.commands.page import live_page
from master.commands.play_show import Results, open_show, stop_after_this_game
from master.commands.players import make_fleet, make_single, player_settings

if TYPE_CHECKING:
    from master.config import Config
    from master.player.events import GameOutcome
    from master.ui.show import Show


def play_embedded_games(settings: Config, total_s: int, increment_s: int, max_moves: int, plain: bool) -> int:
    """Play it; returns the exit code. ``total_s`` and ``increment_s`` are each side's time."""
    compile_searcher()
    with open_show(settings, plain) as show:
        return _play(settings, show, total_s, increment_s, max_moves)


def _play(settings: Config, show: Show, total_s: int, increment_s: int, max_moves: int) -> int:
    import asyncio

    from cluster.api import FleetError
    from cluster.drivers.fleet import FleetFault
    from master.commands.lifetime import Interrupted, run_to_end
    from master.commands.metrics_endpoint import serving
    from master.logs.log import fleet_listener
    from master.practice.embedded import PROPER_ENDS, EmbeddedSettings, Seat, play_embedded
    from master.practice.server import ServerError
    from master.ui.texts import say

    embedded = EmbeddedSettings(
        record_folder=Path(settings.records.folder),
        name=settings.csa.name,
        total_s=total_s,
        increment_s=increment_s,
        games=settings.csa.games or None,
        max_moves=max_moves,
        player=replace(player_settings(settings), ponder=False),  # both players are on this machine
    )

    results = Results(show)

    async def main() -> list[GameOutcome]:
        async with show, AsyncExitStack() as stack:
            metrics = stack.enter_context(serving(settings.metrics, settings.csa.name, fleet_listener().on_event))
            page = await stack.enter_async_context(live_page(settings, "play", show.page_ready, show.warn))
            times = {"total": total_s, "increment": increment_s}
            show.say(say("the cluster against a single searcher; {total} s and {increment} s a move each", **times))
            last_game = asyncio.Event()
            stop_after_this_game(show, last_game)
            fault = FleetFault(last_game.set)
            hears = [show.fleet_event, fault.on_event]
            sees, sees_opponent = [about.observe, show.observe], [show.view.observe_opponent]
            if metrics is not None:
                sees.append(metrics.game.observe)
            if page is not None:
                hears.append(page.fleet_event)
                sees.append(page.observe)
                sees_opponent.append(page.observe_opponent)
            cluster = Seat(make_fleet(settings, metrics), fleet_listener(*hears), sees)
            opponent = Seat(make_single(settings), fleet_listener(), sees_opponent)
            outcomes = await play_embedded(embedded, cluster, opponent, results.tell, last_game)
            fault.check()
            return outcomes

    try:
        with logged(settings, show.warn, show.say) as about:
            try:
                outcomes = run_to_end(main)
            finally:
                results.tell_all()
    except (FleetError, ServerError) as error:
        raise CommandError(str(error), FAILED) from error
    except Interrupted:
        show.say(say("interrupted"))
        return INTERRUPTED
    show.settle()
    return 0 if all(outcome.conclusion in PROPER_ENDS for outcome in outcomes) else FAILED
