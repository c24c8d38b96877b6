"""The correction of the scores by the results: it finds an error that is in all scores, and only that."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lab.selfplay.walk import RECORD_DTYPE
from lab.training.corpus import Corpus, Replayer, Split
from lab.training.features import row_tables
from lab.training.network.debias import piece_corrections
from lab.training.replay import TRAINING
from tests.lab.selfplay.games import made
from tests.lab.training.shards import corpus_of, folder_of
from worker.nnue.features import K_P, hand_number
from worker.shogi.pieces import ROOK

SCALE = 700.0
TABLES = row_tables(K_P)
OWN_ROOK = hand_number(K_P, 0, 0, ROOK)


@pytest.fixture(scope="module")
def records() -> np.ndarray:
    """Positions of games, whose scores and results are then replaced."""
    parts = [Replayer(Split(1e-15, every=True)).records(made(number, games=40), TRAINING) for number in range(4)]
    return np.concatenate(parts)


def with_results(records: np.ndarray, worth: float) -> np.ndarray:
    """Random scores; results as if a rook in the own hand were worth so many centipawns more than the scores say."""
    rng = np.random.default_rng(1)
    found = np.repeat(records, 8)
    found["score"] = rng.integers(-900, 900, len(found))
    mine = (found["pieces"] == OWN_ROOK).any(1).astype(float)
    theirs = (TABLES.flip[found["pieces"]] == OWN_ROOK).any(1)
    true = found["score"] + worth * (mine - theirs)
    found["result"] = np.where(rng.random(len(found)) < 1 / (1 + np.exp(-true / SCALE)), 1, -1)
    return found


def corrections(records: np.ndarray, table: np.ndarray) -> np.ndarray:
    values: np.ndarray = table[records["pieces"]].sum(1) - table[TABLES.flip[records["pieces"]]].sum(1)
    return values


def test_it_finds_what_all_scores_misjudge(records: np.ndarray) -> None:
    found = with_results(records, 600.0)
    table = piece_corrections([found[::2], found[1::2]], TABLES, SCALE)
    assert table is not None and table.shape == (K_P.dimensions,) and int(np.argmax(table)) == OWN_ROOK
    mine = (found["pieces"] == OWN_ROOK).any(1) & ~(TABLES.flip[found["pieces"]] == OWN_ROOK).any(1)
    assert mine.sum() > 100
    with_rook, others = corrections(found, table)[mine].mean(), corrections(found, table)[~mine].mean()
    assert 250 < with_rook < 700 and abs(others) < 150


def test_right_scores_stay_nearly_as_they_are(records: np.ndarray) -> None:
    found = with_results(records, 0.0)
    table = piece_corrections([found], TABLES, SCALE)
    assert table is not None and np.abs(corrections(found, table)).mean() < 60


def test_scores_that_say_nothing_of_the_results_are_refused(records: np.ndarray) -> None:
    found = with_results(records, 0.0)
    found["result"] = np.where(np.arange(len(found)) % 2, 1, -1)
    assert piece_corrections([found], TABLES, SCALE) is None


def test_a_corpus_corrects_the_scores_of_both_parts_and_keeps_the_table(tmp_path: Path) -> None:
    plain = corpus_of(folder_of(tmp_path))
    table = np.zeros(K_P.dimensions, np.float32)
    table[OWN_ROOK] = 100.0
    changed = corpus_of(tmp_path)
    changed.correction = table
    again = Corpus.from_json(changed.to_json(), changed.split)
    for before, after in (
        (plain.validation_records(10**6), again.validation_records(10**6)),
        (np.concatenate(plain.sample(10**6)), np.concatenate(again.sample(10**6))),
    ):
        assert before.dtype == RECORD_DTYPE and (before["pieces"] == after["pieces"]).all()
        expected = before["score"] + corrections(before, table)
        assert (after["score"] == expected).all() and (after["score"] != before["score"]).any()
