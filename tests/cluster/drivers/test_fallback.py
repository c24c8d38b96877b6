"""The fallback's own process, as the master runs it."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cluster.coordination.events import FALLBACK
from cluster.drivers.child_processes import Fallback
from cluster.engine_spec import EngineSpec
from cluster.network.messages import Done, Hello, Job, Report
from cluster.node.process import NodeSpec
from tests.cluster.network.master import Master, until
from worker.shogi import STARTPOS


def _spin(core: int) -> None:
    os.sched_setaffinity(0, {core})
    while True:
        pass


@contextmanager
def busy(core: int, processes: int) -> Iterator[None]:
    """Other work on ``core``, of the usual priority and of this session: nice counts against it."""
    context = multiprocessing.get_context("fork")
    made = [context.Process(target=_spin, args=(core,), daemon=True) for _ in range(processes)]
    for process in made:
        process.start()
    try:
        yield
    finally:
        for process in made:
            process.kill()
            process.join()


def cpu_s(pid: int) -> float:
    """The processor time of a process until now."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
@pytest.mark.usefixtures("warm")
@pytest.mark.timeout(240)
def test_alone_it_searches_though_the_cores_are_busy() -> None:
    """With three others on its core a fair share is a quarter; at the lowest priority it were half a percent."""
    core = min(os.sched_getaffinity(0))

    async def shares() -> list[float]:
        master = Master()
        spec = NodeSpec(FALLBACK, master.server.admit(FALLBACK), EngineSpec(hash_mb=16).build)
        fallback = Fallback(spec, lambda _name, _fields: None)
        fallback.open()
        found = []
        try:
            await until(lambda: master.kinds(Hello), 100)
            [(peer, hello)] = [(peer, said) for peer, said in master.heard if isinstance(said, Hello)]
            for task in os.listdir(f"/proc/{hello.pid}/task"):
                os.sched_setaffinity(int(task), {core})
            with busy(core, 3):
                for number, background in enumerate((True, False), start=1):
                    job = Job(number, number, STARTPOS, movetime_ms=4000, background=background)
                    before, began = cpu_s(hello.pid), time.monotonic()
                    master.server.send(peer, job)
                    await until(lambda: any(m.job_id == number for m in master.kinds(Done)), 100)  # noqa: B023
                    found.append((cpu_s(hello.pid) - before) / (time.monotonic() - began))
            assert any(isinstance(m, Report) and m.job_id == 2 and m.depth > 1 for m in master.kinds(Report))
        finally:
            await fallback.close()
            master.server.close()
        return found

    modest, alone = asyncio.run(shares())
    assert alone > 0.03
    assert modest < alone / 3
