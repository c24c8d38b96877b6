"""The positions from which a run learns, and their order."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from lab.training import corpus as corpus_module
from lab.training.batches import START, Batch, BatchNumber, cut, training_batches
from lab.training.corpus import Corpus, CorpusError, Split, shard_files
from lab.training.features import row_tables
from lab.training.run import TrainFolder, TrainFolderError
from lab.training.tally import count_games
from lab.training.train_settings import CHECKPOINT
from tests.lab.selfplay.games import made
from tests.lab.training.shards import corpus_of, folder_of
from worker.nnue.features import K_P

TABLES = row_tables(K_P)


def first_batches(
    corpus: Corpus, count: int, first: BatchNumber = START, threads: int = 1, size: int = 50
) -> list[Batch]:
    with training_batches(corpus, TABLES, size, 7, first, threads) as batches:
        return list(islice(batches, count))


def same(one: Batch, other: Batch) -> bool:
    return (
        bool((one.own == other.own).all() and (one.enemy == other.enemy).all() and (one.scores == other.scores).all())
        and one.after == other.after
    )


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "CHUNK_SHARDS", 2)


@pytest.mark.usefixtures("small_chunks")
def test_an_epoch_has_every_training_position_once_and_the_next_another_order(tmp_path: Path) -> None:
    corpus = corpus_of(folder_of(tmp_path, shards=5))
    seen: dict[int, list[Batch]] = {0: [], 1: []}
    epoch = 0
    for batch in first_batches(corpus, 2 * (corpus.training // 50 + 10)):
        seen.setdefault(epoch, []).append(batch)
        epoch = batch.after.epoch
    every = corpus.chunk(corpus.sources, 0, 0, 0, _pool(), 1)[0]
    expected = sorted(every["score"].tolist())
    for number in (0, 1):
        scores = np.concatenate([batch.scores for batch in seen[number]])
        assert sorted(scores.tolist()) == expected
        assert len(scores) == corpus.training
    first, second = (np.concatenate([batch.scores for batch in seen[number]]) for number in (0, 1))
    assert (first != second).any()
    # Neighbours in a game, with similar scores of opposite sign, do not stay neighbours.
    assert alike_as_the_next(first) < 0.2 < 0.5 < alike_as_the_next(every["score"])


def alike_as_the_next(scores: np.ndarray) -> float:
    """Correlation between the size of a score and that of the next one."""
    sizes = np.abs(scores.astype(float))
    return float(np.corrcoef(sizes[:-1], sizes[1:])[0, 1])


def _pool():  # type: ignore[no-untyped-def]
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1)


@pytest.mark.usefixtures("small_chunks")
def test_the_order_goes_on_from_any_batch_with_any_threads(tmp_path: Path) -> None:
    corpus = corpus_of(folder_of(tmp_path, shards=5))
    whole = first_batches(corpus, corpus.training // 25)
    assert whole[-1].after.epoch >= 1
    for start in (0, 3, len(whole) // 3, len(whole) // 2, len(whole) - 4):
        first = whole[start].after
        found = first_batches(corpus, 3, first, threads=3)
        for one, other in zip(found, whole[start + 1 : start + 4], strict=True):
            assert same(one, other)


def test_batches_are_even() -> None:
    assert cut(10, 4) == [(0, 3), (3, 6), (6, 10)]
    for count, size in ((1, 4), (4, 4), (5, 4), (1000, 7)):
        parts = cut(count, size)
        assert [low for low, _ in parts] == [0] + [high for _, high in parts[:-1]]
        assert parts[-1][1] == count
        assert {high - low for low, high in parts} <= {count // len(parts), count // len(parts) + 1}
        assert max(high - low for low, high in parts) <= size


def test_validation_shares_no_game_with_training(tmp_path: Path) -> None:
    corpus = corpus_of(folder_of(tmp_path), every=True)
    assert corpus.training + corpus.validation == sum(source.positions for source in corpus.sources)
    held = corpus.validation_records(10**9)
    assert len(held) == corpus.validation
    learned, _ = corpus.chunk(corpus.sources, 0, 0, 0, _pool(), 1)
    # Positions near the opening may coincide, games do not.
    assert len({tuple(one) for one in held["pieces"]} & {tuple(one) for one in learned["pieces"]}) < 5
    few = corpus.validation_records(20)
    assert len(few) == 20


def test_the_scale_is_that_of_the_counts(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, shards=4, games=20)
    assert corpus_of(folder, validation=0.1).scale == pytest.approx(count_games(folder)["win_rate_scale"], rel=0.15)


def test_a_run_may_be_continued_from_another_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder_of(tmp_path / "games")
    run = TrainFolder(tmp_path)
    for place, name in ((tmp_path, "games"), (tmp_path / "games", "../games")):
        monkeypatch.chdir(place)
        corpus, notices = run.corpus([Path(name)], Split(0.2, False), lambda _number, _total: None)
        assert notices == []
        assert len(first_batches(corpus, 1)) == 1


def test_settings_of_a_folder_in_which_nothing_was_learned_may_change(tmp_path: Path) -> None:
    folder_of(tmp_path / "games")
    run = TrainFolder(tmp_path / "run")
    run.path.mkdir()
    run.claim({"scale": None})
    run.corpus([tmp_path / "games"], Split(0.2, False), lambda _number, _total: None)
    run.claim({"scale": 600.0})
    assert not run.data.exists(), "more games may have been added since"
    (run.path / CHECKPOINT).write_bytes(b"a checkpoint")
    with pytest.raises(TrainFolderError, match=r"scale was 600\.0 and is 700\.0"):
        run.claim({"scale": 700.0})


@pytest.mark.parametrize("name", ["train.json", "data.json"])
def test_a_file_that_is_somebody_elses_stays(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"mine": 1}')
    run = TrainFolder(tmp_path)
    with pytest.raises(TrainFolderError) if name == "train.json" else nullcontext():
        run.claim({"scale": 600.0})
    assert (tmp_path / name).read_text() == '{"mine": 1}'


def test_shards_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "games")
    corpus = corpus_of(folder)
    assert Corpus.from_json(corpus.to_json(), corpus.split).sources == corpus.sources
    path = folder / "shard-000001.games"
    whole = path.read_bytes()
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match="empty: no shards of gougi selfplay, and no PSV file"):
        shard_files([folder, tmp_path / "empty"])

    path.write_bytes(whole[:-3])
    with pytest.raises(CorpusError, match=r"shard-000001\.games: its checksum is wrong"):
        corpus_of(folder)
    with pytest.raises(CorpusError, match=r"shard-000001\.games: its checksum is wrong"):
        first_batches(corpus, 1)
    path.write_bytes(made(7, games=12).to_bytes())
    with pytest.raises(CorpusError, match=r"shard-000001\.games: other games than those"):
        first_batches(corpus, 1)
    path.unlink()
    with pytest.raises(CorpusError, match=r"shard-000001\.games: it is gone"):
        first_batches(corpus, 1)


def test_too_few_games_are_told_of(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, shards=1, games=2)
    with pytest.raises(CorpusError, match="no positions for validation in 1 shards"):
        corpus_of(folder, validation=1e-9)
    with pytest.raises(ValueError, match=r"validation is 0\.7"):
        Split(0.7, every=False)


def test_a_chunk_has_so_many_positions_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = corpus_of(folder_of(tmp_path))
    assert len(corpus.chunks(1, 0)) == 1
    monkeypatch.setattr(corpus_module, "CHUNK_POSITIONS", corpus.training // 2)
    plan = corpus.chunks(1, 0)
    assert len(plan) in (2, 3)
    assert sorted(one.path for part in plan for one in part) == [one.path for one in corpus.sources]
