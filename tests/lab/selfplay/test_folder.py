"""The folder of teacher games: its content is checked before more is added."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lab.selfplay.folder import FolderError, Made, ShardTerms, TeacherFolder, shards_in
from lab.selfplay.run import make_shard
from tests.lab.selfplay.terms import NET, terms


@pytest.fixture(scope="module")
def shards() -> tuple[ShardTerms, list[Made]]:
    wanted = terms()
    return wanted, [make_shard(NET, wanted, number) for number in range(2)]


@pytest.fixture
def folder(tmp_path: Path, shards: tuple[ShardTerms, list[Made]]) -> TeacherFolder:
    """A folder with two shards."""
    folder = TeacherFolder(tmp_path / "games")
    with folder.held():
        folder.claim(shards[0])
        for made in shards[1]:
            folder.keep(made)
    return folder


def test_the_shards_of_a_folder_are_counted(folder: TeacherFolder, shards: tuple[ShardTerms, list[Made]]) -> None:
    known, notices = folder.known(shards[0], 5)
    assert [(header["shard"], header["positions"]) for header in known] == [
        (made.number, made.positions) for made in shards[1]
    ]
    assert notices == []
    assert [header["shard"] for header in folder.known(shards[0], 1)[0]] == [0]
    assert [shard.to_bytes() for shard in shards_in(folder.path)] == [made.data for made in shards[1]]


def test_a_damaged_shard_is_named_and_made_again(folder: TeacherFolder, shards: tuple[ShardTerms, list[Made]]) -> None:
    path = folder.shard_path(1)
    path.write_bytes(path.read_bytes()[:-5])
    known, notices = folder.known(shards[0], 2)
    assert [header["shard"] for header in known] == [0]
    assert notices == [f"{path}: its checksum is wrong: it is damaged, or not whole; it is made again"]
    with pytest.raises(FolderError, match=str(path)):
        list(shards_in(folder.path))


def test_a_shard_under_another_name_is_not_taken(folder: TeacherFolder, shards: tuple[ShardTerms, list[Made]]) -> None:
    folder.shard_path(1).write_bytes(folder.shard_path(0).read_bytes())
    known, (notice,) = folder.known(shards[0], 2)
    assert len(known) == 1 and "it is shard 0" in notice


def test_other_settings_are_refused_by_name(folder: TeacherFolder, shards: tuple[ShardTerms, list[Made]]) -> None:
    wanted = shards[0]
    folder.claim(wanted)
    with pytest.raises(FolderError, match="nodes was 60 and is 61"):
        folder.claim(terms(nodes=61))
    with pytest.raises(FolderError, match="net was"):
        folder.claim(replace(wanted, net_digest="0" * 64))
    folder.settings.write_text("{")
    with pytest.raises(FolderError, match="not readable"):
        folder.claim(wanted)
    folder.settings.unlink()
    with pytest.raises(FolderError, match="another network or other settings"):
        folder.known(terms(nodes=61), 2)


def test_shards_of_other_sources_are_told_of(folder: TeacherFolder, shards: tuple[ShardTerms, list[Made]]) -> None:
    known, (notice,) = folder.known(replace(shards[0], code="other"), 2)
    assert len(known) == 2
    assert "2 shards were made by another version" in notice


def test_one_at_a_time_and_leftovers_are_removed(folder: TeacherFolder) -> None:
    leftover = folder.path / ".shard-000002.games.4711"
    leftover.touch()
    with folder.held():
        assert not leftover.exists()
        with pytest.raises(FolderError, match="another gougi selfplay"), TeacherFolder(folder.path).held():
            pass


def test_an_empty_folder_has_no_shards(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="no shards"):
        list(shards_in(tmp_path))
