"""A configuration as the text of a file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from master.config.loading import variable
from master.config.sections import SECRETS, Config


def sample() -> str:
    """A configuration file with every key, its meaning and its default, as comments to edit."""
    return "".join(_document(Config(), lambda key, value: f"# {key} = {_toml(value)}"))


def effective(config: Config, origins: Mapping[tuple[str, str], str] | None = None) -> str:
    """The configuration as a file: every key with the value in force and where that came from, secrets left out.

    Args:
        origins: of the values that are not the default (`master.config.loading.origins`); None: that is not said.
    """
    return "".join(_document(config, lambda key, value: f"{key} = {_toml(value)}", origins))


def changed(config: Config, origins: Mapping[tuple[str, str], str]) -> str:
    """The same of the changed keys alone, a line each: ``[engine] threads = 3  # option``."""
    return "".join(
        f"[{section}] {key}{_value(config, section, key)}  # {origin}\n" for (section, key), origin in origins.items()
    )


def _value(config: Config, section: str, key: str) -> str:
    return "" if (section, key) in SECRETS else f" = {_toml(getattr(getattr(config, section), key))}"


def _toml(value: object) -> str:
    """A value as TOML on one line; of a table the keys that are set."""
    if isinstance(value, BaseModel):
        return _toml({key: item for key, item in value if key in value.model_fields_set})
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def _document(config: Config, line: Any, origins: Mapping[tuple[str, str], str] | None = None) -> Iterator[str]:
    """The sections and keys of a TOML file, each under its meaning; ``line(key, value)`` writes a key."""
    yield "# Gougi's configuration. An option goes before the environment, the environment before this file.\n"
    for section in Config.model_fields:
        values: BaseModel = getattr(config, section)
        yield f"\n[{section}]  # {(type(values).__doc__ or '').splitlines()[0]}\n"
        for key, field in type(values).model_fields.items():
            if (section, key) in SECRETS:
                continue
            yield from (f"# {words}\n" for words in (field.description or "").splitlines())
            yield f"# Environment: {variable(section, key)}\n"
            origin = "" if origins is None else f"  # {origins.get((section, key), 'default')}"
            yield line(key, getattr(values, key)) + origin + "\n"
