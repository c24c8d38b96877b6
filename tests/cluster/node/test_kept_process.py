"""A process that is kept running: restarted with the same input, and ended by the end of its input."""

from __future__ import annotations

import asyncio
import os
import sys

from cluster.drivers.child_processes import KeptProcess

_CHILD = """
import os, sys
word = sys.stdin.readline().strip()
print(f"{word} in session {os.getsid(0) == os.getpid()}", file=sys.stderr, flush=True)
if word == "life 1":
    os.abort()
sys.stdin.read()
"""


class Kept(KeptProcess):
    pause_s, longest_pause_s, good_run_s = 0.01, 0.02, 60.0
    closing_s = 20.0
    own_session = True

    def __init__(self) -> None:
        self.begun = 0
        self.again = asyncio.Event()
        self.ends: list[str] = []
        super().__init__((sys.executable, "-u", "-c", _CHILD), dict(os.environ), self.ends.append)

    def _begin(self, to: asyncio.StreamWriter) -> None:
        self.begun += 1
        if self.begun == 2:
            self.again.set()
        to.write(f"life {self.begun}\n".encode())


async def test_it_is_started_again_and_ends_with_its_input() -> None:
    kept = Kept()
    kept.open()
    async with asyncio.timeout(60):
        await kept.again.wait()
    assert kept.pid is not None
    await kept.close()
    await kept.close()
    assert kept.ends == ["life 1 in session True"]
    assert kept.begun == 2 and kept.pid is None
