"""``gougi match``: measures how strong A is against B."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lab.commands.options import Concurrency, MaxMoves, Resign, ResignMoves, SprtBounds
from master.commands.common import FAILED, CommandError, EndsOn, given, notice
from master.commands.options import JsonAtEnd, OpeningBest, OpeningMargin, OpeningPlies, Openings

if TYPE_CHECKING:
    from lab.match.settings import Pace

PLAYER_HELP = "A USI command in quotes; or the word gougi, our own single searcher."


def match(
    context: typer.Context,
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
    concurrency: Concurrency = 1,
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
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the openings.")] = 1,
    resign: Resign = 2000,
    resign_moves: ResignMoves = 3,
    max_moves: MaxMoves = 320,
    sprt: SprtBounds = None,
    as_json: JsonAtEnd = False,
) -> int:
    """Play games between A and B, and say how much stronger A is.

    Give --nodes, --depth, --byoyomi or --time. The match plays each opening twice, with colours swapped. FOLDER gets a
    CSA record of every game, the openings and result.json. Ctrl-C keeps all finished games; the same command continues
    from there, also with more games or another --concurrency. A player that crashes, makes an illegal move or oversteps
    its time loses the game, and the match goes on. docs/how-to/match.md explains the figures, and how to set up
    YaneuraOu.

    Examples:

      gougi match gougi gougi -A Threads=2 --byoyomi 0.3 --games 200

      gougi match gougi "other/gougi usi --single" --nodes 20000 --games 2000 --sprt 0,10 --concurrency 2

      gougi match gougi "env GOUGI_WITHOUT=probcut gougi" --nodes 20000 --games 400

      gougi match gougi gougi -A EvalFile=new.bin --openings natural --nodes 20000 --games 400

      gougi match "gougi usi --nodes 2" gougi --byoyomi 0.3 --cores-a 0-1 --cores-b 0-1 --games 200

      gougi match gougi gpsusi -B BookDepth=0 --byoyomi 0.5 --margin-ms 1000
    """
    from lab.match.folder import MatchFolder
    from lab.match.openings import named_openings
    from lab.match.run import MatchError, run
    from lab.match.settings import MatchSettings, SettingsError, contestant, with_names
    from lab.match.statistics import Sprt

    with EndsOn(ValueError):
        test = None if sprt is None else Sprt.parse(sprt)
    if openings and (unused := given(context, ("opening_plies", "opening_margin", "opening_best"))):
        notice(f"{', '.join(unused)}: not used, because --openings has the openings")
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
            opening_file=named_openings(openings),
            opening_plies=opening_plies,
            opening_margin_cp=opening_margin,
            opening_best=opening_best,
            sprt=test,
        )
        folder = MatchFolder(out or Path("runs") / settings.folder_name)
        with folder.held():
            return run(settings, folder, as_json)
    except SettingsError as error:
        raise CommandError(str(error)) from error
    except (MatchError, OSError) as error:
        raise CommandError(f"{error}; the same command goes on", FAILED) from error


def _pace(nodes: int | None, depth: int | None, byoyomi_s: float, time: str | None, margin_ms: int) -> Pace:
    from lab.match.settings import Pace, SettingsError

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
