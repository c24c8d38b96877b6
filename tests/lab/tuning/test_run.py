"""A run: which pairs are played, what becomes of those that are lost, and how it stands."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ElementTree

import pytest

from lab.tuning.report import facts, plot, sampled, sparkline
from lab.tuning.run import GamePair, GameSettings, PairResult, TuneSettings, TuningError, TuningRun
from tests.lab.tuning.runs import OPENINGS, played, settings


def finish(run: TuningRun, order: random.Random | None = None) -> TuningRun:
    """Play what is left, some pairs at a time."""
    begun: list[GamePair] = []
    while not run.finished:
        while len(begun) < 3 and (pair := run.take_pair()) is not None:
            begun.append(pair)
        run.take(played(begun.pop(order.randrange(len(begun)) if order else 0)))
    assert not begun and run.take_pair() is None
    return run


def test_every_pair_is_begun_once_and_openings_are_played_in_turn() -> None:
    run = TuningRun(settings(), OPENINGS)
    pairs = [run.take_pair() for _ in range(5)]
    assert [pair.name for pair in pairs if pair] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert pairs[4] is None  # two iterations at a time
    assert [pair.opening for pair in pairs if pair] == [OPENINGS[0], OPENINGS[1]] * 2
    assert pairs[0] is not None and pairs[1] is not None
    assert (pairs[0].plus, pairs[0].minus) == (pairs[1].plus, pairs[1].minus)


def test_pairs_take_the_networks_in_turn_and_an_opening_gets_each_of_them() -> None:
    run = TuningRun(settings(6, games=GameSettings(("0" * 64, "1" * 64), nodes=100), lag=6), OPENINGS)
    pairs = [run.game_pair(k, pair) for k in range(6) for pair in range(2)]
    assert [pair.network for pair in pairs[:4]] == [0, 1, 1, 0]
    assert {(pair.opening, pair.network) for pair in pairs} == {(one, net) for one in OPENINGS for net in (0, 1)}


def test_a_lost_pair_is_begun_again_and_is_the_same() -> None:
    run = TuningRun(settings(), OPENINGS)
    first, _ = run.take_pair(), run.take_pair()
    assert first is not None
    run.give_back(first.name)
    assert run.take_pair() == first


def test_the_order_of_the_results_changes_nothing() -> None:
    one = finish(TuningRun(settings(30), OPENINGS))
    for seed in range(3):
        other = finish(TuningRun(settings(30), OPENINGS), random.Random(seed))
        assert other.spsa.path == one.spsa.path
        assert (other.games, other.wins, other.losses) == (one.games, one.wins, one.losses)
    assert one.games == one.wanted == 120


def test_an_iteration_is_taken_when_all_its_pairs_are() -> None:
    run = TuningRun(settings(), OPENINGS)
    run.take(PairResult(0, 1, (1.0, 0.5)))
    assert (run.spsa.taken, run.games, run.wins, run.losses) == (0, 2, 1, 0)
    run.take(PairResult(0, 0, (1.0, 0.0)))
    assert run.spsa.taken == 1
    flip = TuningRun(settings(), OPENINGS).spsa.suggest(0).flips[1]
    one = run.settings.spsa.parameters[1]
    assert run.spsa.theta[1] == pytest.approx(one.start + flip * 1.0 * run.settings.spsa.gain(one, 0))


@pytest.mark.parametrize("name", [(0, 0), (2, 0), (0, 2), (-1, 0)])
def test_a_result_twice_or_of_no_pair_is_refused(name: tuple[int, int]) -> None:
    run = TuningRun(settings(), OPENINGS)
    run.take(PairResult(0, 0, (1.0, 1.0)))
    before = run.games
    with pytest.raises(TuningError, match=f"pair {name[1]} of iteration {name[0]}"):
        run.take(PairResult(*name, (1.0, 1.0)))
    assert run.games == before


def test_a_line_of_a_pair_is_read_again_and_others_are_not() -> None:
    one = PairResult(3, 1, (0.5, 1.0), 170, 90_000, 1.25)
    assert PairResult.from_line(one.to_line()) == one
    assert one.lead == 1.0
    for text in ("", "[]", "{}", one.to_line().replace("0.5", "0.7"), one.to_line()[:-9]):
        with pytest.raises(TuningError, match="not the line"):
            PairResult.from_line(text)


def test_settings_are_read_again_and_bad_ones_named() -> None:
    wanted = settings(seed=7)
    assert TuneSettings.from_json(wanted.to_json()) == wanted
    with pytest.raises(TuningError, match="no settings of gougi tune"):
        TuneSettings.from_json({"spsa": 1})
    with pytest.raises(TuningError, match="nodes of a move, or its time"):
        GameSettings(("",), nodes=5, movetime_ms=5)
    with pytest.raises(TuningError, match="hash is 0"):
        GameSettings(("",), hash_mb=0)
    with pytest.raises(TuningError, match="no network"):
        GameSettings(())


def test_it_stands_as_plain_values_and_as_a_plot() -> None:
    run = finish(TuningRun(settings(30), OPENINGS))
    found = facts(run)
    assert (found["taken"], found["games"], found["finished"]) == (30, 120, True)
    row = found["parameters"][1]
    assert row["name"] == "RAZOR_BASE"
    assert row["change"] == pytest.approx(run.spsa.theta[1] - 502, abs=0.01) != 0
    assert run.vector() == {"LATE_MOVES": round(run.spsa.theta[0]), "RAZOR_BASE": round(run.spsa.theta[1])}
    drawn = ElementTree.fromstring(plot(run, "a <run>"))
    lines = [part for part in drawn.iter() if part.tag.endswith("polyline")]
    assert [len(line.attrib["points"].split()) for line in lines] == [31, 31]
    assert any((part.text or "").startswith("a <run>: 30 of 30") for part in drawn.iter())
    ElementTree.fromstring(plot(TuningRun(settings(), OPENINGS), "nothing yet"))


def test_a_sparkline_shows_the_whole_path_and_makes_little_of_little() -> None:
    assert sparkline([0, 1, 2, 3], 1) == "▁▃▆█"
    assert sparkline([5, 5.2], 10) in ("▄▅", "▅▅")
    run = finish(TuningRun(settings(30), OPENINGS))
    values = sampled(run, 0, 7)
    assert len(values) == 7 and (values[0], values[-1]) == (3.0, run.spsa.theta[0])
