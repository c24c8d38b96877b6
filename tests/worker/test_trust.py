"""Whom a folder is trusted to, as real files of real users."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.users import NOBODY, as_root
from worker.trust import own_folder, trusted


def test_a_folder_of_ours_is_trusted_by_its_real_name(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir(0o755)
    (tmp_path / "link").symlink_to(folder)
    assert trusted(tmp_path / "link") == folder.resolve()


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
def test_a_folder_that_others_may_write_to_is_not(tmp_path: Path, mode: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.trust._own_group", lambda _gid: False)
    tmp_path.chmod(mode)
    with pytest.raises(PermissionError, match=f"others may write to {tmp_path}"):
        trusted(tmp_path)


def test_a_shared_folder_is_trusted_as_a_step_where_it_is_sticky(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir(0o700)
    tmp_path.chmod(0o1777)
    assert trusted(folder) == folder
    assert trusted(tmp_path, shared=True) == tmp_path
    tmp_path.chmod(0o777)
    for ask in (lambda: trusted(folder), lambda: trusted(tmp_path, shared=True)):
        with pytest.raises(PermissionError, match=f"others may write to {tmp_path}"):
            ask()


def test_what_is_no_folder_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        trusted(tmp_path / "file")
    with pytest.raises(FileNotFoundError):
        trusted(tmp_path / "missing")


@as_root
def test_a_folder_of_somebody_else_is_not_trusted(tmp_path: Path) -> None:
    folder = tmp_path / "theirs" / "inner"
    folder.mkdir(0o755, parents=True)
    os.chown(folder.parent, NOBODY, NOBODY)
    with pytest.raises(PermissionError, match="theirs belongs to nobody"):
        trusted(folder)


@as_root
def test_a_link_of_somebody_else_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir(0o700)
    link = tmp_path / "link"
    link.symlink_to("ours")
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
    with pytest.raises(PermissionError, match="link is a link of nobody"):
        trusted(link)


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
