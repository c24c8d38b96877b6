"""A tiny run of `benchmarks.clock`; what it measures is tested in tests/worker/clock/test_games.py."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks import clock


def test_the_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["x", "--games", "3", "--json"])
    clock.main()
    rows = json.loads(capsys.readouterr().out)["controls"]
    assert list(rows) == [name + links for name in clock.CONTROLS for links in ("", ", bad links")]
    for name, row in rows.items():
        assert row["games"] == 3 * len(clock.KINDS)
        assert row["flag falls"] == 0 or name.endswith(", bad links")
        assert 300 <= row["margin p50"] <= row["hard p99"]
        assert 50 < row["lost: of free"] <= 100
    monkeypatch.setattr(sys, "argv", ["x", "--games", "1"])
    clock.main()
    assert "floodgate" in capsys.readouterr().out
