"""The site in a browser: built strictly, opened from the disk, without a request to any other host."""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.master.analysis.browser import Browser, installed

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="no MkDocs: make docs (.ci/run does)"),
]
in_a_browser = pytest.mark.skipif(
    not installed(), reason="no browser: apt-get install chromium chromium-driver (.ci/run does)"
)
READ = ["index.html", "tutorial/first-game.html", "explanation/state-machines.html", "reference/configuration.html",
        "reference/cli.html", "reference/api/fleet.html", "notebook/index.html"]  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


@contextmanager
def recorder() -> Iterator[tuple[str, list[str]]]:
    """A proxy that refuses everything: its address, and the first line of each request."""
    requests: list[str] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                connection.settimeout(1)
                request = connection.makefile("r", encoding="latin-1").readline().strip()
                if request:  # browsers also open connections ahead, and may never use them
                    requests.append(request)
                    connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}", requests
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def of_pages(requests: list[str]) -> list[str]:
    """The requests without those that the browser makes by itself, for any page."""
    own = r"\.google(apis)?\.com\b|\bgvt1\.com\b|\bstart\.duckduckgo\.com\b"
    return [line for line in requests if not re.search(own, line)]


def test_every_page_is_there(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert pages <= {path.relative_to(site) for path in site.rglob("*.html")}


def test_no_generated_part_is_left_open(site: Path) -> None:
    assert [path for path in site.rglob("*.html") if "<!-- generated" in path.read_text(encoding="utf-8")] == []


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    loaded = re.compile(
        r"<(?:script|img|iframe|link(?! rel=\"?canonical))\b[^>]*?(?:src|href)=[\"']?(?:https?:)?//[^>]*>"
    )
    found = {path.name: loaded.findall(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    assert {name: tags for name, tags in found.items() if tags} == {}


@in_a_browser
def test_a_reader_without_network_reads_and_searches(site: Path, tmp_path: Path) -> None:
    with recorder() as (address, requests):
        with Browser(tmp_path / "profile", f"--proxy-server={address}") as browser:
            for page in READ:
                browser.open(site / page)
                assert browser.run("return document.querySelector('h1').innerText.length") > 0
                broken = "[...document.images].filter(image => !image.naturalWidth).map(image => image.src)"
                assert browser.run(f"return {broken}") == []
            browser.open(site / "index.html")
            browser.click(".md-search__input")
            browser.run(
                "const box = document.querySelector('.md-search__input'); box.focus(); box.value = 'byoyomi';"
                "box.dispatchEvent(new Event('input', {bubbles: true}));"
                "box.dispatchEvent(new KeyboardEvent('keyup', {bubbles: true}));"
            )
            found = wait_for(browser, "return document.querySelector('.md-search-result__link')?.href")
            assert ".html" in found
        assert of_pages(requests) == []


def wait_for(browser: Browser, script: str) -> str:
    """Run the script until its result is not empty, and return that."""
    return str(browser.run(
        "return new Promise((done, fail) => { const look = () => { const found = (() => {" + script + "})();"
        "if (found) done(found); else if (++tries > 600) fail('nothing found'); else setTimeout(look, 100); };"
        "let tries = 0; look(); })"
    ))  # fmt: skip
