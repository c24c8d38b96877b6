"""A tiny run of `benchmarks.coordinator`."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks import coordinator


def test_every_mode(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(coordinator, "WARM_UP", 20)
    monkeypatch.setattr(sys, "argv", ["x", "--nodes", "30", "--reports", "100", "--json"])
    coordinator.main()
    facts = json.loads(capsys.readouterr().out)
    assert len(facts["figures"]) == len(facts["of_a_core"]) >= 3
    for rows in facts["figures"].values():
        assert rows["event"]["n"] == rows["decoded"]["n"] == 100
        assert 0 < rows["event"]["p50"] <= rows["event"]["p99"] <= rows["event"]["worst"]
        assert rows["decoded"]["mean"] > rows["event"]["mean"]
        assert rows["start"]["n"] == rows["dealt"]["n"] == 1
        assert rows["lost"]["n"] == rows["joined"]["n"] == 20


def test_the_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(coordinator, "WARM_UP", 0)
    monkeypatch.setattr(sys, "argv", ["x", "--nodes", "4", "--reports", "20", "--modes", "consult"])
    coordinator.main()
    shown = capsys.readouterr().out
    assert "consult, 4 with a job" in shown
    assert "of a core: consult" in shown
