"""Folders of tiny shards for tests of the trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lab.training.corpus import Corpus, Split, shard_files
from tests.lab.selfplay.games import made


def folder_of(path: Path, shards: int = 3, games: int = 12) -> Path:
    """A folder as ``gougi selfplay`` makes it, except for its settings."""
    path.mkdir(parents=True, exist_ok=True)
    for number in range(shards):
        (path / f"shard-{number:06}.games").write_bytes(made(number, games=games).to_bytes())
    return path


def corpus_of(path: Path, validation: float = 0.2, *, every: bool = False, **more: Any) -> Corpus:
    return Corpus.index(shard_files([path]), Split(validation, every=every, **more))
