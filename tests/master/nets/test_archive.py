"""Archives as authors pack them, and hostile ones: no path of theirs is used, no limit passed, nothing crashes."""

from __future__ import annotations

import random
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from master.nets import archive
from master.nets.archive import ArchiveError, LibraryMissingError, Member, is_archive, nets_in, unpack
from tests.master.nets.archives import NET as WHOLE
from tests.master.nets.archives import STRANGE as WHOLE_STRANGE
from tests.master.nets.archives import bzip2_zipped, seven_zipped, zipped

NET, STRANGE = WHOLE[:40_000], WHOLE_STRANGE[:50_000]  # an archive is told nothing of what is in a network
FILES = {"eval/nn.bin": NET, "readme.txt": b"FV_SCALE 24\n", "eval/empty": b""}
Packer = Callable[[Path, Mapping[str, bytes]], Path]
PACKERS = [zipped, seven_zipped]


@pytest.mark.parametrize("pack", PACKERS)
def test_the_network_in_an_archive(pack: Packer, tmp_path: Path) -> None:
    path = pack(tmp_path / "net.archive", FILES)
    assert is_archive(path)
    assert nets_in(path) == [Member("eval/nn.bin", len(NET))]
    assert b"".join(unpack(path, Member("eval/nn.bin", len(NET)))) == NET


@pytest.mark.parametrize("pack", PACKERS)
def test_two_networks(pack: Packer, tmp_path: Path) -> None:
    path = pack(tmp_path / "net.archive", {"a/nn.bin": NET, "x": b"y", "b/nn.bin": STRANGE})
    nets = nets_in(path)
    assert [net.name for net in nets] == ["a/nn.bin", "b/nn.bin"]
    assert b"".join(unpack(path, nets[1])) == STRANGE


@pytest.mark.parametrize("pack", PACKERS)
def test_paths_that_lead_out_lead_nowhere(pack: Packer, tmp_path: Path) -> None:
    """The bytes are read; the test of the whole command shows that no file is written."""
    path = pack(tmp_path / "net.archive", {"../../out.bin": NET, "/tmp/out.bin": STRANGE})
    assert b"".join(unpack(path, nets_in(path)[0])) == NET


def test_links_are_passed_over(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "net.zip", "w") as zipped_:
        link = zipfile.ZipInfo("eval/nn.bin")
        link.external_attr = 0o120777 << 16
        zipped_.writestr(link, NET)
    assert nets_in(tmp_path / "net.zip") == []


def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_NET_BYTES", 100_000)
    monkeypatch.setattr(archive, "_MAX_ALL_BYTES", 300_000)
    monkeypatch.setattr(archive, "_MAX_MEMBERS", 5)
    for number, pack in enumerate(PACKERS):
        large = pack(tmp_path / f"large{number}", {"nn.bin": NET + bytes(90_000)})
        many = pack(tmp_path / f"many{number}", {str(one): b"x" for one in range(6)})
        together = pack(tmp_path / f"together{number}", {str(one): bytes(90_000) for one in range(4)})
        for path, words in ((large, "archive bomb"), (many, "more than 5 files"), (together, "archive bomb")):
            with pytest.raises(ArchiveError, match=words):
                nets_in(path)


def test_a_member_longer_than_it_says(tmp_path: Path) -> None:
    path = zipped(tmp_path / "net.zip", {"nn.bin": NET})
    content = path.read_bytes()
    size = len(NET).to_bytes(4, "little")
    assert content.count(size) == 2
    path.write_bytes(content.replace(size, (len(NET) - 1).to_bytes(4, "little")))
    with pytest.raises(ArchiveError, match="damaged archive"):
        b"".join(unpack(path, nets_in(path)[0]))


def test_a_password(tmp_path: Path) -> None:
    path = zipped(tmp_path / "net.zip", {"nn.bin": NET})
    content = bytearray(path.read_bytes())
    content[6] |= 1  # the flag of encryption, here and in the list of contents
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(ArchiveError, match="password"):
        nets_in(path)


def test_what_is_no_archive(tmp_path: Path) -> None:
    for content in (b"", b"P", b"<!doctype html>" + bytes(600), NET):
        (tmp_path / "file").write_bytes(content)
        assert not is_archive(tmp_path / "file")
    (tmp_path / "file").write_bytes(bytes(600))
    with pytest.raises(ArchiveError, match="not a zip or 7z archive"):
        nets_in(tmp_path / "file")


@pytest.mark.parametrize("pack", [*PACKERS, bzip2_zipped])
def test_damaged_archives_never_crash(pack: Packer, tmp_path: Path) -> None:
    """Cut anywhere, and with bytes changed: an error, or the very bytes."""
    small = {"eval/nn.bin": NET[:3000], "readme.txt": b"hello" * 100}
    path = pack(tmp_path / "net.archive", small)
    whole, chance = path.read_bytes(), random.Random(7)
    for number in range(400):
        content = bytearray(whole)
        if number % 2:
            content = content[: chance.randrange(len(content))]
        else:
            for _ in range(chance.randint(1, 4)):
                content[chance.randrange(len(content))] = chance.randrange(256)
        path.write_bytes(content)
        try:
            for net in nets_in(path) if is_archive(path) else ():
                assert b"".join(unpack(path, net)) == NET[:3000]
        except ArchiveError:
            pass


def test_without_the_library_a_7z_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "net.7z").write_bytes(b"7z\xbc\xaf\x27\x1c" + bytes(100))
    monkeypatch.setitem(__import__("sys").modules, "libarchive", None)
    with pytest.raises(LibraryMissingError, match="apt install libarchive13"):
        nets_in(tmp_path / "net.7z")


def test_a_disk_that_cannot_be_read_is_no_damaged_archive(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        is_archive(tmp_path / "missing")
