"""The master's messages to processes that were replaced or dismissed, without Ray."""

from __future__ import annotations

from typing import cast

from cluster.drivers.fleet_driver import FleetSearcher
from cluster.network.channel import ChannelServer
from cluster.network.messages import EVERY_JOB, End, Heartbeat, Hello, Leave, Order, Stop
from tests.cluster.engines import endless_engine


class Channel:
    """Keeps all sent messages."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Order]] = []

    def send(self, peer: str, order: Order) -> bool:
        self.sent.append((peer, order))
        return True


def fleet(*lives: str) -> tuple[FleetSearcher, Channel]:
    """A master that has heard of these incarnations of one node."""
    searcher, channel = FleetSearcher(engine=endless_engine, fallback=endless_engine), Channel()
    searcher._channel = cast(ChannelServer, channel)
    for life in lives:
        searcher._receive(f"node-1/{life}", Hello("node-1", life, "h", 1, "e"))
    channel.sent.clear()
    return searcher, channel


def test_a_process_in_whose_place_there_is_another_is_told_to_end() -> None:
    searcher, channel = fleet("a", "b")
    searcher._receive("node-1/a", Heartbeat("node-1", "a", 0, True))
    assert channel.sent == [("node-1/a", End(again=False))]


def test_a_dismissed_node_that_missed_it_is_dismissed_again() -> None:
    searcher, channel = fleet("a")
    for word in (Leave("node-1", "SIGTERM"), Heartbeat("node-1", "a", 5, False), Leave("node-1", "SIGTERM")):
        searcher._receive("node-1/a", word)
    assert [order for _, order in channel.sent] == [Stop(EVERY_JOB), End(again=True), Stop(EVERY_JOB), Stop(EVERY_JOB)]
