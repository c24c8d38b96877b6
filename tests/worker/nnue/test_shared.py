"""Weights that processes share: one file, made once, the same numbers; and the fallback if it is impossible."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks.random_networks import random_network
from worker.nnue import shared
from worker.nnue.architecture import Architecture
from worker.nnue.features import HALF_KP_VM
from worker.nnue.format import serialise_network
from worker.nnue.network import load_network
from worker.nnue.shared import Int16s, shared_rows

SHAPE = (1000, 8)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(shared, "cache_dir", lambda: tmp_path / "jit")
    monkeypatch.setattr(shared, "LEAST_BYTES", 1000)
    return tmp_path / "nets"


def fill(rows: Int16s) -> None:
    assert rows.shape == SHAPE and not rows.any()
    rows[:] = np.arange(8000).reshape(SHAPE)


def never(_rows: Int16s) -> None:
    raise AssertionError("made again")


def test_it_is_made_once(folder: Path) -> None:
    first = shared_rows("a", SHAPE, fill)
    second = shared_rows("a", SHAPE, never)
    assert first is not None and second is not None
    assert (first == second).all() and first[999, 7] == 7999
    assert first.ctypes.data % 64 == 0 and not first.flags.writeable
    (file,) = folder.glob("*.rows")
    assert (file.stat().st_size, file.stat().st_mode & 0o777) == (16_000, 0o600)
    assert shared_rows("b", SHAPE, fill) is not None
    assert len(list(folder.glob("*.rows"))) == 2


def test_a_cut_file_is_made_again(folder: Path) -> None:
    assert shared_rows("a", SHAPE, fill) is not None
    (file,) = folder.glob("*.rows")
    os.truncate(file, 8000)
    again = shared_rows("a", SHAPE, fill)
    assert again is not None and again[999, 7] == 7999


def test_a_network_that_is_small_or_a_disk_that_is_full(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shared_rows("a", (10, 8), never) is None

    def full(*_arguments: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    assert shared_rows("a", SHAPE, never) is None
    assert list(folder.glob("*.rows")) == [] and list(folder.glob(".*")) == []


def test_long_unused_files_go_except_the_last_few(folder: Path) -> None:
    for name in "abcd":
        shared_rows(name, SHAPE, fill)
        (newest,) = [file for file in folder.glob("*.rows") if file.stat().st_mtime > time.time() - 86_400]
        os.utime(newest, (0, 0))
    assert len(list(folder.glob("*.rows"))) == 3
    shared_rows("e", SHAPE, fill)
    assert len(list(folder.glob("*.rows"))) == 3
    assert len(list(folder.glob("*.lock"))) == 3


@pytest.mark.usefixtures("folder")
def test_a_network_has_the_same_weights(tmp_path: Path) -> None:
    file = tmp_path / "nn.bin"
    file.write_bytes(serialise_network(random_network(Architecture(HALF_KP_VM, 128, 8, 8))))
    own, mapped, again = load_network(file), load_network(file, share=True), load_network(file, share=True)
    assert not isinstance(own.transformer_weight, np.memmap)
    assert isinstance(mapped.transformer_weight, np.memmap) and isinstance(again.transformer_weight, np.memmap)
    for other in (mapped, again):
        assert (other.transformer_weight == own.transformer_weight).all()
        assert (other.transformer_bias == own.transformer_bias).all()
        for (bias, weight), (other_bias, other_weight) in zip(own.layers, other.layers, strict=True):
            assert (bias == other_bias).all() and (weight == other_weight).all()
