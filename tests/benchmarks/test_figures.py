"""Percentiles, and the table."""

from __future__ import annotations

import pytest

from benchmarks.figures import Figures, machine, show


def test_percentiles() -> None:
    figures = Figures([float(number) for number in range(100, 0, -1)])
    facts = figures.facts()
    assert (facts["n"], facts["mean"], facts["p50"], facts["p99"], facts["worst"]) == (100, 50.5, 51, 100, 100)
    assert Figures([3.0]).facts()["p99"] == 3
    with pytest.raises(IndexError):
        Figures().percentile(50)


def test_the_table_says_what_the_machine_was_doing(capsys: pytest.CaptureFixture[str]) -> None:
    show("ms", {"2 nodes": {"start": Figures([1.0]), "stop": Figures([2.0])}})
    shown = capsys.readouterr().out
    assert "load" in shown
    assert "2.00" in shown
    assert machine()["cores"] >= 1
