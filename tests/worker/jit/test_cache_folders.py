"""Folders of compiled code: which of them stay."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import time
from pathlib import Path

import pytest

from worker.jit import cache_folders
from worker.jit.cache_folders import is_kept, keep, prune


def test_a_cache_that_somebody_uses_stays(tmp_path: Path) -> None:
    current = tmp_path / "jit-now"
    current.mkdir()
    for number in range(10):
        (tmp_path / f"jit-{number}").mkdir()
        age_s = 100 * number if number % 2 else 200_000 + number
        os.utime(tmp_path / f"jit-{number}", (time.time() - age_s,) * 2)
    prune(current)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["jit-1", "jit-3", "jit-5", "jit-7", "jit-9", "jit-now"]


@pytest.mark.parametrize("asks_again", [False, True], ids=["as it was forked", "as a node, which closes all"])
def test_a_folder_in_which_a_process_lives_stays(asks_again: bool, tmp_path: Path) -> None:
    folders = [tmp_path / f"jit-{number}" for number in range(7)]
    for number, folder in enumerate(folders):
        folder.mkdir()
        os.utime(folder, (time.time() - 200_000 - number,) * 2)
    for _ in range(2):  # each shard of teacher games asks again
        keep(folders[5])
    os.utime(folders[5], (time.time() - 200_005,) * 2)
    ready, told = os.pipe()
    child = os.fork()
    if not child:
        if asks_again:
            os.closerange(3, told)
            keep(folders[5])
        os.write(told, b".")
        time.sleep(60)
        os._exit(0)
    assert os.read(ready, 1) == b"."
    os.close(cache_folders._kept.pop(folders[5])[1])
    os.utime(folders[5], (time.time() - 200_005,) * 2)
    prune(folders[0])
    assert folders[5].exists() and not folders[6].exists()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.utime(folders[5], (time.time() - 200_005,) * 2)
    prune(folders[0])
    assert not folders[5].exists()
    os.close(ready)
    os.close(told)


def test_a_shared_lock_is_asked_for_by_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As NFS wants it."""
    lock = fcntl.flock

    def strict(descriptor: int, operation: int) -> None:
        written_only = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY
        if operation & fcntl.LOCK_SH and written_only:
            raise OSError(errno.EBADF, "not open for reading")
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", strict)
    keep(tmp_path)
    assert is_kept(tmp_path)
    os.close(cache_folders._kept.pop(tmp_path)[1])
    assert not is_kept(tmp_path)
