"""The effective configuration: read from options, environment and file, with errors that name place and key; and
written."""

from __future__ import annotations

import json
import os
import stat
import tomllib
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsError,
)

from master.config.sections import ENV_PREFIX, SECRETS, Config
from master.config_file import find_file
from master.words import fault
from worker.files import reason

ENV_OTHER = frozenset(
    ("GOUGI_CONFIG", "GOUGI_CACHE_DIR", "GOUGI_CPU", "GOUGI_CHECK", "GOUGI_PARAMETERS", "GOUGI_TUNE", "GOUGI_WITHOUT",
    "GOUGI_RUN_DIR", "GOUGI_USI_SECRET")
)  # fmt: skip
"""Variables of ours that are not keys of the file: its path, the one that `worker.jit.options` reads before anything
else, the one of `cluster.machine.presence`, and the secret of `master.remote`."""

_Location = tuple[int | str, ...]
"""Section, key, and within a key's own tables index and key and so on."""


class ConfigError(Exception):
    """An unusable configuration; the text names the place, the key and the expected value, one line each."""


def load_config(options: Mapping[str, Mapping[str, Any]] | None = None, file: Path | None = None) -> Config:
    """The configuration from options, environment, file and defaults, in this order.

    Args:
        options: section -> key -> value; a value of None means "not given".
        file: the file to read; None: the one that ``GOUGI_CONFIG`` names, or the first of the usual places that exists.

    Raises:
        ConfigError: with one line for each fault.
    """
    path = file or find_file()
    in_file = _read_file(path) if path else {}
    _refuse_unknown_variables()
    _refuse_no_json()
    given: dict[str, Any] = {
        section: {key: value for key, value in keys.items() if value is not None}
        for section, keys in (options or {}).items()
    }

    if given.get("csa", {}).get("password_file"):
        given["csa"]["password"] = None  # an option comes before the environment, here under another name

    class Layered(Config):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            assert isinstance(env_settings, EnvSettingsSource)
            env_settings.env_vars = {
                name: value for name, value in env_settings.env_vars.items() if name.upper() not in ENV_OTHER
            }
            return init_settings, env_settings, InitSettingsSource(settings_cls, in_file)

    try:
        return Layered(**{section: keys for section, keys in given.items() if keys})
    except SettingsError as error:
        raise ConfigError(f"environment: {error}") from error
    except ValidationError as error:
        lines = []
        for problem in error.errors():
            location = problem["loc"]
            lines.append(f"{_origin(location, given, path)}: {_expected(location, problem)}")
        raise ConfigError("\n".join(lines)) from error


def origins(file: Path | None = None) -> dict[tuple[str, str], str]:
    """The origins of the non-default values, by section and key: ``environment`` with the variable, or the file.
    ``file``: as passed to `load_config`."""
    path = file or find_file()
    in_file = _read_file(path) if path else {}
    found = {}
    for section, key in _keys():
        if variable(section, key) in os.environ:
            found[section, key] = f"environment, {variable(section, key)}"
        elif key in in_file.get(section, {}):
            found[section, key] = str(path)
    return found


def csa_password(config: Config) -> str:
    """The server password: ``GOUGI_CSA_PASSWORD``, else the first line of ``csa.password_file``, else empty. A file
    named by an option comes first. Raises ConfigError: the file cannot be read, is empty, or users other than its owner
    can read it."""
    if config.csa.password is not None:
        return config.csa.password.get_secret_value()
    if not config.csa.password_file:
        return ""
    path = Path(config.csa.password_file)
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077 and path.is_file():
            raise ConfigError(f"{path}: mode {mode:03o} lets others read the password; expected 600 (chmod 600 {path})")
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {reason(error)}") from error
    if not lines or not lines[0].strip():
        raise ConfigError(f"{path}: its first line is empty; expected the password")
    return lines[0].strip()


def _read_file(path: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {reason(error)}") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: not a TOML file: {error}") from error
    csa, page = content.get("csa"), content.get("page")
    if isinstance(csa, dict) and "password" in csa:
        raise ConfigError(
            f"{path}: [csa] password: a password has no place here; use GOUGI_CSA_PASSWORD or password_file"
        )
    if isinstance(page, dict) and "token" in page:
        raise ConfigError(f"{path}: [page] token: a token has no place here; use GOUGI_PAGE_TOKEN")
    return content


