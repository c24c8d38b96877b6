"""Batches, rates and the choice of listeners: all without a socket."""

from __future__ import annotations

import asyncio
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.network.messages import Hello, Peers, Shared
from cluster.sharing.master import FleetSharing, Peering, SharedSum
from cluster.sharing.table import (
    CHANGE_BYTES,
    DEEPEST,
    ENTRY_BYTES,
    MOST_ENTRIES,
    Batch,
    BatchError,
    ForeignBatch,
    Sequences,
    ShareDepth,
    TokenBucket,
    decode_batch,
    encode_batch,
    header_bytes,
    hears,
    listens_to,
    thinned,
)
from worker.engine import Entries, HistoryChanges

MEANING = bytes(range(16))
WORDS = st.integers(0, 2**64 - 1)
VALUES = st.integers(-(2**15) + 1, 2**15 - 1)
HEADER = "<4s16sQIIB"
COUNTS = "bytes_out", "entries_out", "dropped", "bytes_in", "entries_in", "changes_out", "changes_in", "used", "lost"


SHALLOWEST = 2


def entries(*pairs: tuple[int, int]) -> Entries:
    return np.array(pairs, np.uint64).reshape(len(pairs), 2)


def changes(*pairs: tuple[int, int]) -> HistoryChanges:
    places, values = zip(*pairs, strict=True) if pairs else ((), ())
    return HistoryChanges(np.array(places, np.uint32), np.array(values, np.int16))


def batch_of(peer: str, sequence: int = 0, meaning: bytes = MEANING) -> bytes:
    """A batch with an entry and a change."""
    return encode_batch(peer, meaning, sequence, entries((1, 2)), changes((3, -4)))


def shared(node_id: str = "n1", **counts: int) -> Shared:
    fields = dict.fromkeys(COUNTS, 0)
    return Shared(node_id, **{"time_ms": 1000, "min_depth": 2, "refused": 0, **fields, **counts})


# --- batches


@given(
    peer=st.text(min_size=1, max_size=60),
    sequence=st.integers(0, 2**64 - 1),
    pairs=st.lists(st.tuples(WORDS, WORDS), max_size=50),
    changed=st.dictionaries(st.integers(0, 2**32 - 1) | st.integers(0, 2**18), VALUES, max_size=50),
)
def test_a_batch_comes_back_as_it_went(
    peer: str, sequence: int, pairs: list[tuple[int, int]], changed: dict[int, int]
) -> None:
    ordered = sorted(changed.items())
    data = encode_batch(peer, MEANING, sequence, entries(*pairs), changes(*ordered))
    least = header_bytes(peer) + ENTRY_BYTES * len(pairs) + CHANGE_BYTES * len(changed)
    assert least <= len(data) <= least + CHANGE_BYTES * (max(changed, default=0) // 65535)
    batch = decode_batch(data, MEANING, peer.rpartition("/")[0])
    assert (batch.peer, batch.sequence) == (peer, sequence)
    assert batch.entries.dtype == np.uint64
    assert batch.entries.tolist() == [list(pair) for pair in pairs]
    assert list(zip(batch.changes.places.tolist(), batch.changes.values.tolist(), strict=True)) == ordered


@pytest.mark.parametrize(("peer", "meaning"), [("", MEANING), ("n" * 256, MEANING), ("n", MEANING[1:])])
def test_entries_that_cannot_be_sent(peer: str, meaning: bytes) -> None:
    with pytest.raises(ValueError, match="bytes"):
        batch_of(peer, meaning=meaning)


@given(data=st.binary(max_size=200))
def test_any_bytes_are_refused_in_words(data: bytes) -> None:
    with pytest.raises(BatchError, match=r"^batch: "):
        decode_batch(data, MEANING, "n1")


@given(cut=st.integers(0, 10_000), change=st.integers(1, 255), at=st.integers(0, 10_000))
def test_a_damaged_batch_is_refused_or_well_formed(cut: int, change: int, at: int) -> None:
    data = encode_batch("n1/ab", MEANING, 7, entries((1, 2), (3, 4)), changes((5, 6)))
    with pytest.raises(BatchError, match=r"^batch: .* bytes"):
        decode_batch(data[: cut % len(data)], MEANING, "n1")
    damaged = bytearray(data)
    damaged[at % len(data)] ^= change
    try:
        batch = decode_batch(bytes(damaged), MEANING, "n1")
    except BatchError:
        return
    assert batch.entries.shape == (2, 2)
    assert len(batch.changes.places) == len(batch.changes.values) == 1


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"GGE2", "4 bytes, its header alone has 37"),
        (batch_of("n") + b"x", "59 bytes, with 1 entries and 1 changes it has 58"),
        (
            struct.pack(HEADER, b"GGE2", MEANING, 0, MOST_ENTRIES + 1, 0, 1) + b"n",
            f"{MOST_ENTRIES + 1} entries and 0 changes: too many",
        ),
        (struct.pack(HEADER, b"GGE0", MEANING, 0, 0, 0, 1) + b"n", "begins with b'GGE0'"),
        (struct.pack(HEADER, b"GGE2", MEANING, 0, 0, 0, 1) + b"\xff", "no UTF-8"),
        (struct.pack(HEADER, b"GGE2", MEANING, 0, 0, 0, 0), "in the name of ''"),
        (batch_of("n2/ab"), "batch of n1: in the name of 'n2/ab'"),
        (batch_of("n1"), "batch of n1: in the name of 'n1'"),
    ],
)
def test_a_refusal_names_the_fault_and_the_place(data: bytes, why: str) -> None:
    with pytest.raises(BatchError, match=why):
        decode_batch(data, MEANING, "n1")


