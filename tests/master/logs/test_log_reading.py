"""A log in parts is read: while it is cut, behind a crash, and with parts that are damaged or gone."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from master.logs.files import Place, read_lines
from tests.master.logs.written import NAME, Written, names, no_gap, numbers


@pytest.mark.parametrize("at_once", [1, 7, 30, 60])
def test_it_is_read_while_it_is_cut(tmp_path: Path, at_once: int) -> None:
    """``at_once``: so many lines are written for each that is read; a part takes 19."""
    log = Written(tmp_path, part_bytes=2_000)
    log.lines(range(5))
    read: list[int] = []
    for _, _, line in read_lines(log.path, no_gap):
        read.append(json.loads(line)["number"])
        if len(read) <= 120 // at_once:
            log.lines(range(5 + at_once * (len(read) - 1), 5 + at_once * len(read)))
    assert read == list(range(5 + 120 // at_once * at_once))


def test_a_reader_that_comes_again_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, place, read = Written(tmp_path, part_bytes=2_000), Place(), list[str]()
    for number in range(0, 120, 8):
        log.lines(range(number, number + 8))
        read.append(next(read_lines(log.path, no_gap, place))[2])  # and stops in the middle
        read += [line for _, _, line in read_lines(log.path, no_gap, place)]
    assert [json.loads(line)["number"] for line in read] == list(range(120))
    log.lines(range(120, 122))
    monkeypatch.setattr(gzip, "GzipFile", lambda file: pytest.fail(f"{file} was read before"))
    assert [json.loads(line)["number"] for _, _, line in read_lines(log.path, no_gap, place)] == [120, 121]


def test_a_reader_that_comes_again_goes_on_within_a_part_behind_missing_ones(tmp_path: Path) -> None:
    log = Written(tmp_path, part_bytes=2_000)
    log.lines(range(100))
    for part in (1, 3):
        (tmp_path / f"{NAME}.000{part}.jsonl.gz").unlink()
    gaps: list[str] = []
    whole = numbers(log.path, gaps.append)
    place, told = Place(), list[str]()
    read = [json.loads(next(read_lines(log.path, told.append, place))[2])["number"] for _ in whole]
    assert read == whole and 0 < len(whole) < 70
    assert told == gaps and len(gaps) == 1


@pytest.mark.parametrize("moment", ["before the open", "behind the open"])
def test_it_is_cut_as_a_file_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    log = Written(tmp_path, part_bytes=2_000)
    log.lines(range(15))
    opened = Path.open

    def open_(path: Path, mode: str) -> object:
        monkeypatch.undo()
        if moment == "before the open":
            log.lines(range(15, 50))
        file = opened(path, mode)
        if moment == "behind the open":
            log.lines(range(15, 50))
        return file

    monkeypatch.setattr(Path, "open", open_)
    assert numbers(log.path) == list(range(50))


def test_a_part_is_packed_as_it_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Written(tmp_path, part_bytes=2_000)
    log.file.stop_packing()
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


def test_what_a_crash_leaves_is_read_once(tmp_path: Path) -> None:
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
def test_behind_a_damaged_part_it_goes_on(tmp_path: Path, damage: str) -> None:
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
    assert gaps == [f"{part}: damaged or cut short behind line {len(held) - lost}"]


def test_a_part_that_is_gone_is_told(tmp_path: Path) -> None:
    log = Written(tmp_path, part_bytes=2_000)
    log.lines(range(100))
    for number in (1, 3):
        (tmp_path / f"{NAME}.000{number}.jsonl.gz").unlink()
    gaps: list[str] = []
    assert len(numbers(log.path, gaps.append)) == 100 - 2 * 19
    assert gaps == [f"{tmp_path / NAME}.0004.jsonl.gz: the parts before it are missing"]  # the oldest may be deleted


def test_a_part_that_goes_while_it_is_read_is_told(tmp_path: Path) -> None:
    log = Written(tmp_path, part_bytes=2_000)
    log.lines(range(5))
    gaps: list[str] = []
    lines = read_lines(log.path, gaps.append)
    read = [json.loads(next(lines)[2])["number"] for _ in range(5)]
    log.lines(range(5, 50))
    (tmp_path / f"{NAME}.0001.jsonl.gz").unlink()
    read += [json.loads(line)["number"] for _, _, line in lines]
    assert read == list(range(50))  # of the first all was read, which cannot be known
    assert gaps == [f"{tmp_path / NAME}.0002.jsonl.gz: the parts before it are missing"]
