"""The data set of votes, and what is learned from it."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.votes import data
from benchmarks.votes.data import DataSettings, Player, read_games
from benchmarks.votes.train import cases_of, choice, held_out, train
from cluster.voting.learned import FEATURES


def voter(number: int, move: str, score: int, depth: int) -> dict[str, Any]:
    history = [[1000, depth, score, move]]
    return {
        "voter": f"n{number}",
        "move": move,
        "score": score,
        "depth": depth,
        "nodes": 1000,
        "pv": move,
        "history": history,
    }


def games(number: int) -> list[dict[str, Any]]:
    """Votes of two in which the deeper voter is right, whatever the scores."""
    rng, made = random.Random(1), []
    for _ in range(number):
        scores = [rng.randint(-200, 200) for _ in range(2)]
        depths = rng.sample(range(8, 12), 2)
        ballots = [voter(i, "ab"[i - 1], scores[i - 1], depths[i - 1]) for i in (1, 2)]
        right = "ab"[depths[1] > depths[0]]
        judged = {move: 100 if move == right else 0 for move in "ab"}
        made.append({"searched": 1, "positions": [{"ply": 0, "judged": judged, "ballots": ballots}]})
    return made


def test_it_learns_whom_to_trust() -> None:
    cases = cases_of(games(60), 2, (1,))
    weights = train(cases[:40], 1e-4)
    assert [case.losses[choice(case, weights)] for case in cases[40:]] == [0.0] * 20
    assert held_out(cases, 3, 1e-4) == [0.0] * 60
    by_score = np.array([float(name == "best") for name in FEATURES])
    assert sum(case.losses[choice(case, by_score)] for case in cases) > 0


def test_a_decayed_model_is_smaller() -> None:
    cases = cases_of(games(60), 2, (1,))
    assert np.abs(train(cases, 1e-2)).sum() < np.abs(train(cases, 1e-5)).sum()


def test_subsets_of_the_voters_are_votes_of_their_own() -> None:
    ballots = [voter(1, "a", 10, 10), voter(2, "b", 20, 10), voter(3, "b", 30, 10), voter(4, "c", 30, 10)]
    judged = {"a": 300, "b": 0, "c": -300}
    found = cases_of([{"searched": 1, "positions": [{"ply": 0, "judged": judged, "ballots": ballots}]}], 4)
    assert [(case.voters, sorted(case.losses)) for case in found] == [(4, ["a", "b", "c"]), (2, ["a", "b"])]
    assert found[1].losses == pytest.approx({"a": 0, "b": 0.2311}, abs=1e-4)


def test_a_late_voter_is_not_heard() -> None:
    ballots = [voter(1, "a", 10, 10), voter(2, "b", 20, 3)]
    assert (
        cases_of([{"searched": 1, "positions": [{"ply": 0, "judged": {"a": 0, "b": 0}, "ballots": ballots}]}], 2) == []
    )


def test_a_game_is_played_and_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "_MAX_MOVES", 30)
    command = ["votes", str(tmp_path), "--nodes", "2", "--budget", "200", "--judge", "300", "--games"]
    for number in ("1", "2"):
        monkeypatch.setattr(sys, "argv", [*command, number])
        data.main()
        with (tmp_path / "games.jsonl").open("a") as file:
            file.write('{"game": 7, "cut')
    first, second = read_games(tmp_path)
    assert (first["game"], second["game"]) == (0, 1)
    again = Player(DataSettings(None, 2, 200, 300, 1)).play(1)
    assert json.loads(json.dumps(again)) == second
    for position in first["positions"] + second["positions"]:
        assert set(position["judged"]) == {ballot["move"] for ballot in position["ballots"]}
        for ballot in position["ballots"]:
            assert ballot["history"][-1][1:] == [ballot["depth"], ballot["score"], ballot["move"]]
    assert second["searched"] == second["agreed"] + second["decided"] + len(second["positions"]) > 0

    monkeypatch.setattr(sys, "argv", [*command, "2", "--seed", "2"])
    with pytest.raises(SystemExit):
        data.main()
