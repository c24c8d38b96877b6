"""Sharing between nodes over real sockets."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
import zmq

from cluster.network.channel import ChannelAddress
from cluster.network.messages import Peers, Shared
from cluster.sharing.node import ShareLink, Source, TableSharing
from cluster.sharing.table import CHANGE_BYTES
from tests.cluster.sharers import MEANING, DictTable, Sharer
from tests.waiting import wait_for
from worker.engine import Entries

Start = Callable[..., list[Sharer]]


@pytest.fixture
def keys() -> ChannelAddress:
    return ChannelAddress("tcp://127.0.0.1:9", b"unused", *zmq.curve_keypair())


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[Sharer] = []
    ours: list[Sharer] = []

    def begin(*names: str, strange: bool = False, meaning: str = MEANING, called: str = "") -> list[Sharer]:
        new = [Sharer(name, [] if strange else ours, meaning, called) for name in names]
        started.extend(new)
        return new

    yield begin
    for sharer in started:
        sharer.close()


def some_entries(first: int, count: int = 10) -> Entries:
    keys = np.arange(first, first + count, dtype=np.uint64)
    return np.stack([keys, keys * np.uint64(3)], axis=1)


def arrived(sharer: Sharer, first: int) -> bool:
    return sharer.table.known.get(first) == first * 3


def connect(*sharers: Sharer, bytes_per_s: int = 10_000_000) -> None:
    """Connect all to all others; returns when it is done. Their tables have 900 entries or more then."""
    for sharer in sharers:
        sharer.hear(*(other for other in sharers if other is not sharer), bytes_per_s=bytes_per_s)
        sharer.search()
    for number, sharer in enumerate(sharers):
        others = [other for other in sharers if other is not sharer]

        def heard(sharer: Sharer = sharer, number: int = number, others: list[Sharer] = others) -> bool:
            sharer.table.put(some_entries(900 + 10 * number))
            return all(arrived(other, 900 + 10 * number) for other in others)

        wait_for(heard)


def test_the_end_of_a_search_is_reported_and_its_last_entries_go_out(start: Start) -> None:
    a, b = start("a", "b")
    connect(a, b)
    assert a.table.min_depth == 2
    a.table.put(some_entries(100))
    a.stop()
    wait_for(lambda: arrived(b, 100))
    b.stop()
    wait_for(lambda: bool(a.reports and b.reports))
    sent, taken = a.reports[0], b.reports[0]
    assert isinstance(sent, Shared)
    assert (sent.node_id, taken.node_id) == ("a", "b")
    assert sent.entries_out >= 20
    assert sent.bytes_out == taken.bytes_in > taken.entries_in * 16
    assert taken.entries_in == sent.entries_out
    assert 0 < taken.used <= taken.entries_in
    assert (taken.lost, taken.refused, sent.dropped) == (0, 0, 0)


def test_changes_of_histories_go_to_equals_within_their_part_of_the_rate(start: Start) -> None:
    a, b = start("a", "b")
    (stranger,) = start("c", meaning=MEANING[:16] + "0" * 16)
    connect(a, b, bytes_per_s=2_000_000)
    stranger.hear(a)
    stranger.search()

    def heard() -> bool:
        a.table.put(some_entries(100))
        return stranger.table.known.get(100) == -300

    wait_for(heard)
    for value in range(1, 6):
        a.table.change(np.arange(100), value)
        wait_for(lambda value=value: b.table.values == dict.fromkeys(range(100), value))
    began = time.monotonic()
    for first in range(0, 2_000_000, 10_000):
        a.table.change(np.arange(first, first + 10_000), 7)
    wait_for(lambda: b.table.values[0] == 7)
    a.stop()
    wait_for(lambda: bool(a.reports))
    sent = sum(report.changes_out for report in a.reports)
    # Two listeners get an eighth of the rate together; a quarter of a second may have been saved up.
    assert 500 < sent * CHANGE_BYTES * 2 <= 2_000_000 / 8 * (time.monotonic() - began + 1)
    assert stranger.table.values == {}, "its evaluation is another one"


def test_at_rest_a_table_still_takes_others_entries(start: Start) -> None:
    a, b = start("a", "b")
    connect(a, b)
    b.stop()
    wait_for(lambda: bool(b.reports))  # sent after the last exchange of its search
    a.table.put(some_entries(100))
    wait_for(lambda: arrived(b, 100))


def test_a_peer_that_stands_still_blocks_nobody(start: Start) -> None:
    a, b, c = start("a", "b", "c")
    connect(a, b, c)
    with b.table.lock:
        for number in range(300):
            a.table.put(some_entries(10_000 + 1000 * number, 1000))

        def still_heard() -> bool:
            a.table.put(some_entries(500_000))
            return arrived(c, 500_000)

        wait_for(still_heard)
    a.table.put(some_entries(100))
    wait_for(lambda: arrived(b, 100))


def test_a_peer_that_dies_is_forgotten_and_its_successor_heard(start: Start) -> None:
    a, b, c = start("a", "b", "c")
    connect(a, b, c)
    b.close()
    a.table.put(some_entries(100))
    wait_for(lambda: arrived(c, 100))
    (successor,) = start("b2")
    connect(a, c, successor)


def test_a_node_no_longer_named_is_not_heard(start: Start) -> None:
    a, b, c = start("a", "b", "c")
    connect(a, b, c)
    c.hear(b)

    def silent() -> bool:
        """Both write; ``c`` gets the entries of ``b``, and not those that ``a`` wrote before."""
        first = 10_000 + time.monotonic_ns() % 1_000_000_000 * 100
        a.table.put(some_entries(first))
        wait_for(lambda: arrived(b, first))
        b.table.put(some_entries(first + 50))
        wait_for(lambda: arrived(c, first + 50))
        return not arrived(c, first)

    wait_for(silent)


def test_the_rate_is_kept_and_the_depth_follows(start: Start) -> None:
    a, b = start("a", "b")
    connect(a, b, bytes_per_s=100_000)
    assert a.table.min_depth == 2

    def too_much() -> bool:
        a.table.put(some_entries(100_000, 2000))
        return (a.table.min_depth or 0) > 4

    wait_for(too_much)
    a.stop()
    wait_for(lambda: bool(a.reports))
    (said,) = a.reports
    assert said.dropped > 0
    assert said.bytes_out <= 100_000 * (said.time_ms / 1000 + 0.3)


def test_entries_of_earlier_searches_are_no_part_of_a_searchs_rate(start: Start) -> None:
    a, b = start("a", "b")
    connect(a, b, bytes_per_s=40_000)
    for number in range(1, 21):
        a.search()
        a.table.put(some_entries(1000 * number, 100))
        wait_for(lambda number=number: arrived(b, 1000 * number))  # type: ignore[misc]
        a.stop()
        wait_for(lambda number=number: len(a.reports) == number)  # type: ignore[misc]
    a.search()
    time.sleep(0.3)
    assert a.table.min_depth == 2


def test_nothing_is_collected_without_listeners(start: Start) -> None:
    a, b = start("a", "b")
    a.search()
    assert a.table.min_depth is None
    connect(a, b)
    assert a.table.min_depth == 2
    b.hear()
    wait_for(lambda: a.table.min_depth is None)


def test_an_unnamed_node_does_not_listen_and_one_without_the_key_is_not_heard(start: Start) -> None:
    a, b = start("a", "b")
    (stranger,) = start("s", strange=True)
    stranger.hear(a, b)
    stranger.search()
    stranger.key = a.key  # it is taken for a member of the fleet
    a.hear(b, stranger)
    b.hear(a, stranger)
    for sharer in (a, b):
        sharer.search()
    with zmq.Context() as context, context.socket(zmq.SUB) as plain, context.socket(zmq.SUB) as knowing:
        # The second one has the address, but no key.
        knowing.curve_serverkey = a.key.encode()
        knowing.curve_publickey, knowing.curve_secretkey = zmq.curve_keypair()
        for listener in (plain, knowing):
            listener.linger = 0
            listener.subscribe(b"")
            listener.connect(a.url)

        def heard() -> bool:
            a.table.put(some_entries(100))
            stranger.table.put(some_entries(500))
            return arrived(b, 100)

        wait_for(heard)
        time.sleep(0.5)
        heard()
        for listener in (plain, knowing):
            with pytest.raises(zmq.Again):
                listener.recv(zmq.DONTWAIT)
    assert not stranger.table.known
    assert 500 not in a.table.known | b.table.known


def test_the_entries_of_another_build_are_not_used(start: Start) -> None:
    (a,) = start("a")
    (b,) = start("b", meaning="f" * 32)
    a.hear(b)
    b.hear(a)
    a.search()
    b.search()

    def refused() -> bool:
        a.table.put(some_entries(100))
        b.stop()
        b.search()
        return any(report.refused for report in b.reports)

    wait_for(refused)
    assert not b.table.known


def test_of_another_network_only_the_moves_are_used(start: Start) -> None:
    (a,) = start("a")
    (b,) = start("b", meaning=MEANING[:16] + "f" * 16)
    a.hear(b)
    b.hear(a)
    a.search()
    b.search()

    def moved() -> bool:
        a.table.put(some_entries(100))
        b.table.put(some_entries(200))
        return bool(a.table.known) and bool(b.table.known)

    wait_for(moved)
    assert all(word < 0 for sharer in (a, b) for word in sharer.table.known.values())


def test_nobody_takes_anothers_name(start: Start) -> None:
    """Not even a member of the fleet."""
    a, b = start("a", "b")
    (liar,) = start("c", called="b")
    for sharer in (a, b, liar):
        sharer.hear(*(other for other in (a, b, liar) if other is not sharer))
        sharer.search()

    def refused() -> bool:
        liar.table.put(some_entries(500))
        b.table.put(some_entries(100))
        a.stop()
        a.search()
        return any(report.refused for report in a.reports) and arrived(a, 100)

    wait_for(refused)
    assert 500 not in a.table.known
    liar.hear(b)  # it poses as b at the address at which a looks for b: the key differs
    b.close()
    b.url = liar.url
    a.hear(b)
    wait_for(lambda: a.table.min_depth is None)
    liar.table.put(some_entries(700))
    time.sleep(0.5)
    assert 700 not in a.table.known


def test_a_listener_that_came_too_early_comes_again(keys: ChannelAddress) -> None:
    """Both get the master's message at the same time; ZeroMQ itself would not try again."""
    public, secret = zmq.curve_keypair()
    link, other = ShareLink(keys), ShareLink(replace(keys, client_public=public, client_secret=secret))
    other.listen_to([Source("n1", link.url, keys.client_public.decode())])
    wait_for(lambda: link.refused > 0)
    link.admit([public.decode()])

    def heard() -> bool:
        link.publish(b"batch")
        other.wait(0.05)
        return other.receive() != []

    wait_for(heard)
    other.close()
    link.close()


