"""``gougi serve``: a server to practise on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from master.commands.checks import check_folder
from master.commands.common import CommandError, tell
from master.commands.log_file import logged
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
    takes any other name for default-1500-0, as the tournament server does. It accepts every name and password, so keep
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
    from master.ui.steady import SteadyWriter

    folder = Path(settings.records.folder)
    check_folder(folder, "--records")
    room = RoomOptions(max_moves=max_moves, entering=settings.play.entering_king)
    options = ServerOptions(host=host, port=port, room=room, record_folder=folder)

    tell_line = SteadyWriter(lambda line: print(line, flush=True))  # a full disk behind it ends no game

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
        tell_line("stopped")  # the usual end of a server, and no fault
    tell_line.settle()
    return 0
