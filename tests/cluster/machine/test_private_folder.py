"""The folder of one process: nobody else gets to it, and it is removed when, and only when, its process is gone."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.machine.private_folder import PrivateFolder, remove_leftovers
from tests.cluster.private_folders import Owner, left
from tests.users import NOBODY, as_nobody, as_root


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder as ``/tmp`` is."""
    tmp_path.chmod(0o1777)
    return tmp_path


def test_the_folder_goes_with_all_that_is_in_it(shared: Path) -> None:
    folder = PrivateFolder(shared)
    assert folder.path.stat().st_mode & 0o7777 == 0o700
    assert (folder.path / "owner").stat().st_mode & 0o7777 == 0o600
    (folder.path / "session").mkdir()
    (folder.path / "session" / "log").touch()
    (folder.path / "latest").symlink_to(folder.path / "session")
    folder.remove()
    folder.remove()
    assert list(shared.iterdir()) == []


def test_no_folder_is_made_where_others_could_replace_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(PermissionError, match=f"others may write to {tmp_path}"):
        PrivateFolder(tmp_path)
    assert list(tmp_path.iterdir()) == []


@as_root
def test_another_user_can_neither_read_nor_write_it() -> None:
    with tempfile.TemporaryDirectory() as name:  # not below pytest's own folder, which keeps him away as well
        shared = Path(name)
        shared.chmod(0o1777)
        folder = PrivateFolder(shared).path
        inner = folder / "ray"
        inner.mkdir()
        inner.chmod(0o777)
        (inner / "log").write_text("ours")
        tries = 'id -u; touch "$3/reached"; ls "$1"; cat "$1/log"; echo x >"$1/log"; rm -f "$1/log"; mv "$2" "$3/x"'
        tried = as_nobody(tries, inner, folder, shared)
        assert tried.stdout.split() == [str(NOBODY)]
        assert sorted(path.name for path in shared.iterdir()) == sorted(["reached", folder.name])
        assert (inner / "log").read_text() == "ours"


def test_what_a_killed_process_left_is_removed(shared: Path) -> None:
    folder = left(shared)
    assert folder.exists()
    remove_leftovers(shared)
    assert list(shared.iterdir()) == []


def test_what_a_live_process_uses_stays(shared: Path) -> None:
    mine = PrivateFolder(shared)
    owner = Owner(shared)
    remove_leftovers(shared)
    assert sorted(shared.iterdir()) == sorted([mine.path, owner.folder])
    os.kill(owner.process.pid, signal.SIGSTOP)
    remove_leftovers(shared)
    assert owner.folder.exists()
    owner.kill()
    mine.remove()


def test_a_name_alone_is_no_reason(shared: Path) -> None:
    names = ["gougi-20261122-mygames", f"gougi-{2**31 - 1}-abc", "gougi-notes"]
    for name in names:
        (shared / name).mkdir(0o700)
        (shared / name / "game.csa").touch()
    (shared / "gougi-file").touch()
    remove_leftovers(shared)
    assert sorted(path.name for path in shared.iterdir()) == sorted([*names, "gougi-file"])
    assert all((shared / name / "game.csa").exists() for name in names)


def other_magic(folder: Path) -> None:
    said = json.loads((folder / "owner").read_text())
    (folder / "owner").write_text(json.dumps(said | {"magic": "something else"}))


def no_json(folder: Path) -> None:
    (folder / "owner").write_text("gougi private folder 1")


def no_object(folder: Path) -> None:
    (folder / "owner").write_text("[1]")


def a_field_less(folder: Path) -> None:
    said = json.loads((folder / "owner").read_text())
    del said["boot"]
    (folder / "owner").write_text(json.dumps(said))


def empty(folder: Path) -> None:
    (folder / "owner").write_text("")


def readable(folder: Path) -> None:
    (folder / "owner").chmod(0o644)


def open_to_others(folder: Path) -> None:
    folder.chmod(0o755)


