"""The page's server over real TCP: its answers, and the clients that it admits and drops."""

from __future__ import annotations

import itertools
import socket
import time

import pytest

from master.config.sections import parse_listen
from master.live import server
from master.live.facts import Fact, fleet_fact
from tests.master.live.served import Served, states
from tests.master.live.told import facts, site
from tests.master.ui.shown import GAME

TOKEN = "a-token-of-24-characters"
STREAM = b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_the_page_asks_nobody_else() -> None:
    with Served() as served:
        answer = served.get("/")
        text = answer.read().decode()
        assert answer.status == 200 and "<title>Gougi</title>" in text
        policy = answer.getheader("Content-Security-Policy") or ""
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy and "http" not in policy
        assert answer.getheader("X-Content-Type-Options") == "nosniff"
        for path, kind in [
            ("/main.js", "text/javascript"),
            ("/page.css", "text/css"),
            ("/vendor/tsshogi.js", "text/javascript"),
        ]:
            answer = served.get(path)
            assert (answer.status, answer.getheader("Content-Type")) == (200, f"{kind}; charset=utf-8")
            assert answer.getheader("Content-Security-Policy") == policy
            answer.read()


def test_the_stream_brings_the_state_and_then_changes() -> None:
    with Served(site(*GAME[:4])) as served:
        stream = states(served.get("/events"))
        first = next(stream)
        assert first["key"] == "1" and first["head"]["command"] == "play"
        assert set(first["sections"]) == {"game", "thoughts", "ended", "fleet", "log", "games"}
        assert first["sections"]["game"]["names"] == ["anna", "bert"]
        served.take(*facts((GAME[1], *GAME[4:6]), begin=2000)[1:])
        second = next(stream)
        assert "head" not in second and set(second["sections"]) == {"game", "thoughts", "ended", "fleet"}
        assert [move["usi"] for move in second["sections"]["game"]["moves"]] == ["7g7f"]
    assert list(stream) == [], "the server said goodbye"


def note_fact(text: str, at: float) -> Fact:
    return {"fact": "note", "at": at, "text": text}


def test_a_viewer_misses_old_states() -> None:
    """However many events come between two states, the newest state is sent, once."""
    with Served() as served:
        stream = states(served.get("/events"))
        next(stream)
        for number in range(2000):
            served.take(fleet_fact("node_joined", {"node": "node-1", "live": number}, float(number)))
        served.take(note_fact("the last", 1.0))
        states_sent = 0
        while True:
            states_sent += 1
            entries = next(stream)["sections"]["log"]["entries"]
            if entries[-1]["name"] == "note":
                break
        assert states_sent < 200
        assert len(entries) == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_changed(method: str) -> None:
    with Served() as served:
        assert served.get("/", method).status == 405


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:1", 200),
        ("127.0.0.1", 200),
        ("[::1]:80", 200),
        ("evil.example", 421),
        ("localhost.evil.example:80", 421),
        ("", 421),
    ],
)
def test_without_a_token_only_this_machines_names_are_answered(host: str, status: int) -> None:
    with Served() as served:
        assert served.get("/", Host=host).status == status


def test_each_game_has_its_own_sections() -> None:
    """Texts are kept for other viewers; versions of two games may be equal."""
    shown = site()
    for fact in facts(begin=2000):
        shown.take(fact)
    hub = server.Hub(shown)
    for name in ("game", "thoughts", "ended"):
        assert shown.section(name, "1") != shown.section(name, "2"), name
        first, second = (hub.text(key, name, 1) for key in ("1", "2"))
        assert first != second, name


def test_a_token_opens_the_page() -> None:
    with Served(token=TOKEN) as served:
        for path in ("/", "/events", "/main.js", "/?token=wrong", "/?token="):
            assert served.get(path, Host="fleet.example").status == 401
        answer = served.get(f"/?token={TOKEN}")
        assert (answer.status, answer.getheader("Location")) == (303, "/"), "the address bar keeps no token"
        cookie = answer.getheader("Set-Cookie") or ""
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie
        assert served.get("/", Cookie=cookie.partition(";")[0]).status == 200
        name, _, value = cookie.partition(";")[0].partition("=")
        assert served.get("/", Cookie=f"{name}=wrong").status == 401
        both = f"{name}={value}; gougi_page_4083=of-another-page-on-this-host"
        assert served.get("/", Cookie=both).status == 200
        assert served.get("/", Authorization=f"Bearer {TOKEN}").status == 200


def test_a_viewer_that_reads_nothing_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SLOW_S", 1.0)
    with Served() as served:
        served.connect(STREAM, receive_buffer=4096)
        quick = states(served.get("/events"))
        next(quick)
        while served.hub.viewers < 2:
            time.sleep(0.01)
        for number in itertools.count():
            served.take(*(note_fact(f"{number} {'x' * 20_000}", float(number)) for _ in range(50)))
            next(quick)
            if served.hub.viewers == 1:
                break
        served.take(note_fact("on it goes", 1.0))
        assert any(state["sections"]["log"]["entries"][-1]["fields"]["text"] == "on it goes" for state in quick)


def test_more_viewers_than_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_VIEWERS", 2)
    with Served() as served:
        streams = [states(served.get("/events")) for _ in range(2)]
        for stream in streams:
            next(stream)
        assert served.get("/events").status == 503
        streams[0].close()


def test_a_port_that_is_taken() -> None:
    with server.listen("127.0.0.1", 0) as taken, server.listen("127.0.0.1", taken.getsockname()[1]) as other:
        assert other.getsockname()[1] != taken.getsockname()[1]
    with server.listen("127.0.0.1", 0) as sock:
        for everywhere in ("0.0.0.0", "::"):
            assert server.address_of(sock, everywhere, "").startswith(f"http://{socket.gethostname()}:")
    with pytest.raises(OSError, match="assign"):
        server.listen("192.0.2.1", 0)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("off", None),
        ("OFF", None),
        ("4082", ("127.0.0.1", 4082)),
        (":0", ("127.0.0.1", 0)),
        ("0.0.0.0:80", ("0.0.0.0", 80)),
        ("[::1]:9", ("::1", 9)),
    ],
)
def test_the_address_at_which_it_listens(text: str, place: tuple[str, int] | None) -> None:
    assert parse_listen(text) == place


@pytest.mark.parametrize("text", ["", "on", "localhost", "1:2:x", "host:65536", "a b:1", "１２"])
def test_an_address_at_which_it_cannot_listen(text: str) -> None:
    with pytest.raises(ValueError, match="expected HOST:PORT, a port, or off"):
        parse_listen(text)
