"""``gougi replay``: a game again, from its log."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from master.commands.common import FAILED, INTERRUPTED, CommandError, EndsOn, notice
from master.commands.kinds import Kind, only
from master.commands.options import NOTATION_HELP, NOTATIONS

if TYPE_CHECKING:
    from master.game.replay import LoggedGame, Replay

_MOST_LINES: Final = 3
"""Lines of each side of a difference, at most."""


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
    from master.game.replay import ReplayError, read_log

    with EndsOn(ReplayError):
        logged = read_log(log, _tell_gap)
    offered = [entry for entry in logged if entry.game_id]
    chosen = [entry for entry in offered if (game is None or game in entry.game_id) and player in (None, entry.name)]
    if not chosen:
        raise CommandError(f"{log}: {_why_none(logged, offered)}")
    same = True
    for entry in chosen:
        try:
            same &= _check(entry) if check else _show(entry, speed, notation, plain)
        except _InterruptedError:
            return INTERRUPTED
    return 0 if same else FAILED


def _tell_gap(where: str) -> None:
    notice(f"{where}; a game that ran then is played up to there")


class _InterruptedError(Exception):
    pass


def _why_none(logged: list[LoggedGame], offered: list[LoggedGame]) -> str:
    if offered:
        return f"no such game; there are: {', '.join(f'{entry.game_id} ({entry.name})' for entry in offered)}"
    if any(entry.entries for entry in logged):
        return "no game was offered to its players"
    if logged:
        return "it holds no inputs of its players: it was not written at the level debug ([log] file_level)"
    return "no player's log"


def _check(game: LoggedGame) -> bool:
    from master.game.replay import Replay

    again = Replay(game)
    for _ in again.steps():
        pass
    return _tell(game, again)


def _show(game: LoggedGame, speed: float, notation: str, plain: bool) -> bool:
    import asyncio

    from master.commands.lifetime import Interrupted, run_to_end
    from master.game.replay import Replay
    from master.player.events import GameFound
    from master.player.instructions import Emit
    from master.records.notation import Notation
    from master.ui.console import Console
    from master.ui.show import Show

    again = Replay(game)
    shown_ms = game.entries[0].at_ms if game.entries else 0.0
    # A closed pipe, or a full disk, is the end: nothing hangs on a replay.
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
                for instruction in step.instructions:
                    if isinstance(instruction, Emit):
                        found = found or isinstance(instruction.event, GameFound)  # half an hour may pass before
                        show.observe(instruction.event)
                        show.settle()

    try:
        run_to_end(main)
    except Interrupted:
        show.say("interrupted")
        raise _InterruptedError from None
    return _tell(game, again)


def _tell(game: LoggedGame, again: Replay) -> bool:
    difference = again.difference
    whose = f"{game.game_id} ({game.name})"
    if difference is None:
        up_to = ", up to where lines of the log are missing" if game.is_cut else ""
        print(f"{whose}: {again.lines} lines, as logged{up_to}", flush=True)
        return True
    print(f"{whose}: not as logged, at {difference.at_ms:.0f} ms, {difference.kind} {difference.about}")
    for who, lines in (("logged", difference.logged), ("now", difference.said)):
        for line in lines[:_MOST_LINES] or ("nothing",):
            print(f"  {who}: {line}", flush=True)
    return False