# --- rates


@given(shallow_rate=st.floats(1, 1e9), ratio=st.floats(1.3, 2.9), limit=st.floats(1e4, 1e8))
def test_the_depth_settles_within_the_rate(shallow_rate: float, ratio: float, limit: float) -> None:
    """A search that writes ``shallow_rate`` bytes a second at depth 2, and at each further depth the ratio-th part of
    it (measured: 1.7)."""
    chosen = ShareDepth(SHALLOWEST)

    def rate(depth: int) -> float:
        return shallow_rate / ratio ** (depth - SHALLOWEST)

    depths = [chosen.observe(int(rate(chosen.depth) / 10), 0.1, limit) for _ in range(400)]
    assert len(set(depths[-50:])) == 1
    # A byte is lost to rounding.
    assert rate(depths[-1]) <= limit + 10
    assert depths[-1] == SHALLOWEST or rate(depths[-1]) >= limit / 3


@given(shallow_rate=st.floats(1e6, 1e9), ratio=st.floats(3.1, 8))
def test_if_no_depth_uses_the_rate_well_it_seldom_exceeds_it(shallow_rate: float, ratio: float) -> None:
    chosen, limit = ShareDepth(SHALLOWEST), 1e6

    def rate(depth: int) -> float:
        return shallow_rate / ratio ** (depth - SHALLOWEST)

    depths = [chosen.observe(int(rate(chosen.depth) / 10), 0.1, limit) for _ in range(400)]
    assert sum(rate(depth) > limit + 10 for depth in depths[-100:]) <= 100 / 3


def test_the_depth_rises_at_once_and_falls_slowly() -> None:
    chosen = ShareDepth(SHALLOWEST)
    assert chosen.observe(800, 0.1, 1000) == SHALLOWEST + 3
    assert [chosen.observe(10, 0.1, 1000) for _ in range(5)] == [5, 5, 5, 5, 4]
    for _ in range(100):
        chosen.observe(0, 0.1, 1000)
    assert chosen.depth == SHALLOWEST
    for _ in range(100):
        chosen.observe(10**12, 0.1, 1000)
    assert chosen.depth == DEEPEST


@given(
    limit=st.floats(1_000, 1e8),
    ticks=st.lists(st.tuples(st.floats(0.001, 1), st.integers(0, 20_000)), min_size=1, max_size=60),
)
def test_no_more_is_sent_than_the_rate_allows(limit: float, ticks: list[tuple[float, int]]) -> None:
    budget, sent, time = TokenBucket(), 0, 0.0
    for seconds, wanted in ticks:
        time += seconds
        budget.refill(seconds, limit)
        count = min(wanted, budget.room(ENTRY_BYTES, 40))
        if count:
            budget.spend(40 + count * ENTRY_BYTES)
            sent += 40 + count * ENTRY_BYTES
    assert sent <= limit * time + 1


def test_missing_batches_are_counted() -> None:
    sequences = Sequences()

    def lost(peer: str, number: int) -> int:
        return sequences.lost(Batch(peer, number, entries(), changes()))

    assert [lost("a", 5), lost("a", 6), lost("a", 9), lost("b", 100), lost("a", 10)] == [0, 0, 2, 0, 0]
    assert [lost("a", 0), lost("a", 1)] == [0, 0]


# --- listeners


@given(count=st.integers(1, 1000), most=st.integers(2, 20), data=st.data())
def test_everyone_hears_and_is_heard_by_as_many(count: int, most: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, count - 1))
    heard = listens_to(index, count, most)
    assert len(heard) == len(set(heard)) == min(most, count - 1)
    assert index not in heard
    assert all(0 <= other < count for other in heard)
    hearers = sum(index in listens_to(other, count, most) for other in range(count)) if count < 60 else len(heard)
    assert hearers == len(heard)


