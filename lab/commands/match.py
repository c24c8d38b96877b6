"""``gougi match``: how strong is A against B?"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from master.commands.common import FAILED, CommandError, Stoppable, exit_code, notice
from master.commands.options import JsonAtEnd, OpeningBest, OpeningMargin, OpeningPlies, Openings

if TYPE_CHECKING:
    from lab.match.folder import MatchFolder
    from lab.match.results import PlayedGame
    from lab.match.settings import MatchSettings, Pace, ResignBy
    from lab.match.statistics import Sprt

PLAYER_HELP = (
    "A USI command in quotes; or the word gougi, our own single searcher; or one of our configuration files (.toml)."
)


def match(
    a: Annotated[str, typer.Argument(metavar="A", help=PLAYER_HELP)],
    b: Annotated[str, typer.Argument(metavar="B", help="The other player.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FOLDER", help="Folder of the match. The same command continues it. Default: runs/A-B."
        ),
    ] = None,
    games: Annotated[
        int, typer.Option(min=2, metavar="N", help="Number of games at most; even, two for each opening.")
    ] = 40,
    nodes: Annotated[int | None, typer.Option(min=1, metavar="N", help="Nodes a move, without a clock.")] = None,
    depth: Annotated[int | None, typer.Option(min=1, metavar="N", help="Depth of each move, without a clock.")] = None,
    byoyomi: Annotated[float, typer.Option(min=0, metavar="SECONDS", help="Byoyomi.")] = 0,
    time: Annotated[
        str | None, typer.Option(metavar="MAIN+INC", help="Main time and increment (Fischer), in seconds.")
    ] = None,
    margin_ms: Annotated[
        int,
        typer.Option(
            min=0, metavar="MS", help="Milliseconds by which a player may overstep its clock before it loses."
        ),
    ] = 300,
    concurrency: Annotated[int, typer.Option(min=1, metavar="N", help="Games at a time.")] = 1,
    name_a: Annotated[str | None, typer.Option(metavar="NAME", help="Name of A.")] = None,
    name_b: Annotated[str | None, typer.Option(metavar="NAME", help="Name of B.")] = None,
    option_a: Annotated[
        list[str] | None, typer.Option("--option-a", "-A", metavar="NAME=VALUE", help="A USI option of A; repeatable.")
    ] = None,
    option_b: Annotated[
        list[str] | None, typer.Option("--option-b", "-B", metavar="NAME=VALUE", help="A USI option of B; repeatable.")
    ] = None,
    option_both: Annotated[
        list[str] | None, typer.Option("--each", metavar="NAME=VALUE", help="A USI option of both; repeatable.")
    ] = None,
    cores_a: Annotated[
        str, typer.Option(metavar="LIST", help="Processor cores of A and of all that it starts, such as 0-3,6.")
    ] = "",
    cores_b: Annotated[str, typer.Option(metavar="LIST", help="Processor cores of B.")] = "",
    openings: Openings = None,
    opening_plies: OpeningPlies = 12,
    opening_margin: OpeningMargin = 120,
    opening_best: OpeningBest = 0,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the openings made.")] = 1,
    resign: Annotated[
        int, typer.Option(min=0, metavar="CP", help="Centipawns behind at which a side loses. 0: play to the end.")
    ] = 2000,
    resign_moves: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="For --resign: number of moves of a side in a row at which it must be so."
        ),
    ] = 3,
    resign_by: Annotated[
        str,
        typer.Option(metavar="both|own", help="For --resign: both sides must see it, or only the side that is behind."),
    ] = "both",
    max_moves: Annotated[
        int, typer.Option(min=10, metavar="N", help="Number of moves after which a game is drawn.")
    ] = 320,
    sprt: Annotated[
        str | None, typer.Option(metavar="ELO0,ELO1", help="End the match as soon as a test decides between these two.")
    ] = None,
    alpha: Annotated[float, typer.Option(metavar="P", help="For --sprt: risk to accept ELO1 wrongly.")] = 0.05,
    beta: Annotated[float, typer.Option(metavar="P", help="For --sprt: risk to accept ELO0 wrongly.")] = 0.05,
    as_json: JsonAtEnd = False,
) -> int:
    """Play games between A and B, and say how much stronger A is.

    Give --nodes, --depth, --byoyomi or --time. The match plays each opening twice, with colours swapped. FOLDER gets a
    CSA record of every game, the openings and result.json. Ctrl-C keeps what was played; the same command goes on from
    there, also with more games or another --concurrency. A player that crashes, makes an illegal move or oversteps its
    time loses the game, and the match goes on. docs/how-to/match.md explains the figures, and how to set up YaneuraOu.

    Examples:

      gougi match gougi gougi -A Threads=2 --byoyomi 0.3 --games 200

      gougi match gougi "other/gougi usi --single" --nodes 20000 --games 2000 --sprt 0,10 --concurrency 2

      gougi match gougi "env GOUGI_WITHOUT=probcut gougi" --nodes 20000 --games 400

      gougi match gougi gougi -A EvalFile=new.bin --openings natural --nodes 20000 --games 400

      gougi match "gougi usi --nodes 2" gougi --byoyomi 0.3 --cores-a 0-1 --cores-b 0-1 --games 200

      gougi match gougi gpsusi -B BookDepth=0 --byoyomi 0.5 --margin-ms 1000
    """
    from lab.match.contestants import SettingsError, contestant, with_names
    from lab.match.folder import MatchFolder
    from lab.match.openings import named_openings
    from lab.match.run import MatchError
    from lab.match.settings import MatchSettings

    try:
        pace = _pace(nodes, depth, byoyomi, time, margin_ms)
        each = option_both or []
        contestant_a = contestant(a, name_a, [*each, *(option_a or [])], pace.timed, cores_a)
        contestant_b = contestant(b, name_b, [*each, *(option_b or [])], pace.timed, cores_b)
        settings = MatchSettings(
            players=(contestant_a, contestant_b) if name_a or name_b else with_names(contestant_a, contestant_b),
            pace=pace,
            games=games,
            concurrency=concurrency,
            seed=seed,
            max_moves=max_moves,
            resign_cp=resign,
            resign_moves=resign_moves,
            resign_by=_resign_by(resign_by),
            opening_file=named_openings(openings),
            opening_plies=opening_plies,
            opening_margin_cp=opening_margin,
            opening_best=opening_best,
            sprt=_sprt(sprt, alpha, beta),
        )
        folder = MatchFolder(out or Path("runs") / "-".join(settings.names))
        with folder.held():
            return _run(settings, folder, as_json)
    except SettingsError as error:
        raise CommandError(str(error)) from error
    except (MatchError, OSError) as error:
        raise CommandError(f"{error}; the same command goes on", FAILED) from error


def _pace(nodes: int | None, depth: int | None, byoyomi_s: float, time: str | None, margin_ms: int) -> Pace:
    from lab.match.contestants import SettingsError
    from lab.match.settings import Pace

    main_s = increment_s = 0.0
    if not math.isfinite(byoyomi_s):
        raise SettingsError(f"--byoyomi {byoyomi_s}: expected seconds")
    if time is not None:
        main, _, increment = time.partition("+")
        try:
            main_s, increment_s = float(main), float(increment or 0)
        except ValueError:
            raise SettingsError(f"--time {time}: expected MAIN+INC in seconds, such as 60+1") from None
        if not (math.isfinite(main_s) and math.isfinite(increment_s) and min(main_s, increment_s) >= 0):
            raise SettingsError(f"--time {time}: expected two times from 0 up")
    return Pace(nodes, depth, round(main_s * 1000), round(byoyomi_s * 1000), round(increment_s * 1000), margin_ms)


def _resign_by(word: str) -> ResignBy:
    from lab.match.contestants import SettingsError
    from lab.match.settings import ResignBy

    try:
        return ResignBy(word)
    except ValueError:
        raise SettingsError(f"--resign-by {word}: expected both or own") from None


def _sprt(bounds: str | None, alpha: float, beta: float) -> Sprt | None:
    from lab.match.contestants import SettingsError
    from lab.match.statistics import Sprt

    if bounds is None:
        return None
    try:
        return Sprt.parse(bounds, alpha, beta)
    except ValueError as error:
        raise SettingsError(str(error)) from error


def _run(settings: MatchSettings, folder: MatchFolder, as_json: bool) -> int:
    from lab.match.results import facts, finished, table, tally_of
    from lab.match.run import MatchError

    notice(folder.claim(settings))
    games, dropped = folder.read()
    notice(dropped)
    whole = True
    try:
        if not finished(settings, tally_of(games)):
            whole = _play(settings, folder, games, _openings(settings, folder))
    except MatchError:
        folder.keep_result(facts(settings, games))
        raise
    found = facts(settings, games)
    folder.keep_result(found)
    print(json.dumps(found, ensure_ascii=False) if as_json else table(settings, found))
    return exit_code(whole, folder.path)


def _play(settings: MatchSettings, folder: MatchFolder, games: list[PlayedGame], openings: Sequence[str]) -> bool:
    """Play what is missing of the match, up to its last game or its test's decision. False: Ctrl-C or SIGTERM ended it.

    ``games`` gets each game that is kept.
    """
    from lab.match.results import finished, games_left, tally_of, words
    from lab.match.run import fault_text, play_match
    from master.ui.progress import Bars

    numbers = list(games_left(settings.games, {game.number for game in games}))
    with Stoppable() as block, closing(play_match(settings, openings, numbers)) as playing, Bars("games") as bars:
        bar = bars.bar("", settings.games, at_most=settings.sprt is not None, hourly=True)
        bar.show(len(games), "starting the players", tell=True)
        for game, record in playing:
            folder.add(game, record)
            games.append(game)
            if game.at_fault is not None:
                bars.note(f"game {game.number}: {settings.names[game.at_fault]} lost: {fault_text(game)}")
            result = tally_of(games)
            bar.show(len(games), words(settings, result), tell=True)
            if finished(settings, result):
                break
    return block.finished


def _openings(settings: MatchSettings, folder: MatchFolder) -> list[str]:
    """An opening for each pair. Those that are missing are made, or read, and kept."""
    from lab.match.contestants import SettingsError
    from lab.match.openings import OpeningError, made_openings, openings_of
    from worker.search.engine import NumbaEngine

    wanted = settings.games // 2
    try:
        known = folder.known_openings()
        if len(known) >= wanted:
            return known
        if settings.opening_file is not None:
            source = openings_of(settings.opening_file, settings.seed)
            if len(source) < wanted and not settings.pace.timed:
                notice(
                    f"{settings.opening_file}: {len(source):,} openings for {wanted:,} pairs of games: without a clock "
                    "the same opening may bring the same games again, and the figures look more certain than they are"
                )
        else:
            plies, margin_cp, best = settings.opening_plies, settings.opening_margin_cp, settings.opening_best
            source = made_openings(wanted, settings.seed, lambda: NumbaEngine(hash_mb=1), plies, margin_cp, best)
    except OpeningError as error:
        raise SettingsError(str(error)) from error
    openings = known + [source[number % len(source)] for number in range(len(known), wanted)]
    folder.keep_openings(openings)
    return openings