def a_link(folder: Path) -> None:
    (folder / "owner").rename(folder.parent / "elsewhere")
    (folder / "owner").symlink_to(folder.parent / "elsewhere")


def a_second_name(folder: Path) -> None:
    os.link(folder / "owner", folder.parent / "elsewhere")


def a_pipe(folder: Path) -> None:
    (folder / "owner").unlink()
    os.mkfifo(folder / "owner", 0o600)


PRETENDERS = [
    other_magic,
    no_json,
    no_object,
    a_field_less,
    empty,
    readable,
    open_to_others,
    a_link,
    a_second_name,
    a_pipe,
]


@pytest.mark.parametrize("change", PRETENDERS, ids=lambda change: change.__name__)
def test_what_only_looks_like_an_owners_file_is_no_reason(shared: Path, change: Callable[[Path], None]) -> None:
    folder = left(shared)
    change(folder)
    remove_leftovers(shared)
    assert (folder / "token").exists()


@as_root
@pytest.mark.parametrize("what", ["folder", "owner"])
def test_what_belongs_to_somebody_else_stays(shared: Path, what: str) -> None:
    folder = left(shared)
    os.chown(folder if what == "folder" else folder / "owner", NOBODY, NOBODY)
    remove_leftovers(shared)
    assert (folder / "token").exists()


def test_links_are_not_followed(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    precious = tmp_path_factory.mktemp("precious")
    (precious / "game.csa").touch()
    folder = left(shared)
    (folder / "link").symlink_to(precious)
    (folder / "session" / "link").symlink_to(precious)
    elsewhere = left(tmp_path_factory.mktemp("elsewhere"))
    (shared / "gougi-link").symlink_to(elsewhere)
    remove_leftovers(shared)
    assert (precious / "game.csa").exists()
    assert (elsewhere / "token").exists()
    assert [path.name for path in shared.iterdir()] == ["gougi-link"]


@as_root
def test_a_container_with_the_same_folder_keeps_its_own(shared: Path) -> None:
    """Its process has another number there than here, and none that says anything to us: the lock does."""
    owner = Owner(shared, "unshare", "--pid", "--fork", "--kill-child")
    said = json.loads((owner.folder / "owner").read_text())
    assert said["pid"] == 1
    assert said["namespace"] != os.stat("/proc/self/ns/pid").st_ino
    remove_leftovers(shared)
    assert owner.folder.exists()
    owner.kill()
    owner.process.wait()
    remove_leftovers(shared)
    assert not owner.folder.exists()


def test_after_a_boot_a_number_says_nothing_and_another_machine_is_left_alone(shared: Path) -> None:
    here, there = left(shared), left(shared)
    for folder, changed in ((here, {"boot": "x"}), (there, {"boot": "x", "host": "another"})):
        said = json.loads((folder / "owner").read_text())
        (folder / "owner").write_text(json.dumps(said | {"pid": os.getpid()} | changed))
    remove_leftovers(shared)
    assert not here.exists()
    assert there.exists()


def test_a_number_that_was_given_again_does_not_keep_a_folder(shared: Path) -> None:
    """A living process keeps the folder with its own start time, and does not keep it with another one."""
    started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    same, another = left(shared), left(shared)
    for folder, start in ((same, started), (another, started - 1)):
        said = json.loads((folder / "owner").read_text())
        (folder / "owner").write_text(json.dumps(said | {"pid": os.getpid(), "started": start}))
    remove_leftovers(shared)
    assert same.exists()
    assert not another.exists()


def test_what_could_not_be_removed_is_removed_the_next_time(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = left(shared)

    def fails(_path: Path) -> None:
        raise OSError("busy")

    with monkeypatch.context() as patched:
        patched.setattr("cluster.machine.private_folder.shutil.rmtree", fails)
        remove_leftovers(shared)
    assert folder.exists()
    remove_leftovers(shared)
    assert not folder.exists()
