"""The correction of the scores by later ones: it finds an error that is in all scores, and only that."""

from __future__ import annotations

from dataclasses import replace
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


def later_on(records: np.ndarray, worth: float) -> tuple[np.ndarray, np.ndarray]:
    """Random scores, and later ones, as if a rook in the own hand were worth so many centipawns more."""
    rng = np.random.default_rng(1)
    now = np.repeat(records, 8)
    now["score"] = rng.integers(-900, 900, len(now))
    mine = (now["pieces"] == OWN_ROOK).any(1).astype(float)
    theirs = (TABLES.flip[now["pieces"]] == OWN_ROOK).any(1)
    later = now.copy()
    later["score"] = now["score"] + worth * (mine - theirs) + rng.normal(0, 700, len(now))
    return now, later


def corrections(records: np.ndarray, table: np.ndarray) -> np.ndarray:
    values: np.ndarray = table[records["pieces"]].sum(1) - table[TABLES.flip[records["pieces"]]].sum(1)
    return values


def test_it_finds_what_all_scores_misjudge(records: np.ndarray) -> None:
    now, later = later_on(records, 600.0)
    table = piece_corrections([(now[::2], later[::2]), (now[1::2], later[1::2])], TABLES, SCALE, len(now))
    assert table.shape == (K_P.dimensions,) and int(np.argmax(table)) == OWN_ROOK
    mine = (now["pieces"] == OWN_ROOK).any(1) & ~(TABLES.flip[now["pieces"]] == OWN_ROOK).any(1)
    assert mine.sum() > 100
    with_rook, others = corrections(now, table)[mine].mean(), corrections(now, table)[~mine].mean()
    assert 250 < with_rook < 700 and abs(others) < 150


def test_right_scores_stay_nearly_as_they_are(records: np.ndarray) -> None:
    pair = later_on(records, 0.0)
    assert np.abs(corrections(pair[0], piece_corrections([pair], TABLES, SCALE, len(pair[0])))).mean() < 60


def test_few_positions_change_little(records: np.ndarray) -> None:
    pair = later_on(records[:10], 600.0)
    few, many = (np.abs(piece_corrections([pair], TABLES, SCALE, count)).max() for count in (len(pair[0]), 10**6))
    assert few < 60 < many


def test_a_corpus_corrects_the_scores_of_each_network_by_its_own_table(tmp_path: Path) -> None:
    plain = corpus_of(folder_of(tmp_path))
    plain.sources = (*plain.sources[:2], replace(plain.sources[2], net="another"))
    table = np.zeros(K_P.dimensions, np.float32)
    table[OWN_ROOK] = 100.0
    changed = Corpus(plain.sources, plain.split, plain.scale, {plain.sources[0].net: table})
    again = Corpus.from_json(changed.to_json(), changed.split)
    for number, (before, after) in enumerate(zip(plain.sample(10**6), again.sample(10**6), strict=True)):
        assert before.dtype == RECORD_DTYPE and (before["pieces"] == after["pieces"]).all()
        expected = before["score"] + (corrections(before, table) if number < 2 else 0)
        assert (after["score"] == expected).all() and (after["score"] != before["score"]).any() == (number < 2)
    before, after = (one.validation_records(10**6) for one in (plain, again))
    assert (before["score"] != after["score"]).any()


def test_the_games_of_one_network_with_another_look_ahead(tmp_path: Path) -> None:
    corpus = corpus_of(folder_of(tmp_path))
    corpus.scale = SCALE
    corpus.sources = (*corpus.sources[:2], replace(corpus.sources[2], net="another"))
    now, later = (corpus.of_network("another", horizon).sample(10**6) for horizon in (0.0, 32.0))
    assert len(now) == len(later) == 1 and (now[0]["pieces"] == later[0]["pieces"]).all()
    assert (now[0]["score"] != later[0]["score"]).any() and (now[0]["result"] == later[0]["result"]).all()
