"""The users who may own a trusted folder, with real files of real users."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.users import NOBODY, as_root
from worker.trust import only_ours, own_folder


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_that_others_may_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(PermissionError, match="others may write to it"):
        only_ours(tmp_path)


def test_a_file_and_a_link_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(FileExistsError):
        only_ours(tmp_path / "file")
    with pytest.raises(NotADirectoryError):
        only_ours(tmp_path / "link")


def test_the_folder_of_ones_own_is_found_again(tmp_path: Path) -> None:
    first = own_folder(tmp_path, "gougi-0")
    assert first == tmp_path / "gougi-0"
    assert first.stat().st_mode & 0o7777 == 0o700
    assert own_folder(tmp_path, "gougi-0") == first


@as_root
def test_a_folder_that_somebody_else_put_there_is_not_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    planted = tmp_path / "gougi-0"
    planted.mkdir(0o700)
    os.chown(planted, NOBODY, NOBODY)
    first = own_folder(tmp_path, "gougi-0")
    assert first.name.startswith("gougi-0-")
    assert first.stat().st_uid == 0
    assert own_folder(tmp_path, "gougi-0") == first


@pytest.mark.parametrize("mode", [0o777, 0o755])
def test_a_folder_of_ours_that_others_could_look_into_is_not_used(tmp_path: Path, mode: int) -> None:
    (tmp_path / "gougi-0").mkdir()
    (tmp_path / "gougi-0").chmod(mode)
    assert own_folder(tmp_path, "gougi-0").name.startswith("gougi-0-")
