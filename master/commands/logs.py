"""``gougi log``, ``replay`` and ``watch``: finished games, from their logs and records."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from master.commands.checks import Kind, check_kind, only
from master.commands.common import FAILED, INTERRUPTED, CommandError, EndsOn, notice, tell
from master.commands.options import NOTATION_HELP, NOTATIONS, Json, PageOption
from master.commands.services import answering_engine, page_token
from master.commands.settings import ConfigFile, load
from worker import VERSION
from worker.files import described, reason

if TYPE_CHECKING:
    from master.game.journal import LoggedGame, Replay
    from master.game.summary import LogSummary


def log(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="Logs: records/gougi-….jsonl.", callback=only(Kind.LOG))
    ],
    as_json: Json = False,
) -> None:
    """Sum up game logs: results, time used, nodes lost, warnings.

    If a log was cut into several files, name any one of them: the command reads them all. It reads a log that is still
    being written as far as it goes. A log has moves and results if it was written at the level debug, the default.

    Examples:

      gougi log records/gougi-20261121-101500-4711.jsonl

      gougi log records/gougi-*.jsonl --json
    """
    from master.game.summary import LogSummary, read
    from master.logs.files import NotTextError, run_of

    found = LogSummary()
    logs = {(file.resolve().parent, run_of(file) or file.name): file for file in files}
    for file in logs.values():
        try:
            read(file, found)
        except NotTextError as error:
            raise CommandError(str(error)) from error
        except (OSError, ValueError) as error:
            raise CommandError(f"{file}: {reason(error)}") from error
    if as_json:
        print(json.dumps(found.facts(), ensure_ascii=False))
        return
    _tell_summary(found)


def _tell_summary(found: LogSummary) -> None:
    from rich.table import Table
    from rich.text import Text

    from master.records.notation import SIDES
    from master.ui.console import Console

    console = Console()
    if found.games:
        table = Table(box=None, header_style="dim", pad_edge=False)
        for name in ("player", "against", "result", "reason"):
            table.add_column(name)
        for name in ("moves", "used", "other's"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("decided by")
        for game in found.games:
            cells = (f"{SIDES[game.colour]} {game.player}", game.opponent, game.result or "unfinished", game.reason)
            figures = (str(game.moves), _time(game.own_s), _time(game.other_s), _counts(game.decisions))
            table.add_row(*map(Text, (*cells, *figures)))
        console.print(table)
    results = found.results()
    words = [f"{results.pop(name, 0)} {name}" for name in ("won", "lost", "drawn")]
    words += [f"{count} {name}" for name, count in results.items()]
    console.say(f"games: {len(found.games)}: {', '.join(words)}" if found.games else "games: none")
    console.say(f"time used: {_time(sum(game.own_s for game in found.games))}")
    console.say(
        f"nodes lost: {found.node_losses.total()}" + (f" ({_counts(found.node_losses)})" if found.node_losses else "")
    )
    for why, count in found.loss_reasons.most_common(5):
        console.say(f"  {count} times: {why}")
    console.say(f"Ray lost: {found.ray_losses}")
    console.say(f"warnings: {_counts(found.loud) or 'none'}")
    if found.began:
        console.say(f"from {found.began} to {found.ended}, {found.lines} lines")
    for gap in found.gaps:
        console.say(f"missing: {gap}")
    if found.damaged:
        console.say(f"lines that are damaged, or of another version: {found.damaged}")


def _counts(counts: Counter[str]) -> str:
    """``vote 40, forced 2``."""
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"


_MOST_LINES: Final = 3
"""Maximum number of lines shown for each side of a difference."""


def replay(
    log: Annotated[
        Path, typer.Argument(metavar="LOG", help="Log of a player: records/gougi-….jsonl.", callback=only(Kind.LOG))
    ],
    game: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Only games whose id contains this text. Default: all games of the log."),
    ] = None,
    player: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only this player's games: an embedded game has two players. Default: all."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Show no game: only check that the player sends the same lines.")
    ] = False,
    speed: Annotated[
        float, typer.Option(min=0, metavar="X", help="Speed, as a multiple of the game's; 0: without pauses.")
    ] = 1.0,
    notation: Annotated[Literal["japanese", "usi"], typer.Option(metavar=NOTATIONS, help=NOTATION_HELP)] = "japanese",
    plain: Annotated[bool, typer.Option("--plain", help="Lines of text instead of the live screen.")] = False,
) -> int:
    """Play a game again from its log, in the terminal.

    The player gets the lines of the server, the searches' reports and the ticks of the clock once more, at the times of
    the log, and must answer as it did then. The command prints the first difference, and ends with exit code 1. The log
    must have been written at the level debug, which is the default.

    Examples:

      gougi replay records/gougi-20261121-101500-4711.jsonl --speed 20

      gougi replay --check records/gougi-20261121-101500-4711.jsonl
    """
    from master.game.journal import ReplayError, read_log

    with EndsOn(ReplayError):
        logged = read_log(log, _tell_gap)
    offered = [entry for entry in logged if entry.game_id]
    chosen = [entry for entry in offered if (game is None or game in entry.game_id) and player in (None, entry.name)]
    if not chosen:
        raise CommandError(f"{log}: {_why_none(logged, offered)}")
    from master.commands.lifetime import Interrupted

    try:
        same = [_check(entry) if check else _show(entry, speed, notation, plain) for entry in chosen]
    except Interrupted:
        tell("interrupted")
        return INTERRUPTED
    return 0 if all(same) else FAILED


def _tell_gap(where: str) -> None:
    notice(f"{where}; a game that ran then is played up to there")


def _why_none(logged: list[LoggedGame], offered: list[LoggedGame]) -> str:
    if offered:
        return f"no such game; there are: {', '.join(f'{entry.game_id} ({entry.name})' for entry in offered)}"
    if any(entry.entries for entry in logged):
        return "no game was offered to its players"
    if logged:
        return "it holds no inputs of its players: it was not written at the level debug ([log] file_level)"
    return "no player's log"


def _check(game: LoggedGame) -> bool:
    from master.game.journal import Replay

    again = Replay(game)
    for _ in again.steps():
        pass
    return _tell_difference(game, again)


def _show(game: LoggedGame, speed: float, notation: str, plain: bool) -> bool:
    import asyncio

    from master.commands.lifetime import run_to_end
    from master.game.journal import Replay
    from master.player.events import GameFound
    from master.records.notation import Notation
    from master.ui.console import Console
    from master.ui.show import Show

    again = Replay(game)
    shown_ms = game.entries[0].at_ms if game.entries else 0.0
    # A closed pipe, or a full disk, ends the replay: nothing depends on it.
    show = Show(
        Console(), Console(file=sys.stderr), plain=plain, now=lambda: shown_ms / 1000, notation=Notation(notation)
    )

    async def main() -> None:
        nonlocal shown_ms
        found = False
        async with show:
            for step in again.steps():
                while found and speed > 0 and shown_ms < step.at_ms:
                    # The screen's clocks run on the log's time, in small steps.
                    pause_ms = min(step.at_ms - shown_ms, 100 * speed)
                    await asyncio.sleep(pause_ms / speed / 1000)
                    shown_ms += pause_ms
                shown_ms = step.at_ms
                for event in step.events:
                    found = found or isinstance(event, GameFound)  # half an hour may pass before
                    show.observe(event)
                    show.settle()

    run_to_end(main)
    return _tell_difference(game, again)


def _tell_difference(game: LoggedGame, again: Replay) -> bool:
    difference = again.difference
    whose = f"{game.game_id} ({game.name})"
    if difference is None:
        up_to = ", up to the gap in the log" if game.is_cut else ""
        print(f"{whose}: {again.lines} lines, as logged{up_to}", flush=True)
        return True
    print(f"{whose}: not as logged, at {difference.at_ms:.0f} ms, {difference.kind} {difference.about}")
    for who, lines in (("logged", difference.logged), ("now", difference.said)):
        for line in lines[:_MOST_LINES] or ("nothing",):
            print(f"  {who}: {line}", flush=True)
    return False


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

    The live page shows the games that another gougi plays or has played. From a log (gougi-….jsonl) it shows the moves,
    the fleet's events, and each search as it ended; it follows a log that is still being written. From a record (CSA,
    KIF, KI2, JKF) it shows moves and scores. With a folder, or without an argument, it follows the newest log there and
    shows the fleets of this machine, between games too. Ctrl-C ends it.

    Move a piece on the board to try a move of your own: a searcher of this machine answers, with the network of the
    configuration.

    Examples:

      gougi watch

      gougi watch records/gougi-20261121-101500-4711.jsonl

      gougi watch game.csa --page 8080
    """
    settings = load(config, {"page": {"listen": page}})
    from master.analysis.game import GameFileError
    from master.commands.lifetime import Interrupted, run_to_end
    from master.live.asking import Asker
    from master.live.sources import facts_of
    from master.live.watching import Watch, show
    from master.ui.texts import say

    source = what if what is not None else Path(settings.records.folder)
    if what is not None and not what.exists():
        raise CommandError(f"{what}: no such file")
    check_kind(source, Kind.LOG, Kind.RECORD)
    is_log = source.is_dir() or source.suffix in _LOGS or not source.exists()
    with EndsOn(GameFileError):
        seen = Watch(source, []) if is_log else Watch(None, facts_of(source, notice))
    place = settings.page.place or ("127.0.0.1", 0)
    token = page_token(settings, place[0])
    head = {"command": "watch", "version": VERSION, "asks": True}

    def ready(url: str) -> None:
        print(say("live page: {url}", url=url), flush=True)
        if browser:
            import webbrowser

            webbrowser.open(url)

    try:
        run_to_end(lambda: show(seen, place, token, head, ready, notice, Asker(lambda: answering_engine(settings))))
    except OSError as error:
        raise CommandError(described(error), FAILED) from error
    except Interrupted:
        pass  # the usual end
    return 0