def _keys() -> Iterator[tuple[str, str]]:
    for section, field in Config.model_fields.items():
        assert isinstance(field.annotation, type)
        assert issubclass(field.annotation, BaseModel)
        for key in field.annotation.model_fields:
            yield section, key


def variable(*location: str) -> str:
    return ENV_PREFIX + "_".join(location).upper()


def _refuse_unknown_variables() -> None:
    """Without this check a misspelt variable would silently do nothing."""
    known = {variable(*key) for key in _keys()} | ENV_OTHER
    unknown = sorted(name for name in os.environ if name.startswith(ENV_PREFIX) and name not in known)
    if unknown:
        raise ConfigError(
            "\n".join(f"environment: {name}: no such variable; `gougi config` lists the keys" for name in unknown)
        )


def _refuse_no_json() -> None:
    """A list or a table must be JSON in a variable; pydantic's error names neither the variable nor this rule."""
    shapes: dict[Any, str] = {tuple: '["A", "B"]', dict: '{"KEY": "VALUE"}'}
    wrong = []
    for section, key in _keys():
        annotation = _table_at((section,)).model_fields[key].annotation
        name, shape = variable(section, key), shapes.get(typing.get_origin(annotation))
        if shape is not None and name in os.environ:
            try:
                json.loads(os.environ[name])
            except (ValueError, RecursionError):
                wrong.append(f"environment: {name}: {os.environ[name]!r} is not JSON, such as {shape}")
    if wrong:
        raise ConfigError("\n".join(wrong))


def _origin(location: _Location, given: Mapping[str, Mapping[str, Any]], path: Path | None) -> str:
    """The layer that set the value at ``location``, in words."""
    section, key, *_ = (*map(str, location), "")
    if key in given.get(section, {}):
        return "command line"
    if key and variable(section, key) in os.environ:
        return f"environment: {variable(section, key)}"
    return str(path or "configuration")


def _expected(location: _Location, problem: Mapping[str, Any]) -> str:
    """The wrong value's name, and the expected form; in a table within a section by its path, ``kinds[0].threads``."""
    section, *path = location
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
    place = f"[{section}] {name}".rstrip()
    if problem["type"] == "extra_forbidden":
        known = ", ".join(_table_at(location[:-1]).model_fields)
        return f"{place}: no such {'key' if path else 'section'}; expected one of: {known}"
    if problem["type"] == "string_pattern_mismatch" and location == ("csa", "name"):
        return f"{place}: {problem['input']!r} is no login name: letters, digits and _ @ . -, 32 at most"
    return f"{place}: {fault(problem, secret=(section, name) in SECRETS)}"


def _table_at(location: _Location) -> type[BaseModel]:
    """The table at ``location``: the configuration itself, a section, or a table within one."""
    table: type[BaseModel] = Config
    for name in (part for part in location if isinstance(part, str)):
        annotation = table.model_fields[name].annotation
        candidates = (annotation, *typing.get_args(annotation))
        table = next(found for found in candidates if isinstance(found, type) and issubclass(found, BaseModel))
    return table


def sample() -> str:
    """A configuration file with every key, its meaning and its default, as comments to edit."""
    return "".join(_document(Config(), lambda key, value: f"# {key} = {_toml(value)}"))


def effective(config: Config, origins: Mapping[tuple[str, str], str] | None = None) -> str:
    """The configuration as a file: every key with its effective value and its origin, secrets left out. ``origins``:
    those of the non-default values (`master.config.loading.origins`); None: leave origins out."""
    return "".join(_document(config, lambda key, value: f"{key} = {_toml(value)}", origins))


def changed(config: Config, origins: Mapping[tuple[str, str], str]) -> str:
    """The same for the changed keys alone, one line each: ``[engine] threads = 3  # gougi.toml``."""
    return "".join(
        f"[{section}] {key}{_value(config, section, key)}  # {origin}\n" for (section, key), origin in origins.items()
    )


def _value(config: Config, section: str, key: str) -> str:
    return "" if (section, key) in SECRETS else f" = {_toml(getattr(getattr(config, section), key))}"


def _toml(value: object) -> str:
    """A value as TOML on one line; of a table only the keys that are set."""
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
