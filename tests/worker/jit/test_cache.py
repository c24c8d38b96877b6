"""The cache folder's fingerprint: a source that it leaves out must have no compiled code."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import worker
from tests.users import NOBODY, as_root
from tests.worker.jit.imported import imported
from worker.jit.cache import _COMPILED_ROOMS, OUTSIDE, PLAIN_SOURCES, mark_used, prune

WORKER = Path(worker.__file__).parent
SCRIPT = "from worker.jit import HAS_AVX2, HAS_PEXT, cache_dir; print(cache_dir(), HAS_AVX2, HAS_PEXT)"


@pytest.mark.parametrize("name", sorted(PLAIN_SOURCES))
def test_a_plain_source_compiles_nothing(name: str) -> None:
    tree = ast.parse((WORKER / name).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            assert not node.decorator_list or all("jit" not in ast.dump(item) for item in node.decorator_list)
        if isinstance(node, ast.ImportFrom):
            assert node.module != "numba"
            assert node.module != "worker.jit" or all(name.name != "jit" for name in node.names)


def compiled() -> list[Path]:
    return [source for source in WORKER.rglob("*.py") if "@jit(" in source.read_text()]


def test_no_compiled_source_imports_a_plain_one() -> None:
    plain = {WORKER / name for name in PLAIN_SOURCES}
    assert {source: found for source in compiled() if (found := imported(source) & plain)} == {}
    assert len(compiled()) > 20


def test_imports_of_compiled_code_are_in_the_fingerprint() -> None:
    known = {path for room in _COMPILED_ROOMS for path in (WORKER / room).rglob("*.py")}
    known |= {WORKER / name for name in OUTSIDE}
    known.add(WORKER / "engine.py")  # a name of a type
    for source in compiled():
        assert imported(source) <= known, source


def ask(**variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=60, check=True
    )


def folder(**variables: str) -> list[str]:
    done = ask(**variables)
    assert done.stderr == ""
    return done.stdout.split()


def private(done: subprocess.CompletedProcess[str], temporary: Path, *why: str) -> Path:
    """The folder of the code, checked to be this user's alone, and that the user was told so."""
    found = Path(done.stdout.split()[0])
    assert found.parent.parent == temporary
    assert found.parent.stat().st_mode & 0o7777 == 0o700
    assert found.parent.stat().st_uid == os.geteuid()
    (line,) = done.stderr.splitlines()
    start = f"gougi: compiled code is kept in {found.parent}, for the usual folder cannot be used: "
    assert line.startswith(start)
    assert [word for word in why if word not in line] == []
    return found


def test_the_folder_depends_on_the_cpu_path_and_can_be_moved(tmp_path: Path) -> None:
    native = folder(GOUGI_CACHE_DIR=str(tmp_path))
    portable = folder(GOUGI_CACHE_DIR=str(tmp_path), GOUGI_CPU="portable")
    assert native[0].startswith(str(tmp_path))
    assert native[0] != portable[0]
    assert portable[1:] == ["False", "False"]
    assert folder(GOUGI_CACHE_DIR=str(tmp_path))[0] == native[0]
    assert Path(native[0]).stat().st_mode & 0o7777 == 0o700


def test_without_a_writable_home_it_goes_to_a_folder_of_ones_own(tmp_path: Path) -> None:
    nowhere = {"HOME": "/proc/nowhere", "XDG_CACHE_HOME": "", "GOUGI_CACHE_DIR": "", "TMPDIR": str(tmp_path)}
    found = private(ask(**nowhere), tmp_path, "/proc/nowhere/.cache")
    assert private(ask(**nowhere), tmp_path) == found


@pytest.mark.parametrize("bad", ["file", "file/below"])
def test_a_named_folder_that_is_none_is_told(tmp_path: Path, bad: str) -> None:
    (tmp_path / "file").touch()
    private(ask(GOUGI_CACHE_DIR=str(tmp_path / bad), TMPDIR=str(tmp_path)), tmp_path, str(tmp_path / bad))


@as_root
def test_compiled_code_of_somebody_else_is_never_used(tmp_path: Path) -> None:
    shared, temporary = tmp_path / "shared", tmp_path / "tmp"
    for path in (shared, temporary):
        path.mkdir()
    named = {"GOUGI_CACHE_DIR": str(shared), "TMPDIR": str(temporary)}
    theirs = Path(folder(**named)[0])
    os.chown(theirs, NOBODY, NOBODY)
    private(ask(**named), temporary, str(theirs))


def test_its_processes_use_the_same_folder_and_say_nothing(tmp_path: Path) -> None:
    script = f"import subprocess, sys; {SCRIPT}; subprocess.run([sys.executable, '-c', {SCRIPT!r}], check=True)"
    (tmp_path / "file").touch()
    environment = {**os.environ, "GOUGI_CACHE_DIR": str(tmp_path / "file"), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-uc", script], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert len(done.stderr.splitlines()) == 1
    ours, childs = done.stdout.splitlines()
    assert ours == childs


def test_folders_that_nobody_has_used_for_a_month_go_but_not_the_last_few(tmp_path: Path) -> None:
    current = tmp_path / "jit-now"
    current.mkdir()
    for number in range(10):
        folder = tmp_path / f"jit-{number}"
        folder.mkdir()
        age_s = 100 * number if number % 2 else 40 * 86_400 + number
        os.utime(folder, (time.time() - age_s,) * 2)
    old = tmp_path / "jit-8"
    mark_used(old)
    prune(current)
    assert sorted(path.name for path in tmp_path.iterdir()) == [*(f"jit-{n}" for n in (1, 3, 5, 7, 8, 9)), "jit-now"]
