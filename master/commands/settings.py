"""``gougi config``: what can be set, and what is in force."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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

    with EndsOn(ConfigError):
        return load_config(options, file)


def config(
    file: ConfigFile = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="A file with every key, its meaning and its default, to edit.")
    ] = False,
) -> None:
    """Print the configuration in force.

    It comes from the environment, the file and the defaults. Passwords are left out.

    Examples:

      gougi config --sample > gougi.toml

      GOUGI_ENGINE_THREADS=4 gougi config
    """
    from master.config import effective
    from master.config import sample as sample_file

    print(sample_file() if sample else effective(load(file)), end="")
