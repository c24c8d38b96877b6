"""Which positions are searched, how vectors are paired, and what their moves win."""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import screening
from benchmarks.screening import (
    Folder,
    Replayed,
    compared,
    design,
    directions,
    effects,
    gains,
    kept_settings,
    sides_of,
    vectors_of,
)
from master.analysis.game import GameFileError
from tests.worker.builds import OTHER
from worker.search.tunable import GROUPS, TunableError, tunable

MOVES = (
    *("7776FU", "3334FU", "2726FU", "8384FU", "2625FU", "8485FU", "6978KI", "4132KI", "2524FU", "2324FU"),
    *("2824HI", "8586FU", "8786FU", "8286HI", "2434HI", "2233KA", "5958OU", "5152OU", "3736FU", "8676HI"),
)


def record(far_ahead: int | None = None) -> str:
    """A match's record; at move ``far_ahead`` the player saw itself far ahead."""
    lines = ["V3.0", "N+one", "N-two", "PI", "+"]
    for number, move in enumerate(MOVES):
        score = 1500 if number == far_ahead else 20 * number
        lines += [("+-"[number % 2]) + move, "T0.1", f"'** {score} #20000"]
    return "\n".join((*lines, "%TORYO", ""))


def match_of(folder: Path, *games: str) -> Path:
    """A match's folder with these records."""
    (folder / "records").mkdir(parents=True)
    for number, text in enumerate(games, start=1):
        (folder / "records" / f"game-{number:04}.csa").write_text(text)
    return folder


def test_both_sides_of_a_game_are_searched_where_nobody_is_far_ahead(tmp_path: Path) -> None:
    black, white = sides_of(match_of(tmp_path / "match", record(far_ahead=4)))
    assert (black.name, white.name) == ("game-0001 black", "game-0001 white")
    assert black.plies == (0, 2, 6, 8, 10, 12, 14, 16, 18) and white.plies == tuple(range(1, 20, 2))
    assert black.moves[:2] == ("7g7f", "3c3d")
    with pytest.raises(GameFileError, match="expected a folder of gougi match"):
        sides_of(tmp_path)


def test_directions_are_parameters_groups_and_parameters_that_move_together() -> None:
    assert [way.name for way in directions(["order"], 1)] == list(GROUPS["order"])
    (way,) = directions(["RAZOR_BASE+REVERSE_SLOPE"], 2)
    both = [tunable(name) for name in ("RAZOR_BASE", "REVERSE_SLOPE")]
    assert way.up == {one.name: round(one.start + 2 * one.step) for one in both}
    assert way.down == {one.name: round(one.start - 2 * one.step) for one in both}
    with pytest.raises(TunableError, match="castling"):
        directions(["castling"], 1)
    with pytest.raises(TunableError, match=r"LATE_MOVES: 20 steps from 3 lead to -7 and 13"):
        directions(["LATE_MOVES"], 20)


def test_each_direction_is_up_as_often_with_another_as_against_it() -> None:
    signs = design(10)
    assert signs.shape == (16, 10) and set(signs.ravel()) == {-1, 1}
    assert (signs.T @ signs == 16 * np.eye(10)).all() and (signs.sum(axis=0) == 0).all()
    late, razor = ways = directions(["LATE_MOVES", "RAZOR_BASE"], 1)
    assert vectors_of(ways, np.array([1, -1])) == (late.up | razor.down, late.down | razor.up)
    assert vectors_of([compared("LATE_MOVES=7")], np.array([1])) == ({"LATE_MOVES": 7}, {"LATE_MOVES": 3})
    with pytest.raises(TunableError, match="GRAIN"):
        compared("GRAIN=1")


def test_effects_come_out_of_the_figures_of_the_pairs() -> None:
    signs = design(3)
    true = np.array([0.004, -0.001, 0.0])
    found = {effect.name: effect.gain for effect in effects(["a", "b", "c"], signs, 2 * signs @ true)}
    assert list(found) == ["a", "b", "c"] and list(found.values()) == pytest.approx(true)
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.002, (400, 4))
    errors = [effects(["a", "b", "c"], signs, 2 * signs @ true + row)[0].error for row in noise]
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(0.002 / (2 * math.sqrt(4)), rel=0.1)
    few = [effects(["a", "b", "c", "d"], design(4), row)[0].error for row in noise]
    assert np.sqrt(np.mean(np.square(few))) == pytest.approx(0.002 / (2 * math.sqrt(4)), rel=0.1)


def test_results_of_another_match_network_or_search_are_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    side = Replayed("game-0001 black", "", ("7g7f",) * 6, (0, 2, 4))

    def kept(run: str, net: Path, sides: int = 1) -> dict[str, object]:
        words = {"params": "", "vector": "LATE_MOVES=4", "steps": 2.5, "nodes": 1, "judge": 1, "share": 1.0, "seed": 1}
        return kept_settings(argparse.Namespace(run=tmp_path / run, net=str(net), **words), [side] * sides)

    net = tmp_path / "nn.bin"
    net.write_bytes(b"one")
    first = kept("a", net)
    assert kept("a", net) == first != kept("b", net)
    assert kept("a", net, 2) != first, "the match has grown"
    with monkeypatch.context() as patch:
        patch.setattr(screening, "sources", lambda: "another search")
        assert kept("a", net) != first
    net.write_bytes(b"other")
    assert kept("a", net) != first


def test_a_pair_wins_what_its_first_moves_are_worth_more() -> None:
    side = Replayed("game-0001 black", "", ("7g7f",) * 6, (0, 2, 4))
    judged = {side.key(0): {"a": 400, "b": 0}, side.key(2): {"a": 0}}
    found = gains([side], [["a", "a", "c"]], [["b", "b", "c"]], judged)
    assert found == pytest.approx([1 / (1 + math.exp(-1)) - 0.5, 0, 0])


def test_a_folder_keeps_what_is_known_and_refuses_other_settings(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "out", {"nodes": 5})
    folder.note_scores("game-0001 black 4", {"7g7f": 10})
    folder.note_scores("game-0001 black 4", {"2g2f": -3})
    folder.note_figure(0.25, 0.5)
    again = Folder(tmp_path / "out", {"nodes": 5})
    assert again.judged == {"game-0001 black 4": {"7g7f": 10, "2g2f": -3}} and again.figures == [(0.25, 0.5)]
    with pytest.raises(ValueError, match="results of other settings"):
        Folder(tmp_path / "out", {"nodes": 6})


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_command_searches_judges_and_goes_on(tmp_path: Path) -> None:
    match = match_of(tmp_path / "match", record())
    command = [sys.executable, "-m", "benchmarks.screening", str(match), "--params", "LATE_MOVES,CAPTURE_VALUE"]
    command += ["--nodes", "300", "--judge", "600", "--share", "1", "--concurrency", "1", "--out", "out"]

    def run(*words: str) -> list[str]:
        environment = {**os.environ, **OTHER, "PYTHONPATH": str(Path.cwd())}
        done = subprocess.run(
            [*command, *words], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    run("--pairs", "1")
    assert len((tmp_path / "out" / "pairs.jsonl").read_text().splitlines()) == 1
    _, *rows = run()
    assert sorted(row.split()[0] for row in rows) == ["CAPTURE_VALUE", "LATE_MOVES"]
    figures = [json.loads(line) for line in (tmp_path / "out" / "pairs.jsonl").read_text().splitlines()]
    assert len(figures) == 4 and all(abs(figure) < 1 for figure, _ in figures) and any(error for _, error in figures)
