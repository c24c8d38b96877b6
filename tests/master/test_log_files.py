"""A log in parts: cut, packed, deleted, read again, and a disk that refuses."""

from __future__ import annotations

import contextlib
import gzip
import json
import logging
import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from master.log_files import LogFile, is_log, read_lines

NAME = "gougi-20261121-101500-4711"


class Written:
    """A log file, what it told of its troubles, and a way to write to it."""

    def __init__(self, folder: Path, part_bytes: int = 0, keep: int = 0) -> None:
        self.path = folder / f"{NAME}.jsonl"
        self.told: list[tuple[str, dict[str, object]]] = []
        self.file = LogFile(self.path, part_bytes, keep, lambda event, fields: self.told.append((event, fields)))

    def lines(self, numbers: range) -> None:
        for number in numbers:
            text = json.dumps({"number": number, "text": "x" * 80})
            self.file.emit(logging.LogRecord("game", logging.INFO, "", 0, text, None, None))


def numbers(path: Path) -> list[int]:
    return [json.loads(line)["number"] for _, _, line in read_lines(path)]


@contextlib.contextmanager
def full_behind(size: int) -> Iterator[None]:
    """The kernel writes no file further than this, and half a line where that is in its middle."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_it_is_cut_packed_and_read_as_one(tmp_path: Path) -> None:
    log = Written(tmp_path, part_bytes=2_000)
    log.lines(range(100))
    log.file.close()
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == [*(f"{NAME}.000{number}.jsonl.gz" for number in range(1, 6)), f"{NAME}.jsonl"]
    assert all(is_log(name) for name in names)
    for name in (names[0], names[2], names[-1]):
        assert numbers(tmp_path / name) == list(range(100))
    with gzip.open(tmp_path / names[0], "rb") as part:
        assert 2_000 <= len(part.read()) < 2_200
    assert log.told == []


def test_what_a_crash_leaves_is_read_once(tmp_path: Path) -> None:
    log = Written(tmp_path, part_bytes=2_000)
    log.lines(range(50))
    log.file.close()
    for number, packed_too in ((1, True), (2, False)):
        packed = tmp_path / f"{NAME}.000{number}.jsonl.gz"
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        if not packed_too:
            packed.unlink()
    (tmp_path / f"{NAME}1.jsonl").write_text("another run's\n")
    assert numbers(log.path) == list(range(50))


def test_the_oldest_files_of_all_runs_are_deleted(tmp_path: Path) -> None:
    for second in range(3):
        old = tmp_path / f"gougi-20200101-00000{second}-7.jsonl"
        old.write_text("")
        os.utime(old, (0, 0))
    running = tmp_path / "gougi-20200101-000009-7.jsonl"
    for other in (running, tmp_path / "game.csa"):
        other.write_text("")
    log = Written(tmp_path, part_bytes=2_000, keep=4)
    log.lines(range(100))
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "game.csa",
        running.name,  # written just now: the fifth, which another process may write
        *(f"{NAME}.000{number}.jsonl.gz" for number in (3, 4, 5)),
        log.path.name,
    ]
    assert numbers(log.path)[-1] == 99


def test_a_full_disk_costs_lines_and_no_more(tmp_path: Path) -> None:
    log = Written(tmp_path)
    log.lines(range(3))
    with full_behind(log.path.stat().st_size + 50):
        log.lines(range(3, 8))
    log.lines(range(8, 10))
    assert numbers(log.path) == [0, 1, 2, 8, 9]
    assert [event for event, _ in log.told] == ["log_not_written", "log_lines_lost"]
    assert "File too large" in str(log.told[0][1]["error"])
    assert log.told[1][1] == {"lines": 5}


def refuse(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("call", "event", "files"),
    [("rename", "log_not_set_aside", [f"{NAME}.jsonl"]), ("unlink", "log_not_packed", None)],
)
def test_a_rotation_that_fails_costs_no_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, event: str, files: list[str] | None
) -> None:
    log = Written(tmp_path, part_bytes=2_000)
    monkeypatch.setattr(Path, call, refuse)
    log.lines(range(30))
    assert log.told[0][0] == event
    assert files is None or [file.name for file in tmp_path.iterdir()] == files
    monkeypatch.undo()
    log.lines(range(30, 60))
    assert numbers(log.path) == list(range(60))


def test_a_disk_that_packs_no_file_leaves_it_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Written(tmp_path, part_bytes=2_000)
    opened: Callable[..., object] = gzip.open

    def open_(path: Path, mode: str, **more: object) -> object:
        return refuse() if mode == "wb" else opened(path, mode, **more)

    monkeypatch.setattr(gzip, "open", open_)
    log.lines(range(30))
    monkeypatch.undo()
    assert (tmp_path / f"{NAME}.0001.jsonl").is_file()
    assert numbers(log.path) == list(range(30))
