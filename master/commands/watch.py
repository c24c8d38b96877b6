"""``gougi watch``: the live page of games that were played or run, and of the fleets of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from master.commands.common import FAILED, CommandError, EndsOn, notice
from master.commands.kinds import Kind, check_kind
from master.commands.page import PageOption, page_token
from master.commands.settings import ConfigFile, load
from worker.files import described

_LOGS: Final = (".jsonl", ".gz")


def watch(
    what: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE|FOLDER]", help="A log, a game record, or a folder with logs. Default: records."),
    ] = None,
    page: PageOption = None,
    browser: Annotated[bool, typer.Option("--browser", help="Open the page in this machine's browser.")] = False,
    config: ConfigFile = None,
) -> int:
    """Show games and fleets in a browser.

    The live page shows what another gougi plays or has played. From a log (gougi-….jsonl) it shows the moves, the
    fleet's events, and each search as it ended; it follows a log that is still being written. From a record (CSA, KIF,
    KI2, JKF) it shows moves and scores. With a folder, or without an argument, it follows the newest log there and
    shows the fleets of this machine, between games too. Ctrl-C ends it.

    Examples:

      gougi watch

      gougi watch records/gougi-20261121-101500-4711.jsonl

      gougi watch game.csa --page 8080
    """
    settings = load(config, {"page": {"listen": page}})
    from importlib.metadata import version

    from master.analysis.game import GameFileError
    from master.commands.lifetime import Interrupted, run_to_end
    from master.live.listening import LOOPBACK, parse
    from master.live.records import facts_of
    from master.live.watching import Watch, show
    from master.ui.texts import say

    source = what if what is not None else Path(settings.records.folder)
    if what is not None and not what.exists():
        raise CommandError(f"{what}: no such file")
    check_kind(source, Kind.LOG, Kind.RECORD)
    is_log = source.is_dir() or source.suffix in _LOGS or not source.exists()
    with EndsOn(GameFileError):
        seen = Watch(source, []) if is_log else Watch(None, facts_of(source, notice))
    place = parse(settings.page.listen) or (LOOPBACK, 0)
    token = page_token(settings, place[0])
    head = {"command": "watch", "version": version("gougi")}

    def ready(url: str) -> None:
        print(say("live page: {url}", url=url), flush=True)
        if browser:
            import webbrowser

            webbrowser.open(url)

    try:
        run_to_end(lambda: show(seen, place, token, head, ready, notice))
    except OSError as error:
        raise CommandError(described(error), FAILED) from error
    except Interrupted:
        pass  # the usual end
    return 0
