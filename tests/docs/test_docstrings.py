"""First sentences of docstrings and helps: a verb or a plain noun phrase, not a clause that has to be read twice."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("benchmarks", "cluster", "deploy", "docs", "master", "tests", "worker")
RIDDLE = re.compile(r"(Of|What|Where|Who|Whoever|Whose|How|Why|When|That)\b")


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each docstring of modules, classes and functions, and of each string behind an assignment."""
    for node in ast.walk(ast.parse(source)):
        for _, block in ast.iter_fields(node):
            for before, statement in zip([None, *block], block, strict=False) if isinstance(block, list) else ():
                match statement:
                    case ast.Expr(value=ast.Constant(value=str(text))) if isinstance(
                        before, ast.Assign | ast.AnnAssign | None
                    ):
                        yield statement.lineno, text


def riddles(source: str) -> list[str]:
    """Line and first line of each docstring that begins with one of the words."""
    found = ((line, text.strip()) for line, text in docstrings(source))
    return [f"{line}: {text.splitlines()[0]}" for line, text in sorted(found) if RIDDLE.match(text)]


def test_a_first_sentence_is_a_verb_or_a_noun_phrase() -> None:
    paths = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    assert {path.relative_to(ROOT).parts[0] for path in paths} == set(FOLDERS)
    found = {path.relative_to(ROOT).as_posix(): riddles(path.read_text(encoding="utf-8")) for path in paths}
    assert [f"{path}:{riddle}" for path, lines in found.items() for riddle in lines] == []


def test_so_is_the_help_of_an_option() -> None:
    found = [
        f"{path.name}:{node.value.lineno}: {node.value.value}"
        for path in sorted((ROOT / "master").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "help" and isinstance(node.value, ast.Constant)
        if RIDDLE.match(str(node.value.value))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('"""What a module is."""', "1: What a module is."),
        ('class A:\n    """Who it is.\n\n    More.\n    """', "2: Who it is."),
        ('def f():\n    r"""\n    How it is done."""', "2: How it is done."),
        ('A = 0\n"""Whose it is."""', "2: Whose it is."),
        ('async def f():\n    """Where it is."""', "2: Where it is."),
        ('class A:\n    b: int = 0\n    """Of A."""', "3: Of A."),
        ('if True:\n    pass\nelse:\n    B = 0\n    """Of all."""', "5: Of all."),
    ],
)
def test_a_clause_is_found(source: str, found: str) -> None:
    assert riddles(source) == [found]


@pytest.mark.parametrize(
    "source",
    [
        '"""Whether it holds."""',
        '"""However it is done, it is a word."""',
        'def f():\n    """Return it. What follows is free."""',
        'print()\n"What stands alone is no docstring."',
        'a = "What is a value"',
    ],
)
def test_other_texts_pass(source: str) -> None:
    assert riddles(source) == []
