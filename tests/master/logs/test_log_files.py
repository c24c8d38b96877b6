"""The files of a log: cut, packed, deleted, and read while that happens."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from master.logs.files import Place, is_log, read_lines
from tests.master.logs.written import NAME, Written, full_behind, names, no_gap, numbers


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


def test_only_files_with_exactly_our_names_are_deleted(tmp_path: Path) -> None:
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
    assert numbers(log.path, gaps.append) == [0, 1, 2, -5, 8, 9], "the log itself reports its gaps"
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


def test_no_line_is_written_after_half_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_gap_is_reported_once_to_a_returning_reader(tmp_path: Path) -> None:
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
    ("call", "event", "files"), [("rename", "log_not_set_aside", [f"{NAME}.jsonl"]), ("unlink", "log_not_packed", None)]
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


@pytest.mark.parametrize("at_once", [1, 7, 30, 60])
def test_it_is_read_while_it_is_cut(tmp_path: Path, at_once: int) -> None:
    """``at_once``: lines written for each line that is read; a part takes 19."""
    log = Written(tmp_path, part_bytes=2_000)
    log.lines(range(5))
    read: list[int] = []
    for _, _, line in read_lines(log.path, no_gap):
        read.append(json.loads(line)["number"])
        if len(read) <= 120 // at_once:
            log.lines(range(5 + at_once * (len(read) - 1), 5 + at_once * len(read)))
    assert read == list(range(5 + 120 // at_once * at_once))


def test_a_reader_that_comes_again_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, place, read = Written(tmp_path, part_bytes=2_000), Place(), list[str]()
    for number in range(0, 120, 8):
        log.lines(range(number, number + 8))
        read.append(next(read_lines(log.path, no_gap, place))[2])  # and stops in the middle
        read += [line for _, _, line in read_lines(log.path, no_gap, place)]
    assert [json.loads(line)["number"] for line in read] == list(range(120))
    log.lines(range(120, 122))
    monkeypatch.setattr(gzip, "GzipFile", lambda file: pytest.fail(f"{file} was read before"))
    assert [json.loads(line)["number"] for _, _, line in read_lines(log.path, no_gap, place)] == [120, 121]


@pytest.mark.parametrize("moment", ["before the open", "after the open"])
def test_it_is_cut_as_a_file_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    log = Written(tmp_path, part_bytes=2_000)
    log.lines(range(15))
    opened = Path.open

    def open_(path: Path, mode: str) -> object:
        monkeypatch.undo()
        if moment == "before the open":
            log.lines(range(15, 50))
        file = opened(path, mode)
        if moment == "after the open":
            log.lines(range(15, 50))
        return file

    monkeypatch.setattr(Path, "open", open_)
    assert numbers(log.path) == list(range(50))


def test_a_part_is_packed_as_it_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Written(tmp_path, part_bytes=2_000)
    monkeypatch.setattr(log.file, "_pack", lambda _: None)
    log.lines(range(50))
    opened = Path.open

    def open_(path: Path, mode: str) -> object:
        monkeypatch.undo()
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
        return opened(path, mode)

    monkeypatch.setattr(Path, "open", open_)
    assert numbers(log.path) == list(range(50))
    assert names(tmp_path)[0] == f"{NAME}.0001.jsonl.gz"


def test_remains_of_a_crash_are_read_once(tmp_path: Path) -> None:
    log = Written(tmp_path, part_bytes=2_000)
    log.lines(range(50))
    log.file.close()
    for number, packed_too in ((1, True), (2, False)):
        packed = tmp_path / f"{NAME}.000{number}.jsonl.gz"
        whole = gzip.decompress(packed.read_bytes())
        packed.with_suffix("").write_bytes(whole[:-30] if packed_too else whole)  # only the packed one was flushed
        if not packed_too:
            packed.unlink()
    (tmp_path / f"{NAME}1.jsonl").write_text("another run's\n")
    assert numbers(log.path) == list(range(50))


@pytest.mark.parametrize("damage", ["cut", "empty", "no gzip", "unpacked"])
def test_after_a_damaged_part_it_goes_on(tmp_path: Path, damage: str) -> None:
    log = Written(tmp_path, part_bytes=2_000)
    log.lines(range(70))
    part = tmp_path / f"{NAME}.0002.jsonl.gz"
    whole = part.read_bytes()
    match damage:
        case "cut":
            part.write_bytes(whole[:-20])
        case "empty":
            part.write_bytes(b"")
        case "no gzip":
            part.write_bytes(b"nonsense")
        case "unpacked":
            part.unlink()
            part = part.with_suffix("")
            part.write_bytes(gzip.decompress(whole)[:-20])
    gaps: list[str] = []
    read = numbers(log.path, gaps.append)
    held = [json.loads(line)["number"] for line in gzip.decompress(whole).splitlines()]
    lost = len(held) - len(set(held) & set(read))
    assert lost > 0
    assert read == [number for number in range(70) if number not in held[len(held) - lost :]]
    assert gaps == [f"{part}: damaged or cut short after line {len(held) - lost}"]


def test_a_part_that_is_gone_is_told(tmp_path: Path) -> None:
    log = Written(tmp_path, part_bytes=2_000)
    log.lines(range(100))
    for number in (1, 3):
        (tmp_path / f"{NAME}.000{number}.jsonl.gz").unlink()
    gaps: list[str] = []
    assert len(numbers(log.path, gaps.append)) == 100 - 2 * 19
    assert gaps == [f"{tmp_path / NAME}.0004.jsonl.gz: the parts before it are missing"]  # the oldest may be deleted
