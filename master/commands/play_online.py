"""``gougi play`` on a tournament server."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from master.commands.checks import check_fleet, check_folder
from master.commands.common import BAD_INPUT, FAILED, INTERRUPTED, CommandError, EndsOn, compile_searcher
from master.commands.log_file import logged
from master.commands.page import live_page
from master.commands.play_show import Results, open_show, stop_after_this_game
from master.commands.players import make_fleet, player_settings

if TYPE_CHECKING:
    from master.commands.lifetime import Hangup
    from master.config import Config
    from master.player.events import GameEvent, GameOutcome
    from master.ui.show import Show


def play_online(settings: Config, plain: bool) -> int:
    """Play the games that [csa] asks for; returns the exit code."""
    from master.commands.lifetime import Hangup

    with Hangup() as hangup, open_show(settings, plain) as show:
        return _play(settings, show, hangup)


def _play(settings: Config, show: Show, hangup: Hangup) -> int:
    import asyncio

    from cluster.api import FleetError
    from cluster.drivers.fleet import FleetFault
    from master.book.study import StudyingSearcher
    from master.commands.book_settings import open_books
    from master.commands.lifetime import Interrupted, run_to_end
    from master.commands.metrics_endpoint import serving
    from master.config import ConfigError, csa_password
    from master.csa.address import ServerAddress
    from master.csa.client import CsaConnectionError, look_up
    from master.csa.login import LoginError, check_login, login_password
    from master.csa.tls import TlsError, tls_context
    from master.game.connection_thread import play_games_on_thread
    from master.game.driver import GameSettings, LoginRefusedError, WrongGameError, next_search_id
    from master.game.loop import NameTakenError, Series
    from master.logs.log import fleet_listener
    from master.player.events import GameEnded
    from master.player.instructions import Login
    from master.player.retry import Backoff
    from master.ui.texts import say

    csa = settings.csa
    with EndsOn(ValueError, where="--server"):
        server = ServerAddress.parse(csa.server)
    with EndsOn(ConfigError, TlsError):
        password = csa_password(settings)
        tls = tls_context(csa.tls_ca_file) if csa.tls else None
    if not password:
        raise CommandError("no password: set GOUGI_CSA_PASSWORD, or name a file with --password-file")
    with EndsOn(LoginError):
        for warning in check_login(csa.name, csa.game, password):
            show.warn(f"warning: {warning}")
    os.environ.pop("GOUGI_CSA_PASSWORD", None)  # the nodes' processes have no use for it
    login = Login(csa.name, login_password(csa.game, password))
    with EndsOn(CsaConnectionError, where="--server", code=FAILED):
        look_up(server.host)
    check_fleet(settings)
    check_folder(Path(settings.records.folder), "--records")
    compile_searcher()
    books = open_books(settings)
    game_settings = GameSettings(
        player=replace(player_settings(settings), game="" if csa.any_game else csa.game),
        record_folder=Path(settings.records.folder),
        tls=tls,
        book=books if books.knows else None,
    )

    results = Results(show)

    def observe(event: GameEvent) -> None:
        show.observe(event)
        if isinstance(event, GameEnded) and event.outcome.played:
            results.tell(event.outcome)

    async def main() -> list[GameOutcome]:
        last_game = asyncio.Event()
        stop_after_this_game(show, last_game)
        hangup.hear(asyncio.get_running_loop(), show.hang_up)
        fault = FleetFault(last_game.set)  # a game that runs is played by the master's own engine
        async with show, AsyncExitStack() as stack:
            metrics = stack.enter_context(serving(settings.metrics, csa.name, fleet_listener().on_event))
            page = await stack.enter_async_context(live_page(settings, "play", show.page_ready, show.warn))
            hears, sees = [show.fleet_event, fault.on_event], [about.observe, observe]
            if metrics is not None:
                sees.append(metrics.game.observe)
            if page is not None:
                hears.append(page.fleet_event)
                sees.append(page.observe)
            fleet = make_fleet(settings, metrics)
            searcher = StudyingSearcher(fleet, books, next_search_id, between_games=settings.book.study)
            try:
                await searcher.open(fleet_listener(*hears))
                outcomes = await play_games_on_thread(
                    Series(
                        server,
                        login,
                        searcher,
                        game_settings,
                        [*sees, searcher.observe],
                        count=csa.games or None,
                        stop=last_game,
                        backoff=Backoff(attempts=csa.attempts or None),
                    )
                )
                fault.check()
                return outcomes
            finally:
                await searcher.close()
                await books.close()

    try:
        with logged(settings, show.warn, show.say) as about:
            try:
                run_to_end(main)
            finally:
                results.tell_all()
    except WrongGameError as error:
        advice = "; rejected (--any-game would play it)" if error.offered else ""
        raise CommandError(f"{error}{advice}", BAD_INPUT) from error
    except (LoginRefusedError, NameTakenError) as error:
        raise CommandError(str(error), BAD_INPUT) from error
    except (FleetError, CsaConnectionError) as error:
        raise CommandError(str(error), FAILED) from error
    except Interrupted:
        show.say(say("interrupted"))
        return INTERRUPTED
    show.settle()
    return 0