def test_garbage_is_refused_and_the_rest_goes_on(start: Start, keys: ChannelAddress) -> None:
    a, b = start("a", "b")
    with zmq.Context() as context, context.socket(zmq.PUB) as garbage:
        garbage.linger = 0
        garbage.curve_server = True
        garbage.curve_publickey, garbage.curve_secretkey = keys.client_public, keys.client_secret
        port = garbage.bind_to_random_port("tcp://127.0.0.1")
        key = keys.client_public.decode()
        urls = (f"tcp://127.0.0.1:{port}", b.url, "no address at all")
        a.sharing.take(Peers(urls, ("c", "b", "d"), (key, b.key, key), (b.key,), 1_000_000))
        b.hear(a)
        a.search()
        b.search()

        def refused() -> bool:
            garbage.send(b"garbage")
            garbage.send(b"GGE1" + bytes(60))
            a.stop()
            time.sleep(0.02)
            a.search()
            return any(report.refused for report in a.reports)

        wait_for(refused)

        def heard() -> bool:
            b.table.put(some_entries(100))
            return arrived(a, 100)

        wait_for(heard)
    assert a.table.known.keys() == set(range(100, 110))


def test_no_way_to_the_master_or_no_meaning(keys: ChannelAddress) -> None:
    table = DictTable()
    with pytest.raises(OSError, match=r"256\.1\.1\.1"):
        TableSharing("a/x", table, replace(keys, url="tcp://256.1.1.1:5"), 2, lambda: False, lambda _said: None)
    with pytest.raises(ValueError, match="'abc'"):
        TableSharing("a/x", DictTable("abc"), keys, 2, lambda: False, lambda _said: None)


def test_a_table_that_fails_takes_no_part_any_more(keys: ChannelAddress, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(DictTable):
        def share(self, min_depth: int | None) -> None:
            if min_depth is not None or not failed:
                failed.append(1)
                raise RuntimeError("out of order")

    failed: list[int] = []
    sharing = TableSharing("a/x", Broken(), keys, 2, lambda: True, lambda _said: None)
    sharing.take(Peers((), (), (), (), 1))
    wait_for(lambda: bool(failed))
    sharing.close()
    sharing.close()
    sharing.wake()
    sharing.take(Peers((), (), (), (), 1))
    assert "sharing failed and is off" in caplog.text


@pytest.mark.slow
def test_a_node_at_rest_outlives_the_one_that_it_listens_to(keys: ChannelAddress) -> None:
    """With heartbeats of ZeroMQ's own, libzmq 4.3.5 ends the sharer here: ``Assertion failed: !_io_error``."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.cluster.full_queue", "listen"],
        input=f"{keys.client_public.decode()} {keys.client_secret.decode()}\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout.split()) == (0, ["alive"]), done.stderr
