"""``gougi net list`` and ``gougi net get`` against a server on this machine."""

from __future__ import annotations

import hashlib
import json
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from master.cli import run
from master.commands.common import BAD_INPUT, DISK_FULL, FAILED, INTERRUPTED
from master.config import load_config
from master.nets import catalogue, command
from tests.master.nets.archives import NET, STRANGE, seven_zipped, zipped
from tests.master.nets.server import Site, serving


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A server, an empty home, and the folder of the test as the current one."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr("time.sleep", lambda _s: None)
    with serving(Site()) as site:
        yield site


@pytest.fixture
def nets(site: Site, tmp_path: Path) -> Path:
    """The user's folder of networks."""
    return tmp_path / "data" / "gougi" / "nets"


@pytest.fixture
def listed(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts an entry into a catalogue of the test's own, its archive on the server."""

    def add(content: bytes, *, path: str = "/own.7z", **facts: Any) -> None:
        site.files[path] = content
        entry = {
            "title": "Own", "author": "anna", "year": 2026, "architecture": "K-P 256x2-32-32", "fv_scale": 24,
            "licence": "MIT, says anna", "page": "https://example.org/own", "url": site.address + path,
            "url_bytes": len(content), "url_sha256": sha256(content), "bytes": len(NET), "sha256": sha256(NET),
            "told_by": 1, **facts,
        }  # fmt: skip
        text = "\n".join(f"{key} = {json.dumps(value)}" for key, value in entry.items() if value is not None)
        (tmp_path / "catalogue.toml").write_text(f"[own]\n{text}\n")
        monkeypatch.setattr(catalogue, "FILE", tmp_path / "catalogue.toml")

    return add


def left(nets: Path) -> list[str]:
    """All files in the user's folder but the locks."""
    return sorted(str(path.relative_to(nets)) for path in nets.rglob("*") if path.is_file() and path.suffix != ".lock")


def packed(tmp_path: Path) -> bytes:
    return seven_zipped(tmp_path / "own.7z", {"eval/nn.bin": NET, "readme.txt": b"hello"}).read_bytes()


def test_a_network_of_the_list(
    nets: Path, listed: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed(packed(tmp_path), note="has a readme")
    assert run(["net", "get", "Own"]) == 0
    said = capsys.readouterr()
    assert (nets / "own" / "nn.bin").read_bytes() == NET and left(nets) == ["own/nn.bin"]
    assert "own: licence: MIT, says anna\nown: has a readme\n" in said.err
    assert f'eval_file = "{nets}/own/nn.bin"\nfv_scale = 24\n' in said.out and sha256(NET) in said.out


def test_the_lines_that_it_prints_make_it_the_default(
    nets: Path, listed: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed(zipped(tmp_path / "own.zip", {"nn.bin": NET}).read_bytes())
    assert run(["net", "get", "own"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if " = " in line]
    Path("gougi.toml").write_text("\n".join(["[engine]", *lines]))
    engine = load_config(file=Path("gougi.toml")).engine
    assert (engine.eval_file, engine.fv_scale) == (f"{nets}/own/nn.bin", 24)


def test_nothing_is_downloaded_twice(site: Site, listed: Callable[..., None], tmp_path: Path) -> None:
    listed(zipped(tmp_path / "own.zip", {"nn.bin": NET}).read_bytes())
    assert [run(["net", "get", "own"]) for _ in range(2)] == [0, 0]
    assert len(site.asked) == 1


def test_a_network_that_was_damaged_since_is_fetched_again(
    nets: Path, listed: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed(zipped(tmp_path / "own.zip", {"nn.bin": NET}).read_bytes())
    (nets / "own").mkdir(parents=True)
    (nets / "own" / "nn.bin").write_bytes(NET[:-1])
    assert run(["net", "get", "own"]) == 0
    assert (nets / "own" / "nn.bin").read_bytes() == NET
    assert "it is fetched again" in capsys.readouterr().err


def test_a_cut_download_goes_on_at_the_next_try(
    site: Site, nets: Path, listed: Callable[..., None], tmp_path: Path
) -> None:
    content = zipped(tmp_path / "own.zip", {"nn.bin": NET}).read_bytes()
    listed(content)
    site.cuts = [len(content) // 2, 0, 0, 0, 0]
    assert run(["net", "get", "own"]) == FAILED
    assert not (nets / "own").exists()
    site.asked = []
    assert run(["net", "get", "own"]) == 0
    assert site.asked == [f"bytes={len(content) // 2}-"] and (nets / "own" / "nn.bin").read_bytes() == NET


def test_ctrl_c(
    nets: Path, listed: Callable[..., None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    listed(b"x")
    monkeypatch.setattr(command, "download", interrupted)
    assert run(["net", "get", "own"]) == INTERRUPTED
    assert "own: the same command goes on with the download\n" in capsys.readouterr().err
    assert not (nets / "own").exists()


def test_on_a_terminal_a_bar_shows_how_far_it_is(
    listed: Callable[..., None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listed(NET)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert run(["net", "get", "own"]) == 0
    assert "1/1 MB" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"url_sha256": "0" * 64}, "its SHA-256 is"),
        ({"sha256": "0" * 64}, "its SHA-256 is"),
        ({"url_bytes": 77}, "bytes, expected 77"),
        ({"bytes": 77, "sha256": None}, "bytes, expected 77"),
    ],
)
def test_another_file_than_the_list_says(
    facts: dict[str, Any], words: str, nets: Path, listed: Callable[..., None], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    listed(zipped(tmp_path / "own.zip", {"nn.bin": NET}).read_bytes(), **facts)
    assert run(["net", "get", "own"]) == FAILED
    assert words in capsys.readouterr().err
    assert left(nets) == [] and not (nets / "own").exists()


def test_a_name_that_is_not_in_the_list(nets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["net", "get", "suishou5"]) == BAD_INPUT
    error = capsys.readouterr().err
    assert "suishou5: no such file, and no network of this name in the list; there is suisho5" in error
    assert run(["net", "list", "zzzz"]) == BAD_INPUT
    assert "gougi net list shows all" in capsys.readouterr().err
    assert not nets.exists()


def test_a_network_without_an_address(capsys: pytest.CaptureFixture[str], nets: Path) -> None:
    assert run(["net", "get", "aoba"]) == BAD_INPUT
    error = capsys.readouterr().err
    assert "https://github.com/yssaya/AobaNNUE" in error and "gougi net get FILE --name aoba" in error


def test_a_file_fetched_by_hand_is_held_to_the_list(
    nets: Path, listed: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed(b"", url=None, url_bytes=None, url_sha256=None)
    Path("nn.bin").write_bytes(STRANGE)
    assert run(["net", "get", "nn.bin", "--name", "own"]) == FAILED
    assert f"its SHA-256 is {sha256(STRANGE)}, expected {sha256(NET)}" in capsys.readouterr().err
    Path("nn.bin").write_bytes(NET)
    assert run(["net", "get", "nn.bin", "--name", "own"]) == 0
    assert "fv_scale = 24" in capsys.readouterr().out and left(nets) == ["own/nn.bin"]


def test_a_file_that_is_one_of_the_list_under_another_name(
    listed: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    listed(b"")
    Path("mine.bin").write_bytes(NET)
    assert run(["net", "get", "mine.bin"]) == 0
    assert "fv_scale = 24" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("mine.bin", "mine"), ("Mine-2.zip", "mine-2"), ("nets/third.v2.zip", "third.v2"),
        ("nets/fourth/eval/nn.bin", "fourth"),
    ],
)  # fmt: skip
def test_other_files_and_addresses(what: str, name: str, site: Site, nets: Path) -> None:
    Path(what).parent.mkdir(parents=True, exist_ok=True)
    if what.endswith(".zip"):
        zipped(Path(what), {"deep/er/nn.bin": NET})
    else:
        Path(what).write_bytes(NET)
    assert run(["net", "get", what]) == 0
    assert left(nets) == [f"{name}/nn.bin"]
    (nets / name / "nn.bin").unlink()
    site.files[f"/{what}"] = Path(what).read_bytes()
    assert run(["net", "get", f"{site.address}/{what}"]) == 0
    assert (nets / name / "nn.bin").read_bytes() == NET


def test_a_taken_name_is_not_replaced(nets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.bin").write_bytes(NET)
    assert run(["net", "get", "mine.bin"]) == 0
    assert run(["net", "get", "mine.bin"]) == BAD_INPUT
    assert "mine is there already" in capsys.readouterr().err
    assert run(["net", "get", "mine.bin", "--name", "other"]) == 0
    for bad in ("../out", "Upper", "a/b", ".hidden"):
        assert run(["net", "get", "mine.bin", "--name", bad]) == BAD_INPUT
    assert left(nets) == ["mine/nn.bin", "other/nn.bin"]


def test_a_hash_that_the_user_knows(site: Site, nets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site.files["/mine.bin"] = NET
    address = f"{site.address}/mine.bin"
    assert run(["net", "get", address, "--sha256", "f" * 64]) == FAILED
    assert left(nets) == []
    assert run(["net", "get", address, "--sha256", "abc"]) == BAD_INPUT
    assert run(["net", "get", address, "--sha256", sha256(NET).upper()]) == 0


def test_two_networks_in_an_archive_ask_by_name(nets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zipped(Path("both.zip"), {"a/nn.bin": STRANGE, "b/nn.bin": NET})
    assert run(["net", "get", "both.zip"]) == BAD_INPUT
    error = capsys.readouterr().err
    assert "several networks (a/nn.bin, b/nn.bin): choose one with --member" in error
    assert run(["net", "get", "both.zip", "--member", "nn.bin"]) == BAD_INPUT
    assert not (nets / "both").exists()
    assert run(["net", "get", "both.zip", "--member", "b/nn.bin"]) == 0
    assert (nets / "both" / "nn.bin").read_bytes() == NET


def test_a_member_that_is_not_there(nets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zipped(Path("one.zip"), {"a/nn.bin": NET})
    assert run(["net", "get", "one.zip", "--member", "b/nn.bin"]) == BAD_INPUT
    assert "--member b/nn.bin: no network of this name in the archive, which has: a/nn.bin" in capsys.readouterr().err
    assert not (nets / "one").exists()
    assert run(["net", "get", "one.zip", "--member", "a/nn.bin"]) == 0


def test_on_a_terminal_the_user_answers(nets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zipped(Path("both.zip"), {"a/nn.bin": STRANGE, "b/nn.bin": NET})
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    for answer, code in ((3, BAD_INPUT), (2, 0)):
        monkeypatch.setattr("typer.prompt", lambda *_, answer=answer, **__: answer)
        assert run(["net", "get", "both.zip"]) == code
    assert (nets / "both" / "nn.bin").read_bytes() == NET


def test_a_network_that_cannot_be_read(
    nets: Path, listed: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its error is shown. The file stays if its hash was right: another version may read it."""
    unknown = STRANGE[:-7]  # no architecture has this size either
    Path("strange.bin").write_bytes(unknown)
    assert run(["net", "get", "strange.bin"]) == FAILED
    assert "no architecture that Gougi knows" in capsys.readouterr().err and not (nets / "strange").exists()
    listed(unknown, sha256=sha256(unknown), bytes=len(unknown))
    assert run(["net", "get", "own"]) == FAILED
    said = capsys.readouterr()
    assert "this version of Gougi cannot read it: byte" in said.err and "eval_file" not in said.out
    assert left(nets) == ["own/nn.bin"]


def test_the_beginning_of_a_network_is_not_taken(site: Site, nets: Path) -> None:
    """A server that gives no length, and cuts: only the network itself shows that a part is missing."""
    site.files["/mine.bin"] = NET
    site.length, site.cuts = False, [len(NET) // 2]
    assert run(["net", "get", f"{site.address}/mine.bin"]) == FAILED
    assert left(nets) == [] and not (nets / "mine").exists()
    assert run(["net", "get", f"{site.address}/mine.bin"]) == 0


@pytest.mark.parametrize("content", [b"<!doctype html><p>Sign in to download", b"", NET[:3], b"PK\x03\x04" + bytes(99)])
def test_what_is_no_network(content: bytes, site: Site, nets: Path) -> None:
    site.files["/mine.zip"] = content
    assert run(["net", "get", f"{site.address}/mine.zip"]) == FAILED
    assert left(nets) == [] and not (nets / "mine").exists()


def test_paths_of_an_archive_lead_nowhere(nets: Path, tmp_path: Path) -> None:
    for pack, name in ((zipped, "a.zip"), (seven_zipped, "b.7z")):
        pack(Path(name), {"../../../escaped.bin": NET})
        assert run(["net", "get", name]) == 0
    assert not list(tmp_path.rglob("escaped.bin"))
    assert left(nets) == ["a/nn.bin", "b/nn.bin"]


def test_a_full_disk(site: Site, nets: Path, listed: Callable[..., None], tmp_path: Path) -> None:
    """During the download, and while the network is unpacked."""
    listed(zipped(tmp_path / "own.zip", {"nn.bin": NET}).read_bytes())
    part = nets / ".downloads" / f"{sha256(f'{site.address}/own.7z'.encode())[:16]}.part"
    part.parent.mkdir(parents=True)
    part.symlink_to("/dev/full")
    assert run(["net", "get", "own"]) == DISK_FULL
    part.unlink()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(NET) - 1, before[1]))
    try:
        assert run(["net", "get", "own"]) == FAILED
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in (nets / "own").glob("*")] == []
    assert run(["net", "get", "own"]) == 0


def test_leftovers_of_a_killed_process_go(nets: Path) -> None:
    (nets / "mine").mkdir(parents=True)
    (nets / "mine" / ".nn.bin.abc").write_bytes(NET[:9])
    Path("mine.bin").write_bytes(NET)
    assert run(["net", "get", "mine.bin"]) == 0
    assert [path.name for path in (nets / "mine").iterdir()] == ["nn.bin"]


def test_the_list(nets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["net", "list"]) == 0
    table = capsys.readouterr().out
    assert "suisho5 " in table and "not verified" in table and "several sources" in table
    assert run(["net", "list", "Suisho5"]) == 0
    facts = capsys.readouterr().out
    assert "GPL-3.0" in facts and "64,217,066" in facts
    assert run(["net", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["name"] for row in rows} == set(catalogue.catalogue()) and not any(row["here"] for row in rows)
    assert not nets.exists()


def test_json(nets: Path, listed: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    listed(NET)
    assert run(["net", "get", "own", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["path"] == f"{nets}/own/nn.bin" and facts["sha256"] == sha256(NET)
    assert (facts["name"], facts["fv_scale"], facts["licence"]) == ("own", 24, "MIT, says anna")
