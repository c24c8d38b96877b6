"""The common file format of positions (PackedSfenValue): read as rsshogi writes it, trained on, and recognised."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rsshogi.numpy as theirs
from rsshogi.core import Board

from lab.selfplay.walk import QUIET_SCORE
from lab.training import psv
from lab.training.corpus import Corpus, CorpusError, Replayer, Split, shard_files
from lab.training.psv import PSV_DTYPE, Block, PsvError, blocks, sample
from lab.training.replay import TRAINING, VALIDATION
from worker.nnue.reference import piece_list
from worker.shogi import Position, move_to_usi

COUNT = 1500
SMALL = 150
Told = list[tuple[Position, str, int, int]]
"""Position, move, score and result of each entry."""


@cache
def told() -> Told:
    """Positions of random games."""
    rng = random.Random(1)
    found: Told = []
    while len(found) < COUNT:
        position, result = Position.startpos(), rng.choice((1, 0, -1))
        for _ in range(rng.randrange(20, 120)):
            moves = position.legal_moves()
            if not moves or len(found) == COUNT:
                break
            move = rng.choice(moves)
            score = rng.choice((rng.randrange(-300, 300), rng.randrange(-300, 300), 5999, 6000, -32000))
            found.append((position.copy(), move_to_usi(move), score, result if position.turn == 0 else -result))
            position.push(move)
    return found


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as rsshogi packs them, with results in the usual encoding."""
    entries = np.zeros(COUNT, PSV_DTYPE)
    for entry, (position, move, score, result) in zip(entries, told(), strict=True):
        board = Board(position.sfen())
        written = np.frombuffer(board.to_psv(move, score=score, game_ply=position.move_number), PSV_DTYPE)[0]
        for name in ("sfen", "score", "move", "ply"):
            entry[name] = written[name]
        entry["result"] = result
    path = tmp_path_factory.mktemp("psv") / "teacher.psv"
    entries.tofile(path)
    return path


def quiet(position: Position, move: str, score: int) -> bool:
    target = (int(move[2]) - 1) * 9 + "abcdefghi".index(move[3])
    captures = "*" not in move and position.piece_on(target) != 0
    return not (position.in_check() or captures or move.endswith("+") or abs(score) >= QUIET_SCORE)


def test_a_sample_has_different_positions_of_the_file(file: Path, tmp_path: Path) -> None:
    known = {position.sfen() for position, *_ in told()[:SMALL]}
    small = tmp_path / "small.psv"
    small.write_bytes(file.read_bytes()[: SMALL * PSV_DTYPE.itemsize])
    found = sample(small, 50, 1)
    assert len(set(found)) == 50
    assert set(found) <= known
    assert sample(small, 20, 1) == found[:20], "more games continue with the same settings"
    assert sample(small, 50, 2) != found
    everything = sample(small, 10 * SMALL, 1)
    playable = {sfen for sfen in known if not Position.from_sfen(sfen).is_mated()}
    assert set(everything) <= playable and len(everything) > 0.9 * len({Position.from_sfen(s).key for s in playable})


def test_entries_that_are_no_sample(file: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.psv"
    cut.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(PsvError, match="59,999 bytes: a PSV file has 40 for each position"):
        sample(cut, 10, 1)
    rubbish = tmp_path / "rubbish.psv"
    rubbish.write_bytes(bytes(range(40)) * 2000)
    with pytest.raises(PsvError, match="1000 of 1000 entries are no positions of 40 pieces"):
        sample(rubbish, 500, 1)
    empty = tmp_path / "empty.psv"
    empty.write_bytes(b"")
    with pytest.raises(PsvError, match="0 bytes"):
        sample(empty, 500, 1)


def test_the_layout_is_the_fields() -> None:
    field = np.dtype(theirs.PackedSfenValue)
    assert [field.fields[name][:2] for name in field.names] == [PSV_DTYPE.fields[n][:2] for n in PSV_DTYPE.names]  # type: ignore[index,union-attr]


def test_every_quiet_position_is_there_once(file: Path) -> None:
    replayer = Replayer(Split(0.3))
    block = Block(file, 0)
    parts = [replayer.psv_records(block, part) for part in (TRAINING, VALIDATION)]
    assert all(len(part) > COUNT // 20 for part in parts)
    found: Iterator[Any] = iter(np.concatenate(parts))
    by_part: dict[int, list[Any]] = {0: [], 1: []}
    below = replayer._below
    for number, entry in enumerate(told()):
        if quiet(*entry[:3]):
            by_part[int(psv._is_validation(number, below))].append(entry)
    for position, _, score, result in by_part[TRAINING] + by_part[VALIDATION]:
        record = next(found)
        expected = piece_list(position.turn, position.record.board, [position.hand(0), position.hand(1)])
        assert sorted(record["pieces"].tolist()) == sorted(expected.tolist())
        assert (record["score"], record["result"], record["turn"]) == (score, result, position.turn)
    assert next(found, None) is None


def test_a_block_begins_anywhere(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size of a block changes only the sources; each is recognised again."""
    split = Split(0.3)
    whole = Corpus.index(shard_files([file]), split)
    scores = sorted(whole.validation_records(10**6)["score"])
    monkeypatch.setattr(psv, "BLOCK", 500)
    assert list(blocks(file)) == [0, 500, 1000]
    parts = Corpus.index(shard_files([file.parent]), split)
    assert [source.first for source in parts.sources] == [0, 500, 1000]
    assert (parts.training, parts.validation) == (whole.training, whole.validation)
    assert sorted(parts.validation_records(10**6)["score"]) == scores
    again = Corpus.from_json(parts.to_json(), split)
    assert (again.validation_records(10**6) == parts.validation_records(10**6)).all()


def test_another_file_in_its_place(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "one.psv"
    path.write_bytes(file.read_bytes())
    corpus = Corpus.index(shard_files([path]), Split(0.3))
    path.write_bytes(file.read_bytes()[40:])
    with pytest.raises(CorpusError, match=r"one\.psv: other positions than those"):
        corpus.validation_records(10)


def test_files_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "cut.psv"
    path.write_bytes(bytes(41))
    with pytest.raises(PsvError, match=r"cut\.psv: 41 bytes: a PSV file has 40 for each position"):
        list(blocks(path))
    path.write_bytes(bytes(4000))
    with pytest.raises(CorpusError, match=r"cut\.psv: \d+ of 100 entries are no positions of 40 pieces, the first is"):
        Corpus.index(shard_files([path]), Split(0.3))
    with pytest.raises(CorpusError, match=r"cut\.psv: no shards of gougi selfplay$"):
        shard_files([path], psv=False)
