"""Folders of tiny shards for tests of the trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lab.selfplay.shard import tree_to_bytes
from lab.selfplay.teacher import Teacher
from lab.training.corpus import Corpus, Split, shard_files
from tests.lab.selfplay.games import made, tiny
from worker.nnue import default_network


def folder_of(path: Path, shards: int = 3, games: int = 12) -> Path:
    """A folder as ``gougi selfplay`` makes it, except for its settings."""
    path.mkdir(parents=True, exist_ok=True)
    for number in range(shards):
        (path / f"shard-{number:06}.games").write_bytes(made(number, games=games).to_bytes())
    return path


def tree_folder_of(path: Path, shards: int = 3, games: int = 6) -> Path:
    """The same with positions of the searches' trees."""
    path.mkdir(parents=True, exist_ok=True)
    teacher = Teacher(default_network(), "net", tiny(games=games, nodes=200, tree_depth=2, max_moves=30))
    for number in range(shards):
        parts: list[npt.NDArray[np.void]] = []
        shard = teacher.make_shard(number, on_tree=parts.append)
        (path / f"shard-{number:06}.games").write_bytes(shard.to_bytes())
        (path / f"shard-{number:06}.tree").write_bytes(tree_to_bytes(shard.header, np.concatenate(parts)))
    return path


def corpus_of(path: Path, validation: float = 0.2, *, every: bool = False, **more: Any) -> Corpus:
    split = Split(validation, every=every, **more)
    return Corpus.index(shard_files([path], split.use), split)