def test_a_thousand_nodes_are_a_few_steps_apart() -> None:
    steps, reached, edge = 0, {0}, {0}
    while len(reached) < 1000:
        edge = {other for index in edge for other in listens_to(index, 1000)} - reached
        assert edge
        reached |= edge
        steps += 1
    assert steps <= 5


def key(node_id: str) -> str:
    return f"{node_id}-".ljust(40, "k")


def hello(number: int, meaning: str = "aa", url: str | None = None) -> Hello:
    url = f"tcp://10.0.0.{number}:5" if url is None else url
    return Hello(f"n{number}", "x", "h", 1, "e", share_url=url, share_meaning=meaning)


def test_all_hear_all_others_and_are_told_once() -> None:
    peering = Peering(1000, key)
    for number in (1, 2, 3):
        peering.said_hello(hello(number))
    orders = dict(peering.orders(["n1", "n2", "n3", "fallback"]))
    assert orders["n2"].urls == ("tcp://10.0.0.1:5", "tcp://10.0.0.3:5")
    assert orders["n2"].bytes_per_s == 1000
    assert set(orders) == {"n1", "n2", "n3"}
    assert peering.orders(["n1", "n2", "n3"]) == []
    assert (orders["n2"].names, orders["n2"].keys) == (("n1", "n3"), (key("n1"), key("n3")))
    assert orders["n2"].listeners == (key("n1"), key("n3"))
    left = dict(peering.orders(["n1", "n3"]))
    assert left["n1"].listeners == (key("n3"),)
    assert left["n1"].urls == ("tcp://10.0.0.3:5",)
    assert set(left) == {"n1", "n3"}


def test_a_node_that_is_alone_has_nothing_to_do_until_another_comes() -> None:
    peering = Peering(1000, key)
    for number, meaning in ((1, "aa"), (2, "bb"), (3, "aa")):
        peering.said_hello(hello(number, meaning))
    assert [peers.bytes_per_s for _, peers in peering.orders(["n1", "n2"])] == [0, 0]
    assert {node: peers.bytes_per_s for node, peers in peering.orders(["n1", "n2", "n3"])} == {"n1": 1000, "n3": 1000}
    assert dict(peering.orders(["n1", "n2"]))["n1"].bytes_per_s == 0


def test_others_are_heard_for_their_moves_but_not_another_build() -> None:
    peering = Peering(1000, key)
    same, other, build = "a" * 32, "a" * 16 + "b" * 16, "c" * 32
    for number, meaning in ((1, same), (2, other), (3, same), (4, build)):
        peering.said_hello(hello(number, meaning))
    peering.said_hello(hello(5, "", url=""))
    orders = dict(peering.orders(["n1", "n2", "n3", "n4", "n5"]))
    assert {node: order.names for node, order in orders.items()} == {
        "n1": ("n2", "n3"),
        "n2": ("n1", "n3"),
        "n3": ("n1", "n2"),
        "n4": (),
    }
    assert orders["n4"].bytes_per_s == 0


def nodes_of(count: int) -> st.SearchStrategy[list[tuple[str, str]]]:
    return st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("cde")), min_size=count, max_size=count)


@given(st.integers(1, 60).flatmap(nodes_of))
def test_the_choice_of_listeners(nodes: list[tuple[str, str]]) -> None:
    """Two builds with three networks each, in any number."""
    meanings = [build * 16 + net * 16 for build, net in nodes]
    heard = hears(meanings)
    for index, those in enumerate(heard):
        family = [other for other in range(len(nodes)) if nodes[other][0] == nodes[index][0] and other != index]
        assert len(set(those)) == len(those) <= 16
        assert set(those) <= set(family)
        assert sum(index in others for others in heard) <= 16, "listeners"
        alike = [other for other in family if meanings[other] == meanings[index]]
        if len(family) <= 16:
            assert set(those) == set(family)
        elif len(alike) <= 12:
            assert set(alike) <= set(those)
    for build, _ in nodes:
        family = [index for index, node in enumerate(nodes) if node[0] == build]
        mixed = len({meanings[index] for index in family}) > 1
        foreign = [index for index in family if any(meanings[other] != meanings[index] for other in heard[index])]
        assert bool(foreign) == mixed


