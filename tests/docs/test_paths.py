"""Files of the documentation that code, tests, units and README name: each exists, with the heading that is named."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"(?<![\w./-])docs/[\w./-]*\w")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
TEXTS = {".py", ".md", ".toml", ".js", ".sh", ".tf", ".service", ".env", ".yml", ".yaml", ".in", ""}


def files() -> list[Path]:
    """The files of the repository, or of this folder if it is not one (a source archive)."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.splitlines()
    found = [ROOT / name for name in listed] or [path for path in ROOT.rglob("*") if ".venv" not in path.parts]
    return [path for path in found if path.is_file() and path.suffix in TEXTS]


def missing(text: str) -> list[str]:
    """Paths below docs/ that a text names and that do not exist."""
    return [name for name in NAMED.findall(text) if not (ROOT / name).exists()]


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as GitHub and MkDocs make them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> Iterator[str]:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path) if path else page
        if not there.is_file() or (anchor and anchor not in anchors(there.read_text(encoding="utf-8"))):
            yield target


def test_every_path_that_is_named_is_there() -> None:
    named = {path.relative_to(ROOT).as_posix(): missing(path.read_text(encoding="utf-8")) for path in files()}
    named.pop("tests/docs/test_paths.py")
    assert {path: names for path, names in named.items() if names} == {}


def test_the_links_of_readme_lead_somewhere() -> None:
    assert list(broken_links(ROOT / "README.md")) == []


@pytest.mark.parametrize("source", sorted((ROOT / "docs").rglob("*.mmd")), ids=lambda path: path.stem)
def test_a_diagram_is_drawn_from_its_text(source: Path) -> None:
    drawn = source.with_suffix(".svg").read_text(encoding="utf-8")
    assert f"<!-- {hashlib.sha256(source.read_bytes()).hexdigest()} -->" in drawn, "make diagrams"
