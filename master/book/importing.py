"""Many records into one book: several processes read, this one adds up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from cluster.machine.side_by_side import ProcessWorkplace, side_by_side
from cluster.processors import processors
from master.book.floodgate import GameRules, Skipped
from master.book.tally import Part, Tally, count_games
from worker.book import BookError

_CHUNK: Final = 200
"""Games that a process reads at a time."""


@dataclass(slots=True)
class ImportSummary:
    """Counts of an import."""

    files: int = 0
    """Read."""
    games: int = 0
    """Taken."""
    skipped: Counter[Skipped] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    """Faults of games that are broken or empty, with file and line."""

    def add(self, part: Part) -> None:
        self.files += part.files
        self.games += part.games
        self.skipped += part.skipped
        self.faults += part.faults


def find_records(folders: Sequence[Path]) -> list[Path]:
    """The CSA files in folders and all below them, sorted; a file stands for itself.

    Raises:
        FileNotFoundError: a folder is not there.
    """
    found: list[Path] = []
    for folder in folders:
        if folder.is_file():
            found.append(folder)
        elif folder.is_dir():
            found += sorted(folder.rglob("*.csa"))
        else:
            raise FileNotFoundError(f"{folder}: no such file or folder")
    return found


def count_records(
    paths: Sequence[Path],
    rules: GameRules,
    tally: Tally,
    merge_colours: bool,
    jobs: int = 0,
    on_progress: Callable[[int], None] = lambda _: None,
) -> ImportSummary:
    """Count all games.

    Args:
        paths: CSA records.
        jobs: processes that read; 0: one for each processor. With one everything is done in this process.
        on_progress: hears how many records were read so far.

    Raises:
        BookError: a process died.
    """
    summary = ImportSummary()
    chunks = [paths[start : start + _CHUNK] for start in range(0, len(paths), _CHUNK)]
    jobs = min(jobs or processors(), len(chunks))
    parts = _in_processes(chunks, rules, merge_colours, jobs) if jobs > 1 else _here(chunks, rules, merge_colours)
    for part in parts:
        tally.add(part)
        summary.add(part)
        on_progress(summary.files)
    return summary


def _here(chunks: Sequence[Sequence[Path]], rules: GameRules, merge_colours: bool) -> Iterator[Part]:
    for chunk in chunks:
        yield count_games(chunk, rules, merge_colours)


def _in_processes(chunks: Sequence[Sequence[Path]], rules: GameRules, merge_colours: bool, jobs: int) -> Iterator[Part]:
    """The parts as they come. A process waits with its next one until this one has taken the last: memory stays small.

    Closing the iterator, or an exception in its caller (Ctrl-C), ends the processes at once.
    """
    work = partial(_count, rules, merge_colours)
    return side_by_side([ProcessWorkplace(work, _refused) for _ in range(jobs)], chunks)


def _count(rules: GameRules, merge_colours: bool, _tell: object, chunk: Sequence[Path]) -> Part:
    return count_games(chunk, rules, merge_colours)


def _refused(chunk: Sequence[Path], error: Exception) -> BookError:
    return BookError(f"{chunk[0]} and {len(chunk) - 1} more records: {error}")
