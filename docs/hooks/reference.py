"""MkDocs hook: pages of the reference that are made from the code, and navigation entries that take whole folders.

A page that holds ``<!-- generated: NAME -->`` gets the text of `GENERATED` in its place, so that a key or an option
that is added to the code stands in the site with the next build.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel
from typer.main import get_command

from master.cli import app
from master.commands.plain import plain_ranges, plain_usage
from master.config import Config, sample

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_MARK: Final = re.compile(r"<!-- generated: (\w+) -->")
_DOCS_PATH: Final = re.compile(r"\bdocs/([\w/-]+\.md)\b")
_SAMPLE_KEY: Final = re.compile(r"^# (\w+) = (.*)$")


def configuration() -> str:
    """The sections and keys of the configuration: default, variable, limits and meaning of each, as Markdown."""
    return "\n".join(_sections())


def _sections() -> Iterator[str]:
    defaults = _defaults()
    for section, field in Config.model_fields.items():
        assert isinstance(field.annotation, type)
        assert issubclass(field.annotation, BaseModel)
        yield f"## `[{section}]` {{ #{section} }}\n\n{_text(field.annotation.__doc__ or '')}\n"
        yield "| key | default | limits | meaning |\n|---|---|---|---|"
        for key, described in field.annotation.model_fields.items():
            variable = f"GOUGI_{section}_{key}".upper()
            default = "in no file" if (section, key) not in defaults else f"`{defaults[section, key]}`"
            meaning = f"{_text(described.description or '')} Variable: `{variable}`."
            yield f"| `{key}` | {default} | {_limits(section, key)} | {meaning} |"
        yield ""


def _defaults() -> dict[tuple[str, str], str]:
    """Section and key -> the default as TOML, read off the sample that `gougi config --sample` prints."""
    found, section = {}, ""
    for line in sample().splitlines():
        if opened := re.match(r"\[(\w+)\]", line):
            section = opened[1]
        elif (key := _SAMPLE_KEY.match(line)) and key[1] in Config.model_fields[section].annotation.model_fields:
            found[section, key[1]] = key[2]
    return found


def _limits(section: str, key: str) -> str:
    """The bounds, the choices or the number of items that the key's JSON schema names; empty: none."""
    tables = Config.model_json_schema()
    schema: dict[str, Any] = tables["$defs"][tables["properties"][section]["$ref"].rpartition("/")[2]]["properties"][
        key
    ]
    if "enum" in schema:
        return ", ".join(f"`{choice}`" for choice in schema["enum"])
    low, high = (
        schema.get(name, schema.get(items)) for name, items in (("minimum", "minItems"), ("maximum", "maxItems"))
    )
    if low is None and high is None:
        return ""
    unit = " items" if "maxItems" in schema else ""
    return f"from {low:,}{unit}" if high is None else f"{low:,} to {high:,}{unit}"


def commands() -> str:
    """Every command of `gougi` with its usage, its explanation and its options, as Markdown."""
    return "\n".join(_command(get_command(app), ("gougi",), None))


def _command(command: Any, path: tuple[str, ...], parent: Any) -> Iterator[str]:
    with command.context_class(command, info_name=path[-1], parent=parent) as context:
        if parent is not None:
            yield f"{'#' * len(path)} `{' '.join(path)}` {{ #{'-'.join(path)} }}\n"
        usage = " ".join((" ".join(path), *command.collect_usage_pieces(context)))
        yield f"```text\n{plain_usage(usage)}\n```\n\n{_help(command.help or '')}\n"
        records = [
            record for parameter in command.get_params(context) if (record := parameter.get_help_record(context))
        ]
        if records:
            yield "| option | meaning |\n|---|---|"
            yield from (f"| {_code(name)} | {_text(plain_ranges(meaning))} |" for name, meaning in records)
            yield ""
        for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
            yield from _command(command.get_command(context, name), (*path, name), context)


def _help(text: str) -> str:
    """A command's explanation; its examples become a block of code."""
    prose, _, examples = text.partition("Examples:\n")
    words = "\n\n".join(_text(paragraph) for paragraph in re.split(r"\n\s*\n", prose) if paragraph.strip())
    lines = [line.strip() for line in examples.splitlines() if line.strip()]
    return words + (f"\n\n```sh\n{chr(10).join(lines)}\n```" if lines else "")


def _code(text: str) -> str:
    return f"`{text}`"


def _text(text: str) -> str:
    """Prose of the code on one line, with nothing in it that Markdown would take for its own but backticks."""
    parts = re.split(r"(`+[^`]+`+)", " ".join(text.split()))
    parts[::2] = [re.sub(r"([|<*_\[\]{}])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


GENERATED: Final[dict[str, Callable[[], str]]] = {"configuration": configuration, "commands": commands}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace each ``FOLDER/*.md`` of the navigation by the folder's pages that the navigation does not name itself."""
    folder = Path(config.docs_dir)
    named = set(_pages(config.nav))
    for section in config.nav or []:
        for title, entries in section.items():
            if isinstance(entries, list):
                section[title] = [page for entry in entries for page in _expanded(entry, folder, named)]
    return config


def _pages(nav: Any) -> Iterator[str]:
    for entry in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        if isinstance(entry, str):
            yield entry
        else:
            yield from _pages(entry)


def _expanded(entry: Any, folder: Path, named: set[str]) -> list[Any]:
    if not isinstance(entry, str) or "*" not in entry:
        return [entry]
    found = (path.relative_to(folder).as_posix() for path in sorted(folder.glob(entry)))
    return [path for path in found if path not in named]


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put generated text in, with links for the pages that the code names by their paths."""

    def linked(found: re.Match[str]) -> str:
        target = posixpath.relpath(found[1], posixpath.dirname(page.file.src_uri))
        return f"[{found[1].removesuffix('.md')}]({target})"

    return _MARK.sub(lambda mark: _DOCS_PATH.sub(linked, GENERATED[mark[1]]()), markdown)
