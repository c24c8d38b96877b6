"""The cache folder's fingerprint: what it leaves out must hold nothing compiled."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import worker
from worker.jit.options import PLAIN_SOURCES

WORKER = Path(worker.__file__).parent
SCRIPT = "from worker.jit import HAS_AVX2, HAS_PEXT, cache_dir; print(cache_dir(), HAS_AVX2, HAS_PEXT)"


@pytest.mark.parametrize("name", sorted(PLAIN_SOURCES))
def test_a_plain_source_compiles_nothing(name: str) -> None:
    tree = ast.parse((WORKER / name).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            assert not node.decorator_list or all("jit" not in ast.dump(item) for item in node.decorator_list)
        assert not (isinstance(node, ast.ImportFrom) and node.module in ("numba", "worker.jit"))


@pytest.mark.parametrize("name", sorted(PLAIN_SOURCES))
def test_no_compiled_source_imports_a_plain_one(name: str) -> None:
    module = "worker." + name.removesuffix(".py").replace("/", ".")
    for source in WORKER.rglob("*.py"):
        text = source.read_text()
        if "@jit(" in text:
            assert f"from {module} import" not in text, source


def folder(**variables: str) -> list[str]:
    environment = {**os.environ, **variables}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.split()


def test_the_folder_depends_on_the_cpu_path_and_can_be_moved(tmp_path: Path) -> None:
    native = folder(GOUGI_CACHE_DIR=str(tmp_path))
    portable = folder(GOUGI_CACHE_DIR=str(tmp_path), GOUGI_CPU="portable")
    assert native[0].startswith(str(tmp_path))
    assert native[0] != portable[0]
    assert portable[1:] == ["False", "False"]
    assert folder(GOUGI_CACHE_DIR=str(tmp_path))[0] == native[0]


def test_without_a_writable_home_it_goes_to_the_temporary_folder(tmp_path: Path) -> None:
    found = folder(HOME="/proc/nowhere", XDG_CACHE_HOME="", GOUGI_CACHE_DIR="", TMPDIR=str(tmp_path))
    assert found[0].startswith(str(tmp_path))
