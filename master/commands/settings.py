"""``gougi config``: the keys, and their effective values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from master.commands.checks import Kind, check_kind
from master.commands.common import EndsOn

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


def load(file: Path | None, options: dict[str, dict[str, Any]] | None = None) -> Config:
    """The configuration of a command; a fault in it ends the command."""
    from master.config import ConfigError, load_config

    if file is not None:
        check_kind(file, Kind.CONFIG, where="--config")
    with EndsOn(ConfigError):
        return load_config(options, file)


def config(
    file: ConfigFile = None,
    changed: Annotated[bool, typer.Option("--changed", help="Only values that differ from the default.")] = False,
    sample: Annotated[
        bool, typer.Option("--sample", help="A file with every key, its meaning and its default, to edit.")
    ] = False,
) -> None:
    """Print the configuration in force, and the source of each value.

    A value comes from the environment, from the file or from the defaults; a command's options go before them.
    Passwords are left out.

    Examples:

      gougi config --changed

      gougi config --sample > gougi.toml
    """
    from master.config import changed as changed_only
    from master.config import effective, origins
    from master.config import sample as sample_file

    if sample:
        print(sample_file(), end="")
        return
    found, whence = load(file), origins(file)
    text = changed_only(found, whence) if changed else effective(found, whence)
    print(text or "everything is as by default\n", end="")
