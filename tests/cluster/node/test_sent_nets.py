"""A machine's copy of a network: complete and checked, made once, or a clear error."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from cluster.node import sent_nets
from cluster.node.sent_nets import NetFile, NetNotKept, SentNet, found_net, keep_net


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The machine's cache folder. Chunks have 100 bytes."""
    monkeypatch.setenv("GOUGI_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sent_nets, "CHUNK_BYTES", 100)
    return tmp_path / "cache" / "sent-nets"


@pytest.fixture
def net(tmp_path: Path) -> SentNet:
    """A network of the master, with a file beside it, as another machine gets its description."""
    there = tmp_path / "master"
    there.mkdir()
    (there / "nn.bin").write_bytes(os.urandom(1234))
    (there / "eval_options.txt").write_text("FV_SCALE=24\n")
    (there / "notes.txt").write_text("not part of it\n")
    return SentNet.at(str(there))


def elsewhere(net: SentNet) -> SentNet:
    """The same, for a machine that has nothing at its path."""
    return replace(net, path="/nowhere/nn.bin")


def chunks(net: SentNet) -> Iterator[bytes]:
    return (net.part(number) for number in range(net.parts))


def test_a_copy_has_every_file_that_counts(net: SentNet, cache: Path) -> None:
    assert [file.name for file in net.files] == ["nn.bin", "eval_options.txt"]
    assert found_net(elsewhere(net)) is None
    kept = keep_net(elsewhere(net), chunks(net))
    assert kept.is_relative_to(cache)
    assert kept.read_bytes() == Path(net.path).read_bytes()
    assert sorted(path.name for path in kept.parent.iterdir()) == ["eval_options.txt", "nn.bin"]
    assert found_net(elsewhere(net)) == kept
    assert [path.suffix for path in cache.iterdir() if path != kept.parent] == [".lock"]


def test_a_machine_with_the_same_file_needs_no_copy(net: SentNet) -> None:
    path = Path(net.path)
    assert found_net(net) == path
    path.with_name("nn.bin.toml").write_text("fv_scale = 20\n")
    assert found_net(net) is None, "it would be loaded in another way"
    path.with_name("nn.bin.toml").unlink()
    path.write_bytes(bytes(1234))
    assert found_net(net) is None, "another network of the same size"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda parts: [bytes(100), *parts[1:]], "nn.bin: its SHA-256 is .*, expected "),
        (lambda parts: parts[:3], "nn.bin: a part of 0 bytes came, with 934 bytes missing"),
        (lambda parts: [*parts[:12], parts[0]], "nn.bin: a part of 100 bytes came, with 34 bytes missing"),
    ],
)
def test_a_wrong_copy_is_refused(net: SentNet, cache: Path, wrong, why: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(NetNotKept, match=why):
        keep_net(elsewhere(net), wrong(list(chunks(net))))
    assert [path.suffix for path in cache.iterdir()] == [".lock"], "nothing is left"
    assert keep_net(elsewhere(net), chunks(net)).is_file(), "the next attempt may succeed"


def test_a_file_stays_in_its_folder(net: SentNet, cache: Path) -> None:
    evil = SentNet("/nowhere/nn.bin", (NetFile("../../evil", 3, ""),))
    with pytest.raises(NetNotKept, match="no name for a file"):
        keep_net(evil, [b"abc"])
    assert not (cache.parent / "evil").exists()


def test_a_full_disk(net: SentNet, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    taken: list[bytes] = []
    with pytest.raises(NetNotKept, match=r"nn.bin \(0 MB\): .*sent-nets: no space left on the disk"):
        keep_net(elsewhere(net), (taken.append(chunk) or chunk for chunk in chunks(net)))
    assert not taken, "it is known before anything was sent"


def _keep(net: SentNet, parts: list[bytes], says: Connection) -> None:
    def slowly() -> Iterator[bytes]:
        says.send("begins")
        for part in parts:
            time.sleep(0.01)
            yield part

    says.send(str(keep_net(net, slowly())))


def test_nodes_that_start_together_fetch_once(net: SentNet) -> None:
    fork = get_context("fork")
    ends = [fork.Pipe() for _ in range(3)]
    parts = list(chunks(net))
    processes = [fork.Process(target=_keep, args=(elsewhere(net), parts, theirs)) for _, theirs in ends]
    for process in processes:
        process.start()
    for process in processes:
        process.join(30)
    said = [ours.recv() for ours, _ in ends for _ in range(2) if ours.poll()]
    assert said.count("begins") == 1
    assert len(said) == 4 and len(set(said)) == 2


def test_copies_unused_for_a_month_go(net: SentNet, cache: Path) -> None:
    """The last two copies stay; files of a dead process go after a day."""
    month_ago = time.time() - 31 * 86_400
    for name in ("a", "b", "c", ".part-x"):
        (cache / name).mkdir(parents=True)
        os.utime(cache / name, (month_ago, month_ago + ord(name[0])))
    (cache / "d").mkdir()
    cache.chmod(0o700)
    kept = keep_net(elsewhere(net), chunks(net))
    assert {path.name for path in cache.iterdir() if path.is_dir()} == {"c", "d", kept.parent.name}
