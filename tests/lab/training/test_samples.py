"""Positions of teacher games for comparing networks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lab.selfplay.positions import walk
from lab.selfplay.shard import read_shard
from lab.training import compare as samples
from lab.training.compare import random_samples, teacher_samples
from lab.training.corpus import is_for_validation, shard_files
from tests.lab.training.shards import corpus_of, folder_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of(tmp_path_factory.mktemp("teacher") / "games", shards=3, games=24)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_the_games_held_out_are_those_that_training_validates_with(folder: Path, share: float) -> None:
    # Each game's arrays are there until the next one.
    walked = (one for path in shard_files([folder]) for one in walk(read_shard(path)))
    quiet = sum(int(np.count_nonzero(one.quiet)) for one in walked if is_for_validation(one.game, share))
    assert quiet == sum(source.validation for source in corpus_of(folder, share).sources)


def test_positions_of_games_held_out_come_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "HELD_OUT", 0.3)
    files = shard_files([folder])
    many = teacher_samples(files, 100_000)
    held_out = [one for one in many if one.is_held_out]
    assert 0 < len(held_out) < len(many) and many[: len(held_out)] == held_out
    few = teacher_samples(files, 10)
    assert len(few) == 10 and all(one.is_held_out for one in few)
    assert len({one.where.partition(", move")[0] for one in few}) > 1
    more = teacher_samples(files, len(held_out) + 5)
    assert [one.is_held_out for one in more] == [True] * len(held_out) + [False] * 5


def test_a_sample_has_the_move_the_ply_and_the_points_of_its_game(folder: Path) -> None:
    for one in teacher_samples(shard_files([folder]), 40):
        position = one.position()
        assert position.sfen() == one.sfen and one.move in position.legal_moves()
        assert one.where.endswith(f", move {one.ply}") and one.points in (0.0, 0.5, 1.0)


def test_random_samples_have_no_game() -> None:
    found = random_samples(20)
    assert len({one.sfen for one in found}) == 20
    assert all(one.move == 0 and one.points is None and not one.is_held_out for one in found)
