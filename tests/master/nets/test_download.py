"""Downloads from a server that cuts, lies, and cannot send parts: the file is complete and right, or there is none."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from master.nets.download import DownloadError, download, forget, held
from tests.master.nets.server import Site, serving

CONTENT = random.Random(1).randbytes(700_000)


@pytest.fixture
def site() -> Iterator[Site]:
    with serving(Site({"/net": CONTENT})) as site:
        yield site


def fetch(site: Site, part: Path, size: int | None = None) -> list[float]:
    """Download, and return the waits between the tries."""
    waits: list[float] = []
    with held(part), pytest.MonkeyPatch.context() as patched:
        patched.setattr("time.sleep", waits.append)
        download(f"{site.address}/net", part, lambda _at, _total: None, size=size)
    return waits


def test_a_whole_file_at_once(site: Site, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    with held(tmp_path / "x.part"):
        download(f"{site.address}/net", tmp_path / "x.part", lambda *at: seen.append(at), size=len(CONTENT))
    assert (tmp_path / "x.part").read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT)) and seen == sorted(seen)
    assert site.asked == [None]


def test_a_cut_download_resumes(site: Site, tmp_path: Path) -> None:
    site.cuts = [300_000, 5, 200_000]
    assert fetch(site, tmp_path / "x.part") == [1, 1, 1]
    assert (tmp_path / "x.part").read_bytes() == CONTENT
    assert site.asked == [None, "bytes=300000-", "bytes=300005-", "bytes=500005-"]


def test_the_next_run_goes_on(site: Site, tmp_path: Path) -> None:
    site.cuts = [300_000, 0, 0, 0, 0]
    with pytest.raises(DownloadError, match=r"broke after 300,000 of 700,000 bytes; the same command goes on"):
        fetch(site, tmp_path / "x.part")
    assert (tmp_path / "x.part").stat().st_size == 300_000
    site.asked = []
    fetch(site, tmp_path / "x.part")
    assert (tmp_path / "x.part").read_bytes() == CONTENT and site.asked == ["bytes=300000-"]
    fetch(site, tmp_path / "x.part")  # whole already: 416
    assert (tmp_path / "x.part").read_bytes() == CONTENT


def test_a_file_that_has_changed_meanwhile_begins_anew(site: Site, tmp_path: Path) -> None:
    (tmp_path / "x.part").write_bytes(b"the old one" * 10_000)
    (tmp_path / "x.tag").write_text('"old"')
    fetch(site, tmp_path / "x.part")
    assert (tmp_path / "x.part").read_bytes() == CONTENT


@pytest.mark.parametrize("how", [{"ranges": False}, {"tagged": False}, {"ranges": False, "chunked": True}])
def test_a_server_that_cannot_send_parts_begins_anew(how: dict[str, bool], tmp_path: Path) -> None:
    with serving(Site({"/net": CONTENT}, **how)) as site:  # type: ignore[arg-type]
        site.cuts = [300_000, 200_000]
        fetch(site, tmp_path / "x.part")
        assert (tmp_path / "x.part").read_bytes() == CONTENT


def test_a_server_that_cuts_at_the_same_place_again_and_again(tmp_path: Path) -> None:
    with serving(Site({"/net": CONTENT}, ranges=False)) as site:
        site.cuts = [300_000] * 20
        with pytest.raises(DownloadError, match="broke after 300,000"):
            fetch(site, tmp_path / "x.part")
        assert len(site.asked) == 5


def test_without_a_length_the_expected_size_tells_a_cut(tmp_path: Path) -> None:
    with serving(Site({"/net": CONTENT}, length=False)) as site:
        site.cuts = [300_000]
        fetch(site, tmp_path / "x.part", size=len(CONTENT))
        assert (tmp_path / "x.part").read_bytes() == CONTENT and len(site.asked) == 2


@pytest.mark.parametrize(("length", "size"), [(True, 699_999), (True, 700_001), (False, 699_999)])
def test_another_size_than_expected_is_refused(length: bool, size: int, tmp_path: Path) -> None:
    with serving(Site({"/net": CONTENT}, length=length)) as site:
        with pytest.raises(DownloadError, match=r"700,000 bytes, expected|longer than 699,999"):
            fetch(site, tmp_path / "x.part", size)
        assert not (tmp_path / "x.part").exists()


@pytest.mark.parametrize("place", ["bytes 7-699999/700000", "rubbish"])
def test_a_part_that_nobody_asked_for_is_refused(place: str, site: Site, tmp_path: Path) -> None:
    site.cuts = [300_000]
    site.place = place
    with pytest.raises(DownloadError, match="another part than it was asked for"):
        fetch(site, tmp_path / "x.part")
    assert not (tmp_path / "x.part").exists()


@pytest.mark.parametrize(("status", "words"), [(404, "404 Not Found"), (403, "403 Forbidden"), (503, "503 Service")])
def test_what_the_server_says(status: int, words: str, site: Site, tmp_path: Path) -> None:
    site.status = status
    with pytest.raises(DownloadError, match=words):
        fetch(site, tmp_path / "x.part")
    assert len(site.asked) == 1


def test_nobody_listens(site: Site, tmp_path: Path) -> None:
    with held(tmp_path / "x.part"), pytest.raises(DownloadError, match="refused"):
        download("http://127.0.0.1:9/net", tmp_path / "x.part", lambda *_: None)


def test_redirections_stay_on_the_web(site: Site, tmp_path: Path) -> None:
    site.files["/far"] = site.files.pop("/net")
    site.leads = {"/net": "/far"}
    fetch(site, tmp_path / "x.part")
    assert (tmp_path / "x.part").read_bytes() == CONTENT
    forget(tmp_path / "x.part")
    for target in ("file:///etc/passwd", "ftp://127.0.0.1/net"):
        site.leads = {"/net": target}
        with pytest.raises(DownloadError):
            fetch(site, tmp_path / "x.part")
    assert not (tmp_path / "x.part").exists()


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://127.0.0.1/x", "http:///x", "nn.bin"])
def test_other_addresses_are_refused(address: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="expected an address that begins with http"):
        download(address, tmp_path / "x.part", lambda *_: None)


def test_a_full_disk_is_told_before_anything_comes(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _path: SimpleNamespace(free=len(CONTENT) - 1))
    with pytest.raises(OSError, match="No space left"):
        fetch(site, tmp_path / "x.part")
    assert (tmp_path / "x.part").stat().st_size == 0


def test_a_disk_that_is_full_on_the_way(site: Site, tmp_path: Path) -> None:
    (tmp_path / "x.part").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as caught:
        fetch(site, tmp_path / "x.part")
    assert caught.value.filename == str(tmp_path / "x.part")


def test_one_download_of_a_file_at_a_time(tmp_path: Path) -> None:
    other = "import sys, pathlib; from master.nets.download import held\nwith held(pathlib.Path(sys.argv[1])): print(1)"
    with held(tmp_path / "x.part"):
        words = [sys.executable, "-c", other, str(tmp_path / "x.part")]
        result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 1 and "another gougi downloads it now" in result.stderr
