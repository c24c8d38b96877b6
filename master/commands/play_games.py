"""The games of ``gougi play``: on a tournament server, or embedded (a fleet against a single searcher, on this
machine)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from master.commands.checks import check_fleet, check_folder
from master.commands.common import BAD_INPUT, FAILED, INTERRUPTED, CommandError, EndsOn, compile_searcher
from master.commands.players import make_fleet, make_single, player_settings
from master.commands.services import live_page, logged

if TYPE_CHECKING:
    import asyncio

    from master.commands.lifetime import Hangup
    from master.config import Config
    from master.player.events import GameEvent, GameOutcome
    from master.ui.show import Show

_DRAIN_S: Final = 2.0
"""Seconds that a terminal has to accept the last lines."""


@contextmanager
def open_show(settings: Config, plain: bool) -> Iterator[Show]:
    """The view on this terminal; the game never waits for it."""
    from master.records.notation import Notation
    from master.ui.console import Console
    from master.ui.outlet import Outlet
    from master.ui.show import Show

    outlet = Outlet()
    out, err = outlet.stream(sys.stdout), outlet.stream(sys.stderr)
    games, notation = settings.csa.games or None, Notation(settings.play.notation)

    def drain() -> None:
        outlet.drain(_DRAIN_S)
        out.raise_trouble()

    try:
        yield Show(Console(file=out), Console(file=err), plain=plain, games=games, notation=notation, drain=drain)
    finally:
        outlet.drain(_DRAIN_S)


def stop_after_this_game(show: Show, last_game: asyncio.Event) -> None:
    """Let SIGUSR1, which `gougi stop` sends, set ``last_game``."""
    import asyncio
    import signal

    from master.ui.texts import say

    def on_signal() -> None:
        show.say(say("this game is the last one"))
        last_game.set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, on_signal)


class Results:
    """Shows the result of each game on a screen, and counts them."""

    def __init__(self, show: Show) -> None:
        self._show = show
        self._outcomes: list[GameOutcome] = []

    def tell(self, outcome: GameOutcome) -> None:
        """Show how a game has ended, and the path of its record."""
        from master.ui.lines import own_result_words
        from master.ui.texts import say

        self._outcomes.append(outcome)
        if outcome.summary is not None:
            name = outcome.summary.names[outcome.summary.my_colour]
            how, plies = own_result_words(outcome), outcome.plies
            self._show.say(say("result for {name}: {how}, {plies} moves", name=name, how=how, plies=plies))
        if outcome.record_path is not None:
            self._show.say(say("record: {record}", record=outcome.record_path))

    def tell_all(self) -> None:
        """Show how the games have ended, if there were several."""
        from master.ui.lines import tally_words

        if len(self._outcomes) > 1:
            self._show.say(tally_words(self._outcomes))


def play_embedded_games(settings: Config, total_s: int, increment_s: int, max_moves: int, plain: bool) -> int:
    """Play it; returns the exit code. ``total_s`` and ``increment_s`` are each side's time."""
    compile_searcher()
    with open_show(settings, plain) as show:
        return _embedded(settings, show, total_s, increment_s, max_moves)


def _embedded(settings: Config, show: Show, total_s: int, increment_s: int, max_moves: int) -> int:
    import asyncio

    from cluster.api import FleetError
    from cluster.drivers.fleet import FleetFault
    from master.commands.lifetime import Interrupted, run_to_end
    from master.commands.services import serving
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


def play_online(settings: Config, plain: bool) -> int:
    """Play the games that [csa] specifies; returns the exit code."""
    from master.commands.lifetime import Hangup

    with Hangup() as hangup, open_show(settings, plain) as show:
        return _online(settings, show, hangup)


def _online(settings: Config, show: Show, hangup: Hangup) -> int:
    import asyncio

    from cluster.api import FleetError
    from cluster.drivers.fleet import FleetFault
    from master.book.study import StudyingSearcher
    from master.commands.lifetime import Interrupted, run_to_end
    from master.commands.players import open_books
    from master.commands.services import serving
    from master.config import ConfigError, csa_password
    from master.csa.client import CsaConnectionError, look_up
    from master.csa.login import LoginError, ServerAddress, check_login, login_password
    from master.game.connection_thread import play_games_on_thread
    from master.game.driver import GameSettings, LoginRefusedError, WrongGameError, next_search_id
    from master.game.loop import Backoff, NameTakenError, Series
    from master.logs.log import fleet_listener
    from master.player.events import GameEnded
    from master.player.instructions import Login
    from master.ui.texts import say

    csa = settings.csa
    with EndsOn(ValueError, where="--server"):
        server = ServerAddress.parse(csa.server)
    with EndsOn(ConfigError):
        password = csa_password(settings)
    if not password:
        raise CommandError("no password: set GOUGI_CSA_PASSWORD, or name a file with --password-file")
    with EndsOn(LoginError):
        for warning in check_login(csa.name, csa.game, password):
            show.warn(f"warning: {warning}")
    os.environ.pop("GOUGI_CSA_PASSWORD", None)  # the nodes' processes do not need it
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
        fault = FleetFault(last_game.set)  # the master's own engine finishes a running game
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
