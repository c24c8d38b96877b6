"""``gougi play``: games on a tournament server, or an embedded one; ``gougi serve``: a server to practise on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cluster.coordination.settings import Mode
from master.commands.checks import check_fleet, check_folder
from master.commands.common import CommandError, tell
from master.commands.options import NOTATION_HELP, NOTATIONS, Address, Nodes, PageOption
from master.commands.play_games import play_embedded_games, play_online
from master.commands.services import logged
from master.commands.settings import ConfigFile, load

MAX_MOVES_HELP = "Number of moves after which a game is drawn."
RECORDS_HELP = "Folder for records and logs. Default: records."


def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="PORT", help="TCP port; 0: any free one.")] = 4081,
    host: Annotated[str, typer.Option(metavar="HOST", help="Address to listen on; 0.0.0.0: all.")] = "127.0.0.1",
    max_moves: Annotated[int, typer.Option(min=1, metavar="N", help=MAX_MOVES_HELP)] = 256,
    records: Annotated[str | None, typer.Option(metavar="FOLDER", help=RECORDS_HELP)] = None,
    config: ConfigFile = None,
) -> int:
    """Run a practice server: the CSA protocol, for games at home.

    It pairs players who log in with the same game name. The game name sets the time in seconds: test-60-5F is 60 s and
    5 s more with each move (Fischer), test-60-10 is 60 s and 10 s byoyomi; -B or -W at the end asks for a side. It
    treats any other name as default-1500-0, as the tournament server does. It accepts every name and password, so keep
    it on a network that you trust. Ctrl-C stops it.

    Examples:

      gougi serve

      gougi serve --port 0 --records games
    """
    settings = load(config, {"records": {"folder": records}})
    import asyncio

    from master.commands.lifetime import Interrupted, run_to_end
    from master.practice.server import PracticeServer, ServerError, ServerOptions
    from master.practice.server_room import RoomNote, RoomOptions
    from master.ui.outlet import SteadyWriter

    folder = Path(settings.records.folder)
    check_folder(folder, "--records")
    room = RoomOptions(max_moves=max_moves, entering=settings.play.entering_king)
    options = ServerOptions(host=host, port=port, room=room, record_folder=folder)

    tell_line = SteadyWriter(lambda line: print(line, flush=True))  # output to a full disk must not end a game

    def on_note(note: RoomNote) -> None:
        tell_line(" ".join([note.event, *(f"{key}={value}" for key, value in note.fields.items())]))

    async def main() -> None:
        async with PracticeServer(options, on_note) as server:
            tell_line("listening on {}:{}; records go to {}".format(*server.address, folder))
            await asyncio.Event().wait()

    try:
        with logged(settings, tell, tell_line):
            run_to_end(main)
    except ServerError as error:
        raise CommandError(str(error)) from error
    except Interrupted:
        tell_line("stopped")  # the usual end of a server, not an error
    tell_line.settle()
    return 0


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
        typer.Option("--any-game", help="Also accept a game that has other times than those in --game."),
    ] = None,
    password_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="File with the password, mode 600. Or set GOUGI_CSA_PASSWORD.")
    ] = None,
    nodes: Nodes = None,
    address: Address = None,
    mode: Annotated[
        str | None,
        typer.Option(metavar="|".join(Mode), help="The way in which nodes share the work. Default: consult."),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Search threads of each node. Default: its machine's processors, shared out (16 at most).",
        ),
    ] = None,
    hash_mb: Annotated[
        int | None, typer.Option("--hash", metavar="MIB", help="Transposition table of each node. Default: 128 MiB.")
    ] = None,
    net: Annotated[str | None, typer.Option(metavar="FILE", help="Network file (nn.bin). Default: our own.")] = None,
    records: Annotated[str | None, typer.Option(metavar="FOLDER", help=RECORDS_HELP)] = None,
    time: Annotated[
        str,
        typer.Option(metavar="TOTAL+INC", help="Embedded game: time of each side, and increment, in whole seconds."),
    ] = "10+1",
    max_moves: Annotated[int, typer.Option(min=1, metavar="N", help="Embedded game: n" + MAX_MOVES_HELP[1:])] = 160,
    notation: Annotated[str | None, typer.Option(metavar=NOTATIONS, help=f"{NOTATION_HELP} Default: japanese.")] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Lines of text instead of the live screen.")] = False,
    page: PageOption = None,
    config: ConfigFile = None,
) -> int:
    """Play games on a tournament server, or one on this machine.

    Without a server (--server, or [csa] server) it plays the embedded game, which needs nothing else: the fleet (node
    processes of this machine) plays a single searcher over a practice server on this machine, live in this terminal.
    Ctrl-C ends a game cleanly, and writes its record; on a server it resigns the game. gougi stop lets the running
    game end; the player begins no other. If the terminal is closed, a game on a server continues; an embedded one ends.

    A live page shows the game and the fleet's search in a browser; the command prints its address. --page off
    switches it off.

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
        "cluster": {"nodes": nodes, "address": address, "mode": mode},
        "engine": {"threads": threads, "hash_mb": hash_mb, "eval_file": net},
        "play": {"notation": notation},
        "records": {"folder": records},
        "page": {"listen": page},
    }
    settings = load(config, options)
    if settings.csa.server:
        return play_online(settings, plain)
    total_s, increment_s = _parse_time(time)
    check_fleet(settings)
    check_folder(Path(settings.records.folder), "--records")
    return play_embedded_games(settings, total_s, increment_s, max_moves, plain)


def _parse_time(text: str) -> tuple[int, int]:
    total, plus, increment = text.partition("+")
    if not plus or not total.isascii() or not total.isdigit() or not increment.isascii() or not increment.isdigit():
        raise CommandError(f"--time: {text!r}: expected whole seconds as TOTAL+INCREMENT, such as 10+1")
    if len(total) > 5 or len(increment) > 5 or int(total) + int(increment) < 1:
        raise CommandError(f"--time: {text!r}: expected a total of 1 to 99999 seconds")
    return int(total), int(increment)
