"""The ``gougi`` command. ``gougi --help`` imports neither Ray nor numba: each word brings its own when it runs."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from master.commands import analyze, book, engine, fleet, game, lab, match, replay, selfplay, settings, usi
from master.commands.common import FAILED, INTERRUPTED, CommandError
from master.terminal import guarded

app = typer.Typer(
    name="gougi",
    help="A shogi player that searches on a fleet of machines. Without a server at hand: gougi play",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
app.command(name="play")(game.play)
app.command(name="serve")(game.serve)
app.command(name="usi")(usi.usi)
app.command(name="perft")(engine.perft)
app.command(name="eval")(engine.evaluate)
app.command(name="bench")(engine.bench)
app.command(name="warm")(engine.warm)
app.add_typer(book.app, name="book")
app.command(name="analyze")(analyze.analyze)
app.command(name="match")(match.match)
app.command(name="replay")(replay.replay)
app.command(name="lab")(lab.lab)
app.add_typer(selfplay.app, name="selfplay")
app.add_typer(fleet.app, name="fleet")
app.command(name="config")(settings.config)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"gougi {version('gougi')}")
        raise typer.Exit


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
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without kanji shows a "?", and the game goes on
    with guarded():
        return _run(words)


def _run(words: list[str]) -> int:
    try:
        code = app(args=words or ["--help"], prog_name="gougi", standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        _complain(error.format_message())
        return error.exit_code
    except CommandError as error:
        _complain(str(error))
        return error.code
    except (KeyboardInterrupt, typer.Abort):
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output (`| head`) has enough. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return code if isinstance(code, int) else 0


def _complain(message: str) -> None:
    for line in message.splitlines() or ["failed"]:
        print(f"gougi: {line}", file=sys.stderr)
