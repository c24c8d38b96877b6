"""A tiny run of `benchmarks.overhead`, on real Ray."""

from __future__ import annotations

import json
import sys
import threading

import pytest

from benchmarks import overhead
from benchmarks.paced import PacedEngine, now_us
from worker.engine import Limits, SearchInfo
from worker.shogi import STARTPOS


def test_the_paced_engine_says_when() -> None:
    engine, found, began = PacedEngine(), list[SearchInfo](), now_us()
    engine.set_position(STARTPOS, ["7g7f"])
    result = engine.go(Limits(movetime_ms=60, multipv=2, ignoremoves=("1a1b",)), found.append)
    assert began <= found[0].nodes <= found[-1].nodes <= result.nodes <= now_us()
    assert [info.multipv for info in found[:4]] == [1, 2, 1, 2]
    engine.set_position(STARTPOS)
    threading.Timer(0.05, engine.stop).start()
    assert engine.go(Limits(searchmoves=("2g2f",))).bestmove == "2g2f"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_two_actors(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["x", "--actors", "2", "--rounds", "2", "--json"])
    overhead.main()
    facts = json.loads(capsys.readouterr().out)
    rows = facts["figures"]["2 nodes"]
    assert list(rows) == ["start", "deal", "report", "stop", "quiet", "ray call", "ray all"]
    assert all(0 < row["p50"] <= row["p99"] for row in rows.values())
    assert rows["report"]["n"] >= 4
    assert rows["stop"]["n"] == rows["start"]["n"] == 2
