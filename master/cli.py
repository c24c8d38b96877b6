"""The ``gougi`` command. Each subcommand imports its own module when it runs, so that help and commands start fast."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from master.commands.common import CommandError, ended
from master.commands.plain import PlainCommand, complaint
from worker import VERSION

COMMANDS: Final = {
    "play": ("master.commands.play:play", "Play games on a tournament server, or one on this machine."),
    "serve": ("master.commands.play:serve", "Run a practice server: the CSA protocol, for games at home."),
    "usi": ("master.commands.usi:usi", "Speak USI on standard input and output: an engine for any GUI."),
    "watch": ("master.commands.logs:watch", "Show games and fleets in a browser."),
    "analyze": ("master.commands.analyze:analyze", "Analyse finished games: bad moves, better moves, strength."),
    "replay": ("master.commands.logs:replay", "Play a game again from its log, in the terminal."),
    "log": ("master.commands.logs:log", "Sum up game logs: results, time used, nodes lost, warnings."),
    "status": ("master.commands.status:status", "Show the fleets that you run on this machine."),
    "stop": ("master.commands.status:stop", "Let a player of yours end after its game."),
    "book": ("master.commands.book:app", "Make opening books, look at them, and learn from lost games."),
    "fleet": ("master.commands.fleet:app", "Make, use and remove a fleet of machines on AWS."),
    "config": ("master.commands.settings:config", "Print the configuration in force, and the source of each value."),
    "perft": ("master.commands.engine:perft", "Count the legal move sequences of N plies: a test of the rules."),
    "eval": ("master.commands.engine:evaluate", "Evaluate positions with the network, without a search."),
    "bench": ("master.commands.engine:bench", "Search fixed positions to a fixed depth."),
    "warm": ("master.commands.engine:warm", "Compile the searcher now."),
}
"""By name: a function or a group of commands, and a description; the overall help imports none of them."""


class _Commands(Mapping[str, Any]):
    """The commands by name, each imported on first use.

    Packages above this one add theirs as entry points of our own distribution.
    """

    def __init__(self, own: Mapping[str, Any]) -> None:
        self._made = dict(own)
        self._places = {word: place for word, (place, _) in COMMANDS.items()}
        with contextlib.suppress(PackageNotFoundError):
            points = distribution("gougi").entry_points.select(group="gougi.commands")
            self._places |= {point.name: point.value for point in points}

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._places, *self._made)))

    def __len__(self) -> int:
        return len(set(self))

    def __getitem__(self, word: str) -> Any:
        if word not in self._made:
            found = self._load(word)
            command: Any
            if isinstance(found, typer.Typer):
                command = get_group(found)
                command.name = word
            else:
                single = typer.Typer(add_completion=False, rich_markup_mode=None)
                single.command(name=word, cls=PlainCommand)(found)
                command = get_command(single)
            self._made[word] = command
        return self._made[word]

    def line(self, word: str) -> str:
        """The one-line description of the command."""
        if word in COMMANDS:
            return COMMANDS[word][1]
        if word in self._made:
            return str(self._made[word].get_short_help_str(200))
        found = self._load(word)
        if isinstance(found, typer.Typer):
            text = found.info.help if isinstance(found.info.help, str) else _callback_of(found).__doc__
        else:
            text = found.__doc__
        return str(text).strip().partition("\n")[0]

    def _load(self, word: str) -> Any:
        module, _, name = self._places[word].partition(":")
        return getattr(import_module(module), name)


def _callback_of(group: typer.Typer) -> Any:
    """The function whose docstring describes a group without a description of its own."""
    return group.registered_callback and group.registered_callback.callback


class _Group(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: Any = _Commands(self.commands)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(word, self.commands.line(word)) for word in self.commands])


app = typer.Typer(
    name="gougi",
    cls=_Group,
    help="A shogi player that searches on a fleet of machines. Without a server at hand: gougi play",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


@app.command(name="help", cls=PlainCommand)
def help_(words: Annotated[list[str] | None, typer.Argument(metavar="[COMMAND]")] = None) -> None:
    """Explain a command, as its --help does.

    Examples:

      gougi help play

      gougi help book import
    """
    app(args=[*(words or ()), "--help"], prog_name="gougi", standalone_mode=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"gougi {VERSION}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


def run(words: Sequence[str]) -> int:
    """Run the command line, the words after ``gougi``. Returns the exit code; errors are printed on stderr."""
    return ended(lambda: _obey(words))


def _obey(words: Sequence[str]) -> object:
    try:
        return app(args=list(words) or ["--help"], prog_name="gougi", standalone_mode=False)
    except typer.TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # a group without a subcommand, as `gougi` alone
            print(error.format_message())
            return 0
        raise CommandError(complaint(error), error.exit_code) from error
    except typer.Abort as error:
        raise KeyboardInterrupt from error
