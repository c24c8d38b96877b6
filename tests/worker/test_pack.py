"""Packs of compiled code: a fitting pack is unpacked unchanged, and no other pack ever is."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from worker import pack as packs
from worker.pack import PackError, pack, unpack, unpack_shipped

CODE = {
    "worker.search.tt/tt.probe-22.py311.nbi": b"index",
    "worker.search.tt/tt.probe-22.py311.1.nbc": b"code" * 1000,
    "sfnn-0123/worker.nnue.sfnn.vector/vector.row-1.py311.nbi": b"other",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of compiled code of this test, empty."""
    found = tmp_path / "cache" / "jit-0123"
    found.mkdir(parents=True)
    monkeypatch.setattr(packs, "cache_dir", lambda: found)
    return found


@pytest.fixture
def file(folder: Path, tmp_path: Path) -> Path:
    """A pack of `CODE`; the folder is empty again."""
    for name, data in {**CODE, "complete": b"", "lock": b"", "tests.worker.x/x.nbi": b"", "lab.x/x.nbi": b""}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    made = tmp_path / "gougi.pack"
    assert pack(made) == hashlib.sha256(made.read_bytes()).hexdigest()
    empty(folder)
    return made


def empty(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_packed_code_comes_out(file: Path, folder: Path) -> None:
    (folder / "worker.search.tt").mkdir()
    (folder / "worker.search.tt" / "tt.probe-22.py311.nbi").write_bytes(b"another's")
    assert unpack(file)
    assert content(folder) == {**CODE, "complete": b"", "lock": b""}
    assert not unpack(file), "it is there already"


def test_uncompiled_code_is_not_packed(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(PackError, match="jit-0123: the searcher is not compiled"):
        pack(tmp_path / "gougi.pack")
    assert not (tmp_path / "gougi.pack").exists()


def changed(file: Path, change: Callable[[dict[str, bytes]], object]) -> None:
    """Write a pack again, with its files changed."""
    with zipfile.ZipFile(file) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    change(found)
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in found.items():
            archive.writestr(name, data)


def index(**more: object) -> Callable[[dict[str, bytes]], object]:
    return lambda found: found.update({"pack.json": json.dumps(json.loads(found["pack.json"]) | more).encode()})


def test_a_pack_for_another_gougi_is_refused_with_the_difference(file: Path, folder: Path) -> None:
    theirs = {**packs.facts(), "numba": "0.1", "CPU": "x86-64-v9"}
    changed(file, index(folder="jit-4567", facts=theirs))
    with pytest.raises(
        PackError, match=r"gougi\.pack: it is for another Gougi: numba 0\.1, here .*; CPU x86-64-v9, here"
    ):
        unpack(file)
    assert content(folder) == {}


def escaping(found: dict[str, bytes]) -> None:
    name = "../worker.x/x.nbi"
    found[name] = b"x"
    index(files={"complete": hashlib.sha256(b"").hexdigest(), name: hashlib.sha256(b"x").hexdigest()})(found)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda found: found.update({next(iter(CODE)): b"evil"}), "has changed since it was packed"),
        (lambda found: found.pop(next(iter(CODE))), "There is no item named"),
        (lambda found: found.pop("pack.json"), "There is no item named"),
        (lambda found: found.update({"pack.json": b"{"}), "damaged"),
        (lambda found: found.update({"pack.json": b"[]"}), "damaged"),
        (index(files={}), "not the files of a pack"),
        (index(files=3), "damaged"),
        (escaping, "not the name of compiled code"),
    ],
)
def test_a_damaged_pack_changes_nothing(
    file: Path, folder: Path, change: Callable[[dict[str, bytes]], object], reason: str
) -> None:
    changed(file, change)
    with pytest.raises(PackError, match=reason):
        unpack(file)
    assert content(folder) == {}


@pytest.mark.parametrize("cut", [0, 100, -30])
def test_a_cut_pack_changes_nothing(file: Path, folder: Path, cut: int) -> None:
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(PackError, match=r"gougi\.pack: no pack, or damaged"):
        unpack(file)
    assert content(folder) == {}


def test_a_pack_with_wrong_bits_changes_nothing(file: Path, folder: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        info = archive.getinfo(next(iter(CODE)))
    at = info.header_offset + len(info.FileHeader())
    data = bytearray(file.read_bytes())
    data[at] = 0xFF  # no kind of compressed block
    file.write_bytes(data)
    with pytest.raises(PackError, match=r"gougi\.pack: no pack, or damaged"):
        unpack(file)
    assert content(folder) == {}


def test_a_wheels_pack_is_found_by_its_name(file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "SHIPPED", file.parent)
    assert unpack_shipped() == ""
    assert content(folder) == {}, "none has that name"
    file.rename(file.parent / "jit-0123.pack")
    assert unpack_shipped() == ""
    assert (folder / "complete").exists()
    empty(folder)
    (file.parent / "jit-0123.pack").write_bytes(b"")
    assert "jit-0123.pack: no pack, or damaged" in unpack_shipped()


@pytest.mark.slow
def test_another_machine_need_not_compile(tmp_path: Path) -> None:
    """As for a user: one cache's code goes into an empty one, and searches the same tree from there."""
    from tests.master.command import gougi
    from worker.search.bench import run_bench
    from worker.warm import warm_up

    warm_up()
    packed = gougi("warm", "--pack", "gougi.pack", cwd=tmp_path)
    digest = hashlib.sha256((tmp_path / "gougi.pack").read_bytes()).hexdigest()
    assert packed.stdout == f"{digest}  gougi.pack\n"
    empty = {"GOUGI_CACHE_DIR": str(tmp_path / "cache")}
    unpacked = gougi("warm", "--unpack", "gougi.pack", cwd=tmp_path, env=empty)
    assert (unpacked.returncode, unpacked.stderr) == (0, "")
    searched = gougi("bench", "--json", "--depth", "4", cwd=tmp_path, env=empty)
    assert json.loads(searched.stdout)["signature"] == run_bench(4).signature
    (tmp_path / "gougi.pack").write_bytes(b"PK")
    refused = gougi("warm", "--unpack", "gougi.pack", cwd=tmp_path, env={"GOUGI_CACHE_DIR": str(tmp_path / "other")})
    assert refused.returncode == 2 and "gougi.pack: no pack, or damaged" in refused.stderr
