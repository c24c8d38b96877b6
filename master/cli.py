"""The ``gougi`` command. ``gougi --help`` imports neither Ray nor numba: each word brings its own when it runs."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer
from typer.main import get_command

from master.commands import (
    analyze,
    book,
    engine,
    fleet,
    log,
    play,
    replay,
    serve,
    settings,
    status,
    usi,
    watch,
)
from master.commands.common import DISK_FULL, FAILED, INTERRUPTED, CommandError
from master.commands.output import name_streams
from master.commands.plain import PlainCommand, complaint
from master.ui.terminal import guarded
from master.ui.texts import error_words
from worker.files import described, disk_is_full

app = typer.Typer(
    name="gougi",
    help="A shogi player that searches on a fleet of machines. Without a server at hand: gougi play",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
app.command(name="play", cls=PlainCommand)(play.play)
app.command(name="serve", cls=PlainCommand)(serve.serve)
app.command(name="usi", cls=PlainCommand)(usi.usi)
app.command(name="watch", cls=PlainCommand)(watch.watch)
app.command(name="perft", cls=PlainCommand)(engine.perft)
app.command(name="eval", cls=PlainCommand)(engine.evaluate)
app.command(name="bench", cls=PlainCommand)(engine.bench)
app.command(name="warm", cls=PlainCommand)(engine.warm)
app.add_typer(book.app, name="book")
app.command(name="analyze", cls=PlainCommand)(analyze.analyze)
app.command(name="replay", cls=PlainCommand)(replay.replay)
app.command(name="log", cls=PlainCommand)(log.log)
app.command(name="status", cls=PlainCommand)(status.status)
app.command(name="stop", cls=PlainCommand)(status.stop)
app.add_typer(fleet.app, name="fleet")
app.command(name="config", cls=PlainCommand, context_settings={"allow_interspersed_args": False})(settings.config)
# Packages above this one bring their commands as entry points: a function, or a group of commands.
for _point in entry_points(group="gougi.commands"):
    _command = _point.load()
    if isinstance(_command, typer.Typer):
        app.add_typer(_command, name=_point.name)
    else:
        app.command(name=_point.name, cls=PlainCommand)(_command)


@app.command(name="help", cls=PlainCommand)
def help_(words: Annotated[list[str] | None, typer.Argument(metavar="[COMMAND]")] = None) -> None:
    """Explain a command, as its --help does.

    Examples:

      gougi help play

      gougi help book import
    """
    command()(args=[*(words or ()), "--help"], prog_name="gougi", standalone_mode=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"gougi {version('gougi')}")
        raise typer.Exit


@cache
def command() -> Callable[..., Any]:
    """All commands as Click has them. Making them takes 0.2 s: tests call `run` hundreds of times."""
    return get_command(app)


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; what goes wrong is told on stderr, never as a traceback.

    Args:
        arguments: the words behind ``gougi``; None: those of this process.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    name_streams()
    with guarded():
        return _run(words)


def _run(words: list[str]) -> int:
    try:
        code = command()(args=words or ["--help"], prog_name="gougi", standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # a group without a word behind it, as `gougi` alone
            print(error.format_message())
            return 0
        _complain(complaint(error))
        return error.exit_code
    except CommandError as error:
        _complain(str(error))
        return DISK_FULL if disk_is_full(error) else error.code
    except (KeyboardInterrupt, typer.Abort):
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output (`| head`) has enough. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        _complain(described(error))
        return DISK_FULL if disk_is_full(error) else FAILED
    return code if isinstance(code, int) else 0


def _complain(message: str) -> None:
    with contextlib.suppress(OSError):  # then the exit code alone says it
        for line in message.splitlines() or ["failed"]:
            print(f"gougi: {error_words(line, sys.stderr.encoding)}", file=sys.stderr, flush=True)
