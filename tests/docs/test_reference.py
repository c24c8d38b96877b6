"""Pages of the reference that are made from the code: they have every entry, with meaning and limits."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer import TyperException
from typer.main import get_command

from master.cli import app
from master.config import Config

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_reference", ROOT / "docs" / "hooks" / "reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_key_of_the_configuration(reference: ModuleType) -> None:
    page = reference.configuration()
    for section, field in Config.model_fields.items():
        [table] = re.findall(rf"^## `\[{section}\]`.*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
        keys = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.+) Variable: `(\w+)`\. \|$", table, re.MULTILINE)
        assert [key for key, *_ in keys] == list(field.annotation.model_fields)
        for key, default, _limits, meaning, variable in keys:
            assert default and meaning, f"{section}.{key}"
            assert variable == f"GOUGI_{section}_{key}".upper()


def test_defaults_and_limits(reference: ModuleType) -> None:
    page = reference.configuration()
    assert "| `hash_mb` | `128` | 1 to 1,048,576 | Transposition table" in page
    assert '| `mode` | `"consult"` | `consult`, `split`, `tiers` |' in page
    assert "| `password` | in no file |" in page
    assert "| `games` | `1` | from 0 |" in page
    assert '| `instance_types` | `["c7i.4xlarge", "c6i.4xlarge"]` | 1 to 20 items |' in page


def test_every_command_and_option(reference: ModuleType) -> None:
    page = reference.commands()
    root = get_command(app)

    def look(command: object, path: tuple[str, ...]) -> int:
        inner = getattr(command, "commands", {})
        heading = f"{'#' * len(path)} `{' '.join(path)}`"
        assert len(path) == 1 or heading in page
        part = page.partition(heading)[2] if len(path) > 1 else page
        for parameter in command.params:  # type: ignore[attr-defined]
            if parameter.param_type_name == "option" and not parameter.hidden:
                assert parameter.opts[0] in re.split(r"^##+ ", part, maxsplit=1, flags=re.MULTILINE)[0], (
                    path,
                    parameter,
                )
        return 1 + sum(look(below, (*path, name)) for name, below in inner.items() if not below.hidden)

    assert look(root, ("gougi",)) > 30


def test_every_command_on_the_pages_has_these_options() -> None:
    """The notebook keeps commands as they were on their day."""
    pages = [ROOT / "README.md", ROOT / "README.ja.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    found = 0
    for page in pages:
        if "notebook" in page.parts:
            continue
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL):
            for line in re.findall(r"^ *(?:\w+=\S+ )*gougi (.*)$", block.replace("\\\n", " "), re.MULTILINE):
                words = shlex.split(re.split(r"\s[|>&#]|;", line)[0])
                command: Any = get_command(app)
                context = command.make_context("gougi", [], resilient_parsing=True)
                while words and not words[0].startswith("-") and getattr(command, "commands", None) is not None:
                    command = command.get_command(context, words.pop(0))
                    assert command is not None, (page, line)
                    context = type(context)(command, parent=context)
                try:
                    command.make_parser(context).parse_args(args=words)
                except TyperException as error:
                    pytest.fail(f"{page}: gougi {line}: {error.format_message()}")
                found += 1
    assert found > 50


def test_text_of_the_code_is_no_markup(reference: ModuleType) -> None:
    assert reference._text("a_b <c> {d} | `e_f`\n  g*") == r"a\_b \<c> \{d\} \| `e_f` g\*"


def test_a_folder_in_the_navigation_is_its_other_pages(reference: ModuleType, tmp_path: Path) -> None:
    class Settings:
        docs_dir = str(tmp_path)
        nav = [{"Home": "index.md"}, {"Numbers": ["numbers/index.md", "numbers/*.md"]}]  # noqa: RUF012

    (tmp_path / "numbers").mkdir()
    for name in ("index", "b", "a"):
        (tmp_path / "numbers" / f"{name}.md").touch()
    nav = reference.on_config(Settings()).nav
    assert nav[1] == {"Numbers": ["numbers/index.md", "numbers/a.md", "numbers/b.md"]}
