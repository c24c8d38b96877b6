"""A run: the choice of its pairs, lost pairs, and its status."""

from __future__ import annotations

import pytest

from lab.tuning.report import facts, sampled, sparkline
from lab.tuning.state import GamePair, GameSettings, TuneSettings, TuningError, TuningRun
from tests.lab.tuning.runs import OPENINGS, played, settings


def finish(run: TuningRun) -> TuningRun:
    """Play the rest, some pairs at a time."""
    begun: list[GamePair] = []
    while not run.finished:
        while len(begun) < 3 and (pair := run.take_pair()) is not None:
            begun.append(pair)
        run.take(played(begun.pop(0)))
    assert not begun and run.take_pair() is None
    return run


def test_every_pair_is_begun_once_and_openings_are_played_in_turn() -> None:
    run = TuningRun(settings(lag=3), OPENINGS)
    pairs = [pair for pair in (run.take_pair() for _ in range(4)) if pair]
    assert [pair.iteration for pair in pairs] == [0, 1, 2]  # three at a time
    assert [pair.opening for pair in pairs] == [OPENINGS[0], OPENINGS[1], OPENINGS[0]]


def test_pairs_take_the_networks_in_turn_and_an_opening_gets_each_of_them() -> None:
    run = TuningRun(settings(12, GameSettings(("0" * 64, "1" * 64), nodes=100), lag=12), OPENINGS)
    pairs = [run.game_pair(k) for k in range(12)]
    assert [pair.network for pair in pairs[:4]] == [0, 1, 1, 0]
    assert {(pair.opening, pair.network) for pair in pairs} == {(one, net) for one in OPENINGS for net in (0, 1)}


def test_a_lost_pair_is_begun_again_and_is_the_same() -> None:
    run = TuningRun(settings(), OPENINGS)
    first, _ = run.take_pair(), run.take_pair()
    assert first is not None
    run.give_back(first.iteration)
    assert run.take_pair() == first


def test_settings_are_read_again() -> None:
    wanted = settings(seed=7)
    assert TuneSettings.from_json(wanted.to_json()) == wanted
    with pytest.raises(TuningError, match="no settings of gougi tune"):
        TuneSettings.from_json({"spsa": 1})


def test_it_stands_as_plain_values() -> None:
    run = finish(TuningRun(settings(30), OPENINGS))
    found = facts(run)
    assert (found["taken"], found["games"], found["finished"]) == (30, 60, True)
    row = found["parameters"][1]
    assert row["name"] == "NULL_BASE"
    assert row["change"] == pytest.approx(run.spsa.theta[1] - 502, abs=0.01) != 0
    assert run.vector() == {"LATE_MOVES": round(run.spsa.theta[0]), "NULL_BASE": round(run.spsa.theta[1])}


def test_a_sparkline_shows_the_whole_path_and_makes_little_of_little() -> None:
    assert sparkline([0, 1, 2, 3], 1) == "▁▃▆█"
    assert sparkline([5, 5.2], 10) in ("▄▅", "▅▅")
    run = finish(TuningRun(settings(30), OPENINGS))
    values = sampled(run, 0, 7)
    assert len(values) == 7 and (values[0], values[-1]) == (3.0, run.spsa.theta[0])
