"""The master's part in sharing: one order for several changes, one line of the log for several nodes."""

from __future__ import annotations

import asyncio

from cluster.network.messages import Hello, Peers, Shared
from cluster.sharing.master import FleetSharing


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
        hello = Hello(f"n{number}", "x", "h", 1, "e", share_url=f"tcp://10.0.0.{number}:5", share_meaning="aa")
        self.live.append(hello.node_id)
        self.sharing.said_hello(hello)
        self.sharing.joined(hello.node_id)

    async def until_logged(self, name: str) -> dict[str, object]:
        async with asyncio.timeout(10):
            while not (found := [fields for logged, fields in self.logged if logged == name]):
                self._news.clear()
                await self._news.wait()
        self.logged.clear()
        return found[-1]


def test_who_comes_and_goes_together_is_told_of_once() -> None:
    async def run() -> None:
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

    asyncio.run(run())


def test_what_the_nodes_say_of_one_search_is_one_line() -> None:
    async def run() -> None:
        master = Master()
        for node_id in ("n1", "n2"):
            master.sharing.heard(Shared(node_id, 1000, 3, 400, 20, 0, 300, 20, 15, 0, 0))
        fields = await master.until_logged("shared")
        assert (fields["nodes"], fields["entries_in"], fields["used_share"]) == (2, 40, 0.75)
        master.sharing.heard(Shared("n1", 1000, 3, 400, 20, 0, 300, 20, 15, 0, 0))
        master.sharing.close()
        await asyncio.sleep(0.3)
        assert not master.logged

    asyncio.run(run())
