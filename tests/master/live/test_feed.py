"""The page's own process: the master's events reach a browser, and its failures reach no game."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from urllib.parse import urlsplit

import pytest

from master.live import feed
from master.live.feed import Feed, PageSettings
from tests.answers import root_line
from tests.master.live.served import states
from tests.master.live.told import HEAD
from tests.master.ui.shown import GAME, PROGRESS


class Told:
    """The reports of a feed."""

    def __init__(self) -> None:
        self.urls: SimpleQueue[str] = SimpleQueue()
        self.troubles: SimpleQueue[str] = SimpleQueue()


@contextmanager
def fed(**settings: object) -> Iterator[tuple[Feed, Told]]:
    told = Told()
    page = Feed(PageSettings(head=HEAD, **settings), told.urls.put, told.troubles.put)  # type: ignore[arg-type]
    page.start()
    try:
        yield page, told
    finally:
        page.close()


def stream(url: str) -> Iterator[dict[str, dict[str, object]]]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    connection.request("GET", "/events")
    return iter(states(connection.getresponse()))


def until(seen: Iterator[dict[str, dict[str, object]]], section: str) -> dict[str, object]:
    return next(state["sections"][section] for state in seen if section in state["sections"])  # type: ignore[return-value]


def test_a_game_comes_to_a_browser() -> None:
    with fed() as (page, told):
        seen = stream(told.urls.get(timeout=60))
        page.fleet_event("node_joined", {"node": "node-1", "live": 1})
        for event in GAME:
            page.observe(event)
        while True:
            game = until(seen, "game")
            if game["result"]:
                break
        assert [move["usi"] for move in game["moves"]] == ["7g7f", "3c3d"]  # type: ignore[attr-defined]
        page.close()
        list(seen)  # it ends, because the page says goodbye
    assert told.troubles.empty()


def test_of_a_search_the_newest_state_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand reports are a few facts, and the last one is among them."""
    sent: list[object] = []
    send = feed._send
    monkeypatch.setattr(feed, "_send", lambda to_page, value: (sent.append(value), send(to_page, value)))
    with fed() as (page, told):
        told.urls.get(timeout=60)
        for event in GAME[:3]:
            page.observe(event)
        for depth in range(1000):
            page.observe(replace(PROGRESS, lines=(root_line(55, depth, PROGRESS.pv),)))
        page.close()
    depths = [fact["depth"] for fact in sent if isinstance(fact, dict) and fact.get("fact") == "progress"]
    assert depths[-1] == 999 and depths == sorted(depths)
    assert len(depths) < 500


def test_a_page_that_is_killed_is_told_once_and_the_game_goes_on() -> None:
    with fed() as (page, told):
        told.urls.get(timeout=60)
        assert page._process is not None
        os.kill(page._process.pid, signal.SIGKILL)
        page._process.wait(30)
        while told.troubles.empty():
            page.observe(GAME[1])
            time.sleep(0.01)
        for _ in range(100):
            page.observe(GAME[1])
        assert page._queue.qsize() < 5, "nothing is kept for a page that is gone"
    assert told.troubles.qsize() == 1


def test_a_page_that_is_stopped_takes_no_time_of_the_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGSTOP: the worst kind of slow. Events go into the queue, then the page is given up."""
    monkeypatch.setattr(feed, "_STUCK_S", 0.5)
    with fed() as (page, told):
        told.urls.get(timeout=60)
        assert page._process is not None
        os.kill(page._process.pid, signal.SIGSTOP)
        begun = threading.Event()

        def play() -> None:
            for number in range(4000):
                page.fleet_event("node_lost", {"node": f"node-{number}", "reason": "x" * 1000})
            begun.set()

        threading.Thread(target=play, daemon=True).start()
        assert begun.wait(60), "the game waits for the page"
        assert "timed out" in told.troubles.get(timeout=60)
        os.kill(page._process.pid, signal.SIGCONT)


def test_it_ends_with_its_master() -> None:
    """After any end of its master, its input ends, and so does it."""
    script = (
        "import os, sys, time; from master.live.feed import Feed, PageSettings\n"
        "page = Feed(PageSettings(), lambda url: None, print); page.start()\n"
        "print(page._process.pid, flush=True); sys.stdin.read(); os._exit(9)"
    )
    master = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert master.stdin is not None and master.stdout is not None
    pid = int(master.stdout.readline())
    master.stdin.close()
    master.wait(60)
    master.stdout.close()
    while Path(f"/proc/{pid}").exists() and "State:\tZ" not in Path(f"/proc/{pid}/status").read_text():
        time.sleep(0.05)


def test_machines_without_a_page() -> None:
    with fed(host="192.0.2.1", token="a-token-of-24-characters") as (_page, told):
        assert "192.0.2.1:0: " in told.troubles.get(timeout=60)
    assert told.urls.empty()


def test_secrets_are_in_no_argument_and_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    token = "a-token-of-24-characters"
    monkeypatch.setenv("GOUGI_CSA_PASSWORD", "hush-4711")
    with fed(host="0.0.0.0", token=token) as (page, told):
        assert told.urls.get(timeout=60).endswith(f"/?token={token}")
        assert page._process is not None
        for name in ("cmdline", "environ"):
            known = Path(f"/proc/{page._process.pid}/{name}").read_bytes()
            assert token.encode() not in known and b"hush-4711" not in known
