"""A node that listens without reading, as an idle one does, while the node that it listens to goes. It is a separate
program because it must not crash.

Prints ``alive`` if it has survived that by three seconds.
"""

from __future__ import annotations

import subprocess
import sys
import time

from cluster.network.channel import ChannelAddress
from cluster.sharing.node import ShareLink, Source


def flood(keys: ChannelAddress) -> None:
    """Publish without end; killed by the other process."""
    link = ShareLink(keys)
    link.admit([keys.client_public.decode()])
    print(link.url, flush=True)
    while True:
        link.publish(bytes(200_000))
        time.sleep(0.002)


def listen(keys: ChannelAddress) -> None:
    command = [sys.executable, "-m", "tests.cluster.full_queue", "flood"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as peer:
        assert peer.stdin is not None
        assert peer.stdout is not None
        peer.stdin.write(f"{keys.client_public.decode()} {keys.client_secret.decode()}\n")
        peer.stdin.flush()
        url = peer.stdout.readline().strip()
        link = ShareLink(keys)
        link.listen_to([Source("n1", url, keys.client_public.decode())])
        time.sleep(2.0)  # its queue and the system's buffers are full long before
        peer.kill()
    time.sleep(3.0)
    assert link.receive(), "nothing arrived, so the queue cannot have been full"
    link.close()
    print("alive", flush=True)


if __name__ == "__main__":
    public, secret = (word.encode() for word in sys.stdin.readline().split())
    address = ChannelAddress("tcp://127.0.0.1:9", b"", public, secret)
    flood(address) if sys.argv[1] == "flood" else listen(address)
