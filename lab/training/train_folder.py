"""The folder of a training run: settings, which shards it learns from, checkpoints, log, and the net that comes out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from lab.run_folder import RunFolder
from lab.training.corpus import Corpus, Split, shard_files
from worker.files import replace_file

CHECKPOINT: Final = "checkpoint.pt"
CHECKPOINT_BEFORE: Final = "checkpoint-before.pt"


class TrainFolderError(Exception):
    """A folder cannot be used for the command; the text says why."""


class TrainFolder(RunFolder):
    """``train.json``, ``data.json``, ``checkpoint.pt`` and the one before, ``log.jsonl``, ``loss.svg``, ``nn.bin``."""

    command = "gougi train"
    refused = TrainFolderError

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.settings = path / "train.json"
        self.data = path / "data.json"
        self.log = path / "log.jsonl"
        self.plot = path / "loss.svg"
        self.net = path / "nn.bin"
        self.report = path / "report.json"

    @contextmanager
    def held(self) -> Iterator[None]:
        """As `RunFolder.held`; what a process that was killed while it wrote has left is removed."""
        with super().held():
            for name in ("*.pt", "*.json", "*.jsonl", "*.svg", "*.bin"):
                for path in self.path.glob(f".{name}.*"):
                    path.unlink()
            yield

    def claim(self, wanted: Mapping[str, Any]) -> None:
        """Note the settings in a new folder, or check those of an old one.

        A folder in which nothing was learned yet is a new one: its settings, and its shards, are forgotten.

        Raises:
            TrainFolderError: it was begun with others, named; or it cannot be read.
            OSError: it cannot be written.
        """
        learned = (CHECKPOINT, CHECKPOINT_BEFORE, self.net.name, self.report.name)
        is_new = self.settings.exists() and not any((self.path / name).exists() for name in learned)
        if is_new and self.known_facts(self.settings).keys() >= wanted.keys():  # else it is somebody else's
            self.data.unlink(missing_ok=True)
            self.settings.unlink()
        self.claim_settings(self.settings, wanted)

    def corpus(
        self, folders: Sequence[Path], split: Split, on_shard: Callable[[int, int], None]
    ) -> tuple[Corpus, list[str]]:
        """The shards that the run was begun with, read for the first time where it is new, and what the user should
        know of them.

        Raises:
            TrainFolderError: what was noted cannot be read.
            CorpusError: a shard cannot be used.
            OSError: one cannot be read.
        """
        files = shard_files(folders, split.use)
        if not self.data.exists():
            corpus = Corpus.index(files, split, on_shard)
            self.keep_facts(self.data, corpus.to_json())
            return corpus, []
        try:
            corpus = Corpus.from_json(self.known_facts(self.data), split)
        except (KeyError, TypeError) as error:
            raise TrainFolderError(f"{self.data}: not readable: {error!r}") from error
        known = {str(Path(source.path).resolve()) for source in corpus.sources}
        if more := sum(str(path) not in known for path in files):
            return corpus, [f"{more} shards came later than this run: it goes on with its own {len(known)}"]
        return corpus, []

    def keep_log(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write the log: a JSON object a line. Raises OSError."""
        replace_file(self.log, "".join(json.dumps(row) + "\n" for row in rows).encode())

    def known_report(self) -> dict[str, Any] | None:
        """The report of a finished run on its net; None: the run has none yet. Raises TrainFolderError."""
        return self.known_facts(self.report) if self.report.exists() and self.net.exists() else None
