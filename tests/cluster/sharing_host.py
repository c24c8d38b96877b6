"""A node's part in sharing as a program, for tests that run it on another host (`tests.cluster.namespaces`).

Its name and keys, and those of all others, come as a line of JSON over standard input. Each further line is a list of
the numbers and URLs to listen to. It prints its own URL, and then a line for each received entry: its source, and a
rising number.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading

import numpy as np

from cluster.network.channel import ChannelAddress
from cluster.network.messages import Peers
from cluster.sharing.node import TableSharing
from tests.cluster.sharers import DictTable
from worker.engine import Entries


class TellingTable(DictTable):
    def absorb_entries(self, entries: Entries) -> int:
        for key, _ in entries:
            print(int(key) >> 32, int(key) & 0xFFFFFFFF, flush=True)
        return len(entries)


def main() -> None:
    told = json.loads(sys.stdin.readline())
    public, everybody = told["keys"][told["number"]], tuple(told["keys"])
    number, table, ended = told["number"], TellingTable(), threading.Event()
    keys = ChannelAddress(told["master"], b"", public.encode(), told["secret"].encode())
    sharing = TableSharing(f"n{number}/x", table, keys, 2, lambda: True, lambda _said: None)
    print(sharing.url, flush=True)

    def write() -> None:
        for count in itertools.count(1):
            if ended.wait(0.02):
                return
            table.put(np.array([[number << 32 | count, 1]], np.uint64))

    threading.Thread(target=write).start()
    for line in sys.stdin:
        others = json.loads(line)
        names = tuple(f"n{other}" for other, _ in others)
        keys_of = tuple(everybody[other] for other, _ in others)
        sharing.take(Peers(tuple(url for _, url in others), names, keys_of, everybody, 1_000_000))
    ended.set()
    sharing.close()


if __name__ == "__main__":
    main()
