"""The laboratory's compiled code: its cache must hold no code of changed sources."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

from numba.core.dispatcher import Dispatcher

import lab
import lab.selfplay.run
import lab.training.run
import worker
import worker.warm
from lab.jit import FOLDER, SOURCES
from tests.worker.jit.imported import imported
from worker.jit import cache_dir, jit_of
from worker.jit.cache import _COMPILED_ROOMS, OUTSIDE

LAB = Path(lab.__path__[0])
WORKER = Path(worker.__path__[0])


def test_imports_of_compiled_code_are_in_a_fingerprint() -> None:
    known = {path for room in _COMPILED_ROOMS for path in (WORKER / room).rglob("*.py")}
    known |= {WORKER / name for name in OUTSIDE} | set(SOURCES) | {LAB / "jit.py"}
    compiled = [source for source in LAB.rglob("*.py") if "@jit(" in source.read_text()]
    assert len(compiled) > 5
    for source in compiled:
        assert source in SOURCES or _has_own_folder(source)
        assert imported(source) <= known, source


def test_the_folder_changes_with_a_source(tmp_path: Path) -> None:
    source = tmp_path / "game.py"
    source.write_text("a = 1")
    _, before = jit_of("lab", [source])
    _, again = jit_of("lab", [source])
    source.write_text("a = 2")
    _, after = jit_of("lab", [source])
    assert before == again != after


def test_its_code_lies_in_a_folder_of_its_own() -> None:
    from lab.selfplay.game import below
    from worker.shogi.makemove import make

    assert below._cache.cache_path.startswith(str(cache_dir() / FOLDER))
    assert make._cache.cache_path.startswith(str(cache_dir()))
    assert FOLDER not in make._cache.cache_path


def called(function: Any, seen: set[Any]) -> None:
    """Add a compiled function and all that it calls."""
    if function not in seen:
        seen.add(function)
        for name in function.py_func.__code__.co_names:
            other = function.py_func.__globals__.get(name)
            if isinstance(other, Dispatcher):
                called(other, seen)


def test_the_warm_up_compiles_all_that_python_calls() -> None:
    """Otherwise every process compiles it for itself."""
    warm: set[Any] = set()
    for stages in (worker.warm._STAGES, lab.selfplay.run._STAGES, lab.training.run._STAGES):
        for _, function, _ in stages:
            called(function, warm)
    for source in LAB.rglob("*.py"):
        if source in SOURCES or source.parent.name in ("network", "commands") or _has_own_folder(source):
            continue
        module = _module(source)
        for name, value in vars(module).items():
            assert not isinstance(value, Dispatcher) or value in warm, f"{module.__name__}: {name}"


def _has_own_folder(source: Path) -> bool:
    """Whether it is compiled apart from the laboratory's other code, with its own text in the fingerprint."""
    return "(*SOURCES, Path(__file__))" in source.read_text()


def _module(source: Path) -> ModuleType:
    return importlib.import_module(".".join(source.relative_to(LAB.parent).with_suffix("").parts))
