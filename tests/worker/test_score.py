"""Scores as winning chances."""

from __future__ import annotations

import pytest

from worker.score import MATE, MAX_EVAL, WIN_SCALE, winning_probability


def test_winning_probability() -> None:
    assert winning_probability(0) == 0.5
    assert winning_probability(600, 600) == pytest.approx(0.731, abs=0.001)
    assert winning_probability(round(WIN_SCALE)) == pytest.approx(0.731, abs=0.001)
    assert winning_probability(-700) == pytest.approx(1 - winning_probability(700))
    assert (winning_probability(MATE - 9), winning_probability(9 - MATE)) == (1.0, 0.0)
    assert 0 < winning_probability(-MAX_EVAL) < winning_probability(MAX_EVAL) <= 1
