"""The Python API: its documented examples run as written, and its errors name the fault."""

from __future__ import annotations

import _thread
import contextlib
import re
import signal
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import gougi
from tests.master.analysis.records import CSA

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "python.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=["evaluate", "search", "analyse"])
def test_the_documented_examples(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "game.csa").write_text(CSA, encoding="utf-8")
    exec(compile(example, str(PAGE), "exec"), {})
    assert capsys.readouterr().out


def test_the_public_names() -> None:
    assert all(getattr(gougi, name).__module__ == "gougi.api" for name in gougi.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        gougi.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("position", "words"),
    [
        ("startpos moves 7g7e", "7g7e"),
        ("startpos 7g7f", "'moves' before moves"),
        ("9/9 b - 1", "2 ranks"),
        ("", "0 fields"),
    ],
)
def test_a_wrong_position_is_named(position: str, words: str) -> None:
    with pytest.raises(gougi.GougiError, match=words):
        gougi.evaluate(position)


def test_any_thread_may_call_it() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(gougi.evaluate).result() == gougi.evaluate()


def test_threads_may_share_an_engine() -> None:
    with gougi.Engine(hash_mb=1) as engine, ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda nodes: engine.search(nodes=nodes).nodes, range(100, 500, 10))
        assert list(found) == list(range(100, 500, 10))


def test_close_ends_all_searches() -> None:
    engine = gougi.Engine(hash_mb=1)
    with ThreadPoolExecutor(3) as pool:
        searches = [pool.submit(engine.search, seconds=3600) for _ in range(3)]
        engine.close()
        for search in searches:
            with contextlib.suppress(gougi.GougiError):
                assert search.result().move


def test_an_interrupt_reaches_the_caller() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        threading.Timer(0.1, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            set(iter(gougi.evaluate, None))
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_closed_engine_keeps_no_memory() -> None:
    tracemalloc.start()
    try:
        engine = gougi.Engine(hash_mb=64)
        engine.search(nodes=100)
        assert tracemalloc.get_traced_memory()[0] > 64 << 20
        engine.close()
        assert tracemalloc.get_traced_memory()[0] < 64 << 20
    finally:
        tracemalloc.stop()
    engine.stop()
    engine.close()
    with pytest.raises(gougi.GougiError, match="this engine is closed"):
        engine.search(nodes=100)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"multipv": 0}, "multipv is 0"),
        ({"nodes": 1 << 70}, "nodes is 11"),
        ({"nodes": -1}, "nodes is -1"),
        ({"depth": -1}, "depth is -1"),
        ({"seconds": float("inf"), "nodes": 100}, "seconds is inf"),
        ({"seconds": float("nan")}, "seconds is nan"),
        ({"seconds": 1e30, "nodes": 100}, "seconds is 1e"),
    ],
)
def test_an_impossible_limit_is_refused(limits: dict[str, Any], words: str) -> None:
    with gougi.Engine(hash_mb=1) as engine, pytest.raises(gougi.GougiError, match=words):
        engine.search(**limits)


def test_a_wrong_network_or_record_is_named(tmp_path: Path) -> None:
    with pytest.raises(gougi.GougiError, match=r"none\.bin"):
        gougi.Engine(net=tmp_path / "none.bin")
    with pytest.raises(gougi.GougiError, match=r"none\.csa"):
        gougi.analyze(tmp_path / "none.csa")


def test_only_the_first_game_of_a_record_counts(tmp_path: Path) -> None:
    broken = CSA.replace("+7776FU", "+7775FU")
    (tmp_path / "two.csa").write_text(f"{CSA}/\n{broken}", encoding="utf-8")
    assert [move.move for move in gougi.analyze(tmp_path / "two.csa", nodes=10)][:1] == ["7g7f"]
    (tmp_path / "two.csa").write_text(f"{broken}/\n{CSA}", encoding="utf-8")
    with pytest.raises(gougi.GougiError, match="line"):
        gougi.analyze(tmp_path / "two.csa", nodes=10)
