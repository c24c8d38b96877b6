"""Rules for the whole tree: import directions, declared dependencies, no facts of one machine."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("worker", "cluster", "master", "lab")
MODULE_OF = {
    "libarchive-c": "libarchive",
    "prometheus-client": "prometheus_client",
    "pyzmq": "zmq",
    "pydantic-settings": "pydantic_settings",
}


def tracked(*patterns: str) -> list[Path]:
    """The files of the repository, or of this folder if it is not one (a source archive)."""
    listed = subprocess.run(["git", "ls-files", "--", *patterns], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        return [path for line in listed.stdout.splitlines() if (path := ROOT / line).is_file()]
    return [path for pattern in patterns or ("*",) for path in ROOT.rglob(pattern) if path.is_file()]


def test_the_arrows_between_the_rooms() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_imports_are_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = [name for extra, names in project["optional-dependencies"].items() if extra != "dev" for name in names]
    names = [re.split(r"[<>=\[ ]", requirement)[0] for requirement in project["dependencies"] + optional]
    declared = {MODULE_OF.get(name, name) for name in names}
    imported: set[str] = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    imported |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    imported.add(node.module.partition(".")[0])
    foreign = imported - set(sys.stdlib_module_names) - set(PACKAGES)
    assert foreign == declared


def test_both_locks_hold_every_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    development = project["optional-dependencies"]["dev"]
    for lock, requirements in (
        ("requirements.lock", project["dependencies"]),
        ("requirements-dev.lock", project["dependencies"] + development),
    ):
        pinned = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE))
        assert {re.split(r"[<>=\[ ]", requirement)[0] for requirement in requirements} <= pinned
    runtime, dev = (
        (ROOT / lock).read_text(encoding="utf-8") for lock in ("requirements.lock", "requirements-dev.lock")
    )
    assert set(re.findall(r"^\S+==\S+", runtime, re.MULTILINE)) <= set(re.findall(r"^\S+==\S+", dev, re.MULTILINE))
    assert "--hash=sha256:" in runtime


FOREIGN_TO_THE_TREE = {
    "an address of a package index": re.compile(
        r"(?:pypi|pythonhosted|registry\.npmjs|deb\.debian)\.(?:org|com)|index-url="
    ),
    "a path of one machine": re.compile(r"(?<![\w.~-])/(?:work|root|home/[a-z]+|Users/[a-z]+)/"),
    "a hidden folder of the workplace": re.compile(r"\.lib" + "rary/"),
}


@pytest.mark.parametrize("what", FOREIGN_TO_THE_TREE)
def test_nothing_of_one_machine_is_in_the_tree(what: str) -> None:
    found = []
    for path in tracked():
        if path == Path(__file__).resolve():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in FOREIGN_TO_THE_TREE[what].finditer(text)]
    assert not found, f"{what}: {found}"


def test_no_file_is_left_open_or_too_long() -> None:
    for path in tracked("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 500, path


def test_no_test_imports_another() -> None:
    """A shared part is in a separate module."""
    found = [
        f"{path.relative_to(ROOT)}: {node.module}"
        for path in tracked("tests/*.py", "benchmarks/*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.rpartition(".")[2].startswith("test_")
    ]
    assert not found


def test_benchmarks_import_no_tests() -> None:
    """Tests import benchmarks, so benchmarks import no tests.

    Exceptions are long tests that are started by hand: of whole machines, whose stand-ins are among the tests, of
    killed commands, and of random faults.
    """
    found = {
        path.relative_to(ROOT).parts[1]
        for path in tracked("benchmarks/*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "tests"
    }
    assert found == {"boot", "image.py", "killed.py", "supervision.py"}
