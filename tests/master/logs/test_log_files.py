"""A log in parts: cut, packed, deleted, and a disk that refuses."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from master.logs.files import Place, is_log, read_lines
from tests.master.logs.written import NAME, Written, full_behind, names, numbers


def test_it_is_cut_packed_and_read_as_one(tmp_path: Path) -> None:
    log = Written(tmp_path, part_bytes=2_000)
    log.lines(range(100))
    log.file.close()
    files = names(tmp_path)
    assert files == [*(f"{NAME}.000{number}.jsonl.gz" for number in range(1, 6)), f"{NAME}.jsonl"]
    assert all(is_log(name) for name in files)
    for name in (files[0], files[2], files[-1]):
        assert numbers(tmp_path / name) == list(range(100))
    with gzip.open(tmp_path / files[0], "rb") as part:
        assert 2_000 <= len(part.read()) < 2_200
    assert log.told == []


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
    assert names(tmp_path) == [
        "game.csa",
        running.name,  # written just now: the fifth, which another process may write
        *(f"{NAME}.000{number}.jsonl.gz" for number in (3, 4, 5)),
        log.path.name,
    ]
    assert numbers(log.path)[-1] == 99


def test_only_what_has_exactly_our_names_is_deleted(tmp_path: Path) -> None:
    old = "gougi-20200101-000000-7"
    others = [f"{old}.jsonl.bak", f"{old}.jsonl.gz.1", f"{old}-notes.jsonl", "gougi-important.jsonl-notes.txt",
              "gougi-best.jsonl", f".{old}.jsonl", f".{old}.0001.jsonl.gz.swp", f".my-{old}.0001.jsonl.gz"]  # fmt: skip
    recent = f".{old}.0002.jsonl.gz"  # another process may be packing
    for name in (*others, recent, f"{old}.jsonl", f"{old}.0001.jsonl", f"{old}.0001.jsonl.gz", f".{old}.0001.jsonl.gz"):
        (tmp_path / name).write_text("")
        if name != recent:
            os.utime(tmp_path / name, (0, 0))
    log = Written(tmp_path, keep=1)
    assert names(tmp_path) == sorted([*others, recent, log.path.name])


def test_a_full_disk_costs_lines_and_no_more(tmp_path: Path) -> None:
    log = Written(tmp_path)
    log.lines(range(3))
    with full_behind(log.path.stat().st_size + 50):
        log.lines(range(3, 8))
    log.lines(range(8, 10))
    gaps: list[str] = []
    assert numbers(log.path, gaps.append) == [0, 1, 2, -5, 8, 9], "the log says itself where it has a gap"
    assert gaps == [f"{log.path}: 5 lines are missing before line 4: the disk did not take them"]
    assert [event for event, _ in log.told] == ["log_not_written", "log_lines_lost"]
    assert "File too large" in str(log.told[0][1]["error"])
    assert log.told[1][1] == {"lines": 5}


@pytest.mark.parametrize(("call", "kept"), [("fstat", [0, 1, 2, -3, 6, 7, 8]), ("open", [-3, 6, 7, 8])])
def test_a_disk_that_answers_with_an_error_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, kept: list[int]
) -> None:
    log = Written(tmp_path)
    log.lines(range(3))
    if call == "open":  # the file is gone besides
        log.file.stream.close()
        log.path.unlink()
        monkeypatch.setattr(log.file, "_open", refuse)
    else:
        monkeypatch.setattr(os, "fstat", refuse)
    log.lines(range(3, 6))
    monkeypatch.undo()
    log.lines(range(6, 9))
    gaps: list[str] = []
    assert numbers(log.path, gaps.append) == kept
    assert len(gaps) == 1
    assert [event for event, _ in log.told] == ["log_not_written", "log_lines_lost"]
    assert log.told[1][1] == {"lines": 3}


def test_no_line_is_written_behind_half_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Written(tmp_path)
    log.lines(range(3))
    monkeypatch.setattr(os, "truncate", refuse)
    with full_behind(log.path.stat().st_size + 50):
        log.lines(range(3, 4))
    log.lines(range(4, 6))
    assert not log.path.read_bytes().endswith(b"\n")
    monkeypatch.undo()
    log.lines(range(6, 8))
    assert numbers(log.path, lambda _: None) == [0, 1, 2, -3, 6, 7]
    assert log.told[1][1] == {"lines": 3}


def test_a_gap_is_told_once_to_who_comes_again(tmp_path: Path) -> None:
    log = Written(tmp_path)
    log.lines(range(3))
    with full_behind(log.path.stat().st_size + 50):
        log.lines(range(3, 5))
    gaps: list[str] = []
    place = Place()
    for more in range(5, 8):
        log.lines(range(more, more + 1))
        list(read_lines(log.path, gaps.append, place))
    assert len(gaps) == 1
    assert [json.loads(line).get("number") for _, _, line in read_lines(log.path, gaps.append)][3:5] == [None, 5]


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
    assert files is None or names(tmp_path) == files
    monkeypatch.undo()
    log.lines(range(30, 60))
    assert numbers(log.path) == list(range(60))


def test_a_disk_that_packs_no_file_leaves_it_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Written(tmp_path, part_bytes=2_000)
    monkeypatch.setattr(os, "fsync", refuse)
    log.lines(range(30))
    monkeypatch.undo()
    assert names(tmp_path) == [f"{NAME}.0001.jsonl", f"{NAME}.jsonl"]
    assert [event for event, _ in log.told] == ["log_not_packed"]
    assert numbers(log.path) == list(range(30))


@pytest.mark.parametrize("when", ["before", "in work"])
def test_where_it_is_waited_for_parts_are_left_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    log = Written(tmp_path, part_bytes=150_000)
    pieces: list[bytes] = []
    write = gzip.GzipFile.write

    def stopping(packed: gzip.GzipFile, piece: bytes) -> int:
        log.file.stop_packing()
        pieces.append(piece)
        return write(packed, piece)

    if when == "before":
        log.file.stop_packing()
        monkeypatch.setattr(gzip, "GzipFile", refuse)
    else:
        monkeypatch.setattr(gzip.GzipFile, "write", stopping)
    log.lines(range(4_000))
    assert names(tmp_path) == [f"{NAME}.0001.jsonl", f"{NAME}.0002.jsonl", f"{NAME}.jsonl"]
    assert numbers(log.path) == list(range(4_000))
    assert len(pieces) == (when == "in work")
    assert log.told == []