@given(st.sampled_from("0123456789abcdef"), st.integers(0, 31))
def test_a_batch_of_another_network_has_only_moves(digit: str, at: int) -> None:
    """If the meanings differ, its entries are never taken as our own."""
    ours = "7" * 32
    theirs = ours[:at] + digit + ours[at + 1 :]
    data = batch_of("n2/ab", meaning=bytes.fromhex(theirs))
    if at < 16 and theirs != ours:
        with pytest.raises(ForeignBatch):
            decode_batch(data, bytes.fromhex(ours), "n2")
    else:
        assert decode_batch(data, bytes.fromhex(ours), "n2").moves_only == (theirs != ours)


def test_a_returning_or_restarted_node_is_told_again() -> None:
    peering = Peering(1000, key)
    peering.said_hello(hello(1))
    peering.said_hello(hello(2))
    peering.orders(["n1", "n2"])
    peering.came_back("n1")
    assert [node for node, _ in peering.orders(["n1", "n2"])] == ["n1"]
    peering.said_hello(hello(2, url="tcp://10.0.0.2:6"))
    assert {node: order.urls for node, order in peering.orders(["n1", "n2"])} == {
        "n1": ("tcp://10.0.0.2:6",),
        "n2": ("tcp://10.0.0.1:5",),
    }


def test_the_log_gets_sums_and_rates() -> None:
    total = SharedSum()
    total.add(
        shared("n1", bytes_out=3000, entries_out=100, bytes_in=2000, entries_in=80, used=20, min_depth=4, changes_out=7)
    )
    total.add(shared("n2", bytes_out=1000, entries_out=50, bytes_in=2000, entries_in=120, used=80, lost=3))
    assert total.take() == {
        "nodes": 2,
        "bytes_out_per_s": 2000,
        "bytes_in_per_s": 2000,
        "entries_out": 150,
        "entries_in": 200,
        "changes_out": 7,
        "changes_in": 0,
        "used_share": 0.5,
        "min_depth": 4,
        "dropped": 0,
        "lost_batches": 3,
        "refused": 0,
    }
    total.add(shared("n1", bytes_out=500, time_ms=0))
    assert total.take()["bytes_out_per_s"] == 500_000


def test_too_many_entries_are_left_out_evenly() -> None:
    two_threads = entries(*((thread, number) for thread in (1, 2) for number in range(500)))
    kept = thinned(two_threads, 100)
    assert [int((kept[:, 0] == thread).sum()) for thread in (1, 2)] == [50, 50]
    assert thinned(two_threads, 1000) is two_threads
    assert len(thinned(two_threads, 0)) == 0 and len(thinned(two_threads, 1)) == 1


class Master:
    def __init__(self) -> None:
        self.live: list[str] = []
        self.sent: list[tuple[str, Peers]] = []
        self.logged: list[tuple[str, dict[str, object]]] = []
        self.sharing = FleetSharing(
            1000,
            lambda node_id: node_id.ljust(40, "k"),
            lambda: self.live,
            lambda node_id, peers: self.sent.append((node_id, peers)),
            self._log,
        )
        self._news = asyncio.Event()

    def _log(self, name: str, fields: dict[str, object]) -> None:
        self.logged.append((name, fields))
        self._news.set()

    def join(self, number: int) -> None:
        said = hello(number)
        self.live.append(said.node_id)
        self.sharing.said_hello(said)
        self.sharing.joined(said.node_id)

    async def until_logged(self, name: str) -> dict[str, object]:
        async with asyncio.timeout(10):
            while not (found := [fields for logged, fields in self.logged if logged == name]):
                self._news.clear()
                await self._news.wait()
        self.logged.clear()
        return found[-1]


async def test_joint_arrivals_and_departures_are_announced_once() -> None:
    master = Master()
    for number in (1, 2, 3):
        master.join(number)
    assert await master.until_logged("sharing") == {"told": 3, "listen_to": 2}
    assert sorted(node for node, _ in master.sent) == ["n1", "n2", "n3"]
    master.sent.clear()
    master.live.remove("n2")
    master.sharing.fleet_changed()
    assert await master.until_logged("sharing") == {"told": 2, "listen_to": 1}
    assert dict(master.sent)["n1"].urls == ("tcp://10.0.0.3:5",)
    master.sharing.close()


async def test_the_nodes_reports_on_one_search_are_one_line() -> None:
    master = Master()
    for node_id in ("n1", "n2"):
        master.sharing.heard(Shared(node_id, 1000, 3, 400, 20, 0, 300, 20, 6, 5, 15, 0, 0))
    fields = await master.until_logged("shared")
    assert (fields["nodes"], fields["entries_in"], fields["used_share"]) == (2, 40, 0.75)
    master.sharing.heard(Shared("n1", 1000, 3, 400, 20, 0, 300, 20, 6, 5, 15, 0, 0))
    master.sharing.close()
    await asyncio.sleep(0.3)
    assert not master.logged
