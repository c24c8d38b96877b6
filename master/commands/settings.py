"""``gougi config``: what can be set, and what is in force."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from master.commands.common import CommandError, EndsOn
from master.commands.kinds import Kind, check_kind

if TYPE_CHECKING:
    from master.config import Config

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Configuration file (TOML). Default: GOUGI_CONFIG, ./gougi.toml or ~/.config/gougi/gougi.toml.",
    ),
]


_SHOWN_OF: Final = ("play", "serve")
"""Commands whose configuration can be shown: the first thing that they do is to `load` it."""
_shows = False


class _ShownError(Exception):
    """Instead of its command, a configuration: with where its values come from."""

    def __init__(self, config: Config, origins: dict[tuple[str, str], str]) -> None:
        super().__init__()
        self.config = config
        self.origins = origins


def load(file: Path | None, options: dict[str, dict[str, Any]] | None = None) -> Config:
    """The configuration of a command; a fault in it ends the command."""
    from master.config import ConfigError, load_config, origins

    if file is not None:
        check_kind(file, Kind.CONFIG, where="--config")
    with EndsOn(ConfigError):
        found = load_config(options, file)
    if _shows:
        raise _ShownError(found, origins(options, file))
    return found


def config(
    context: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[COMMAND]", help="play or serve, with options of its own.")
    ] = None,
    file: ConfigFile = None,
    changed: Annotated[bool, typer.Option("--changed", help="Only what is not the default.")] = False,
    sample: Annotated[
        bool, typer.Option("--sample", help="A file with every key, its meaning and its default, to edit.")
    ] = False,
) -> None:
    """Print the configuration in force, and where each value comes from.

    A value comes from an option, the environment, the file, or it is the default. Passwords are left out. With a
    command and its options it prints the configuration that this command would have, and does not run it.

    Examples:

      gougi config --changed

      gougi config --sample > gougi.toml

      gougi config --changed play --nodes 4
    """
    global _shows
    from master.config import changed as changed_only
    from master.config import effective
    from master.config import sample as sample_file

    if sample:
        print(sample_file(), end="")
        return
    words = command or ["serve"]
    if words[0] not in _SHOWN_OF:
        raise CommandError(f"{words[0]!r}: expected one of {', '.join(_SHOWN_OF)}, which have a configuration")
    _shows = True
    try:
        root = context.find_root().command
        root.main([*words, *(("--config", str(file)) if file else ())], "gougi", standalone_mode=False)
    except _ShownError as shown:
        text = changed_only(shown.config, shown.origins) if changed else effective(shown.config, shown.origins)
        print(text or "everything is as by default\n", end="")
    finally:
        _shows = False
