"""Which positions are taken, and what a choice loses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.choices import Chooser, judge, losses, positions_of
from cluster.engine_spec import EngineSpec
from worker.shogi import STARTPOS


def test_positions_come_from_the_middle_of_games(tmp_path: Path) -> None:
    moves = [f"m{ply}" for ply in range(30)]
    (tmp_path / "openings.txt").write_text("sfen first\nsfen second\n")
    games = [{"pair": pair, "moves": " ".join(moves)} for pair in (0, 1, 1)]
    (tmp_path / "games.jsonl").write_text("".join(json.dumps(game) + "\n" for game in games))
    found = positions_of(tmp_path, 100, seed=1)
    assert len(found) == 2 * 10
    assert {sfen for sfen, _ in found} == {"first", "second"}
    assert {len(played) for _, played in found} == set(range(8, 18))
    assert positions_of(tmp_path, 5, seed=1) == positions_of(tmp_path, 5, seed=1) != positions_of(tmp_path, 5, seed=2)


def test_losses_are_those_of_positions_that_are_open() -> None:
    judged = [{"a": 0, "b": -300}, {"a": 100}, {"a": 2000, "b": 0}, {"a": 50}]
    assert losses(["b", "a", "b", "resign"], judged) == pytest.approx([0.5 - 0.2689, 0], abs=1e-4)


def test_a_move_is_chosen_and_judged() -> None:
    spec = EngineSpec(hash_mb=1)
    mated_soon = ("4k4/9/4P4/9/9/9/9/9/4K4 b G 1", ())
    chosen = Chooser("consult:majority", 2, 500).choose(spec, [mated_soon, (STARTPOS, ("7g7f",))])
    assert chosen[0] == "G*5b"
    scores = judge(spec, 500, (mated_soon, ("5i4i", "G*5b")))
    assert scores["G*5b"] > 30_000 > scores["5i4i"]
    assert judge(spec, 500, (mated_soon, ("5i4i",))) == {"5i4i": 0}
