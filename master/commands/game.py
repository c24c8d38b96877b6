"""``gougi play`` and ``gougi serve``: games, and a server to play them on."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from master.commands.checks import check_fleet, check_folder
from master.commands.common import BAD_INPUT, FAILED, INTERRUPTED, CommandError, compile_searcher
from master.commands.page import PageOption, live_page, together
from master.commands.settings import ConfigFile, load

if TYPE_CHECKING:
    from cluster.drivers.local_driver import LocalSearcher
    from cluster.drivers.ray_driver import RaySearcher
    from cluster.engine_spec import EngineSpec, NodeKind
    from master.commands.metrics_endpoint import Metrics
    from master.config import Config, NodeKindConfig
    from master.logs.about import About
    from master.player.events import GameEvent, GameOutcome
    from master.player.instructions import PlayerSettings
    from master.ui.show import Show

MAX_MOVES_HELP = "Moves after which a game is drawn."
RECORDS_HELP = "Folder for records and logs. Default: records."


def play(
    server: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Tournament server. Without it: the embedded game.")
    ] = None,
    game: Annotated[str | None, typer.Option(metavar="NAME", help="Game name, such as floodgate-300-10F.")] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Login name. Default: gougi.")] = None,
    games: Annotated[
        int | None, typer.Option(metavar="N", help="Games to play, one after the other; 0: without end. Default: 1.")
    ] = None,
    any_game: Annotated[
        bool | None,
        typer.Option("--any-game", help="Play also a game that the server offers with other times than --game names."),
    ] = None,
    password_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="File with the password, mode 600. Or set GOUGI_CSA_PASSWORD.")
    ] = None,
    nodes: Annotated[int | None, typer.Option(metavar="N", help="Node processes that search. Default: 2.")] = None,
    address: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="A running Ray cluster. Default: one of our own.")
    ] = None,
    mode: Annotated[
        str | None, typer.Option(metavar="auto|split|consult|tiers", help="How nodes share the work. Default: auto.")
    ] = None,
    vote: Annotated[
        str | None, typer.Option(metavar="auto|majority|weighted|…", help="How votes are counted. Default: auto.")
    ] = None,
    threads: Annotated[int | None, typer.Option(metavar="N", help="Search threads of each node. Default: 1.")] = None,
    hash_mb: Annotated[
        int | None, typer.Option("--hash", metavar="MIB", help="Transposition table of each node. Default: 128 MiB.")
    ] = None,
    net: Annotated[str | None, typer.Option(metavar="FILE", help="Network file (nn.bin). Default: our own.")] = None,
    records: Annotated[str | None, typer.Option(metavar="FOLDER", help=RECORDS_HELP)] = None,
    time: Annotated[
        str, typer.Option(metavar="TOTAL+INC", help="Embedded game: time of each side, and increment, in seconds.")
    ] = "10+1",
    max_moves: Annotated[int, typer.Option(min=1, metavar="N", help="Embedded game: " + MAX_MOVES_HELP)] = 160,
    plain: Annotated[bool, typer.Option("--plain", help="Lines of text instead of the live screen.")] = False,
    page: PageOption = None,
    config: ConfigFile = None,
) -> int:
    """Play games: on a tournament server, or an embedded one.

    The embedded game needs nothing: the cluster (a local Ray with node processes) plays a single searcher over a
    practice server on loopback TCP, live in this terminal. Ctrl-C ends a game in good order: the record is written.

    A page on this machine shows the game and what the fleet thinks in a browser; its address is printed. --page off
    leaves it out.

    On a server, SIGUSR1 (kill -USR1) lets the running game end and begins no other.

    The password comes from GOUGI_CSA_PASSWORD or from a file that only its owner can read, never from an option.

    Examples:

      gougi play

      gougi play --time 60+2 --nodes 4

      GOUGI_CSA_PASSWORD=trip gougi play --server wdoor.c.u-tokyo.ac.jp:4081 --game floodgate-300-10F --name MyGougi
    """
    options: dict[str, dict[str, Any]] = {
        "csa": {
            "server": server,
            "game": game,
            "name": name,
            "games": games,
            "any_game": any_game,
            "password_file": password_file,
        },
        "cluster": {"nodes": nodes, "address": address, "mode": mode, "vote": vote},
        "engine": {"threads": threads, "hash_mb": hash_mb, "eval_file": net},
        "records": {"folder": records},
        "page": {"listen": page},
    }
    settings = load(config, options)
    if settings.csa.server:
        return _play_online(settings, plain)
    total_s, increment_s = _parse_time(time)
    check_fleet(settings)
    check_folder(Path(settings.records.folder), "--records")
    return _play_embedded(settings, total_s, increment_s, max_moves, plain)


def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="PORT", help="TCP port; 0: any free one.")] = 4081,
    host: Annotated[str, typer.Option(metavar="HOST", help="Address to listen on; 0.0.0.0: all.")] = "127.0.0.1",
    max_moves: Annotated[int, typer.Option(min=1, metavar="N", help=MAX_MOVES_HELP)] = 256,
    records: Annotated[str | None, typer.Option(metavar="FOLDER", help=RECORDS_HELP)] = None,
    config: ConfigFile = None,
) -> int:
    """Run a practice server: the CSA protocol, for games at home.

    Whoever logs in with the same game name is paired. The game name sets the time in seconds: test-60-5F is 60 s and
    5 s with each move (Fischer), test-60-10 is 60 s and 10 s byoyomi; -B or -W behind it asks for a side. Another name
    is taken for default-1500-0, as by the tournament server. Any name and password may log in: keep it on a network
    that you trust. Ctrl-C stops it.

    Examples:

      gougi serve

      gougi serve --port 0 --records games
    """
    settings = load(config, {"records": {"folder": records}})
    import asyncio

    from master.commands.lifetime import Interrupted, run_to_end
    from master.practice.server import PracticeServer, ServerError, ServerOptions
    from master.practice.server_room import RoomNote, RoomOptions
    from master.ui.steady import SteadyWriter

    folder = Path(settings.records.folder)
    check_folder(folder, "--records")
    options = ServerOptions(host=host, port=port, room=RoomOptions(max_moves=max_moves), record_folder=folder)

    tell_line = SteadyWriter(lambda line: print(line, flush=True))  # a full disk behind it ends no game

    def tell(note: RoomNote) -> None:
        tell_line(" ".join([note.event, *(f"{key}={value}" for key, value in note.fields.items())]))

    async def main() -> None:
        async with PracticeServer(options, tell) as server:
            tell_line("listening on {}:{}; records go to {}".format(*server.address, folder))
            await asyncio.Event().wait()

    try:
        with logged(settings, _warn, tell_line):
            run_to_end(main)
    except ServerError as error:
        raise CommandError(str(error)) from error
    except Interrupted:
        tell_line("stopped")  # the usual end of a server, and no fault
    tell_line.settle()
    return 0


def _play_embedded(settings: Config, total_s: int, increment_s: int, max_moves: int, plain: bool) -> int:
    compile_searcher()
    import asyncio

    from cluster.api import FleetError
    from cluster.drivers.fleet_fault import FleetFault
    from master.commands.lifetime import Interrupted, run_to_end
    from master.commands.metrics_endpoint import serving
    from master.logs.log import fleet_listener
    from master.practice.embedded import EmbeddedResult, EmbeddedSettings, Seat, play_embedded
    from master.practice.server import ServerError
    from master.ui.texts import say

    embedded = EmbeddedSettings(
        record_folder=Path(settings.records.folder),
        name=settings.csa.name,
        total_s=total_s,
        increment_s=increment_s,
        games=settings.csa.games or None,
        max_moves=max_moves,
        player=replace(_player_settings(settings), ponder=False),  # both players are on this machine
    )
    show = _show(plain, settings.csa.games)

    def on_result(result: EmbeddedResult) -> None:
        _tell_result(show, result.outcome, result.record)

    async def main() -> list[EmbeddedResult]:
        async with show, AsyncExitStack() as stack:
            metrics = stack.enter_context(serving(settings.metrics, settings.csa.name, fleet_listener().on_event))
            page = await stack.enter_async_context(live_page(settings, "play", show.say, show.warn))
            times = {"total": total_s, "increment": increment_s}
            show.say(say("the cluster against a single searcher; {total} s and {increment} s a move each", **times))
            last_game = asyncio.Event()
            fault = FleetFault(last_game.set)
            hears = [show.fleet_event, fault.on_event]
            sees, sees_opponent = [about.observe, show.observe], [show.view.observe_opponent]
            if metrics is not None:
                sees.append(metrics.game.observe)
            if page is not None:
                hears.append(page.fleet_event)
                sees.append(page.observe)
                sees_opponent.append(page.observe_opponent)
            cluster = Seat(make_fleet(settings, metrics), fleet_listener(*hears), together(sees))
            opponent = Seat(make_single(settings), fleet_listener(), together(sees_opponent))
            results = await play_embedded(embedded, cluster, opponent, on_result, last_game)
            fault.check()
            return results

    try:
        with logged(settings, show.warn, show.say) as about:
            results = run_to_end(main)
    except (FleetError, ServerError) as error:
        raise CommandError(str(error), FAILED) from error
    except Interrupted:
        show.say(say("interrupted"))
        return INTERRUPTED
    show.settle()
    return 0 if all(result.proper for result in results) else FAILED


def _play_online(settings: Config, plain: bool) -> int:
    import asyncio
    import signal

    from cluster.api import FleetError
    from cluster.drivers.fleet_fault import FleetFault
    from master.book.study import StudyingSearcher
    from master.commands.book_settings import open_books
    from master.commands.lifetime import Interrupted, run_to_end
    from master.commands.metrics_endpoint import serving
    from master.config import ConfigError, csa_password
    from master.csa.address import ServerAddress
    from master.csa.client import CsaConnectionError
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
    try:
        server = ServerAddress.parse(csa.server)
    except ValueError as error:
        raise CommandError(f"--server: {error}") from error
    try:
        password = csa_password(settings)
        tls = tls_context(csa.tls_ca_file) if csa.tls else None
    except (ConfigError, TlsError) as error:
        raise CommandError(str(error)) from error
    if not password:
        raise CommandError("no password: set GOUGI_CSA_PASSWORD, or name a file with --password-file")
    show = _show(plain, csa.games)
    try:
        for warning in check_login(csa.name, csa.game, password):
            show.warn(f"warning: {warning}")
    except LoginError as error:
        raise CommandError(str(error)) from error
    os.environ.pop("GOUGI_CSA_PASSWORD", None)  # the nodes' processes have no use for it
    login = Login(csa.name, login_password(csa.game, password))
    check_fleet(settings)
    check_folder(Path(settings.records.folder), "--records")
    compile_searcher()
    books = open_books(settings)
    game_settings = GameSettings(
        player=replace(_player_settings(settings), game="" if csa.any_game else csa.game),
        record_folder=Path(settings.records.folder),
        tls=tls,
        book=books if books.knows else None,
    )

    def observe(event: GameEvent) -> None:
        show.observe(event)
        if isinstance(event, GameEnded) and event.outcome.played:
            _tell_result(show, event.outcome, event.outcome.record_path)

    async def main() -> list[GameOutcome]:
        last_game = asyncio.Event()

        def on_signal() -> None:
            show.say(say("no other game behind this one"))
            last_game.set()

        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, on_signal)
        fault = FleetFault(last_game.set)  # a game that runs is played by the master's own engine
        async with show, AsyncExitStack() as stack:
            metrics = stack.enter_context(serving(settings.metrics, csa.name, fleet_listener().on_event))
            page = await stack.enter_async_context(live_page(settings, "play", show.say, show.warn))
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
                        [together(sees), searcher.observe],
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
            run_to_end(main)
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


def _warn(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _tell_result(show: Show, outcome: GameOutcome, record: Path | None) -> None:
    from master.ui.endings import own_result_words
    from master.ui.texts import say

    if outcome.summary is not None:
        name = outcome.summary.names[outcome.summary.my_colour]
        how, plies = own_result_words(outcome), outcome.plies
        show.say(say("result for {name}: {how}, {plies} moves", name=name, how=how, plies=plies))
    if record is not None:
        show.say(say("record: {record}", record=record))


def _parse_time(text: str) -> tuple[int, int]:
    total, plus, increment = text.partition("+")
    if not plus or not total.isascii() or not total.isdigit() or not increment.isascii() or not increment.isdigit():
        raise CommandError(f"--time: {text!r}: expected whole seconds as TOTAL+INCREMENT, such as 10+1")
    if len(total) > 5 or len(increment) > 5 or int(total) + int(increment) < 1:
        raise CommandError(f"--time: {text!r}: expected 1 to 99999 seconds in all")
    return int(total), int(increment)


def _engine(settings: Config) -> EngineSpec:
    from cluster.engine_spec import EngineSpec

    engine = settings.engine
    return EngineSpec(engine.hash_mb, engine.threads, _path(engine.eval_file), engine.fv_scale or None)


def _kind(engine: EngineSpec, kind: NodeKindConfig) -> NodeKind:
    """The engine of a node of that kind; ``engine``: our own searcher as the section [engine] has it."""

    from cluster.engine_spec import UsiSpec

    if kind.command:
        return UsiSpec(kind.command, tuple(kind.options.items()))
    return replace(
        engine,
        hash_mb=kind.hash_mb or engine.hash_mb,
        threads=kind.threads or engine.threads,
        eval_file=engine.eval_file if kind.eval_file is None else _path(kind.eval_file),
        fv_scale=engine.fv_scale if kind.fv_scale is None else kind.fv_scale or None,
    )


def _path(eval_file: str) -> str | None:
    return str(Path(eval_file).expanduser().absolute()) if eval_file else None


def make_single(settings: Config) -> LocalSearcher:
    """One searcher in this process, as the configuration describes a node; not open yet."""
    from cluster.drivers.local_driver import LocalSearcher

    return LocalSearcher(_engine(settings).build)


def make_fleet(settings: Config, metrics: Metrics | None = None) -> RaySearcher:
    """The fleet that the configuration describes; not open yet.

    Args:
        metrics: hears it; its nodes then serve metrics of their own.
    """

    from cluster.coordination.settings import Mode, Settings
    from cluster.drivers.ray_driver import RaySearcher
    from cluster.engine_spec import FleetSpec, Variety
    from cluster.voting.consultation import Vote

    engine, cluster, voters = _engine(settings), settings.cluster, settings.voters
    kinds = tuple(_kind(engine, kind) for kind in cluster.kinds) or (engine,)
    variety = Variety(voters.dropout, voters.noise, voters.depths, voters.seed)
    return RaySearcher(
        nodes=cluster.nodes,
        address=cluster.address or None,
        engine=FleetSpec(kinds, variety).build,
        fallback=replace(engine, hash_mb=16, threads=1).build,
        settings=Settings(
            mode=Mode(cluster.mode),
            groups=cluster.groups,
            vote=None if cluster.vote == "auto" else Vote(cluster.vote),
            share_depth=cluster.share_depth,
            share_bytes_per_s=cluster.share_bytes_per_s,
        ),
        name=settings.csa.name,
        report_port=cluster.report_port,
        advertise=cluster.advertise or None,
        metrics=None if metrics is None else metrics.fleet,
        node_metrics=None if metrics is None else metrics.nodes,
    )


def _player_settings(settings: Config) -> PlayerSettings:
    from master.player.instructions import PlayerSettings
    from worker.clock import ClockSettings

    clock, play = settings.clock, settings.play
    return PlayerSettings(
        clock=ClockSettings(network_margin_ms=clock.network_margin_ms, most_reserve_ms=clock.most_reserve_ms),
        resign_score=play.resign_score or None,
        resign_moves=play.resign_moves,
        mate_at_limit=play.mate_at_limit,
        draw_black=play.draw_value_black,
        draw_white=play.draw_value_white,
        ponder=play.ponder,
        book_ms=settings.book.answer_ms,
    )


def _show(plain: bool, games: int) -> Show:
    from master.ui.console import Console
    from master.ui.show import Show

    return Show(Console(), Console(file=sys.stderr), plain=plain, games=games or None)


@contextlib.contextmanager
def logged(settings: Config, warn: Callable[[str], None], tell_line: Callable[[str], None]) -> Iterator[About]:
    """The log of a command that plays or searches; ``warn`` gets what a person is to hear of it at once, ``tell_line``
    in the end where it lies. It gives what is to hear of the games, so that the lines say which one they are about."""
    from master.logs.about import About
    from master.logs.log import LogError, open_log
    from master.ui.texts import say

    log, about = settings.log, About()
    try:
        with open_log(Path(settings.records.folder), console=warn, about=about, **log.options()) as path:
            yield about
            tell_line(say("log: {path}", path=path))
    except LogError as error:
        raise CommandError(str(error)) from error
