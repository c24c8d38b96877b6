"""After the warm-up of self-play nothing compiles any more: every process would, each for itself."""

from __future__ import annotations

import subprocess
import sys

# In a process of its own: this one has compiled things for other tests.
SCRIPT = """
from worker.selfplay.warm import warm_up_selfplay
warm_up_selfplay()
import gc
import numba
from tests.worker.selfplay.games import made
from worker.training.positions import packed_records
from worker.training.tally import ShardTally
shard = made(games=3, entering=0.5)
ShardTally().add(shard)
assert sum(map(len, packed_records(shard)))
compiled = {
    d.py_func.__qualname__: dict(d.stats.cache_misses)
    for d in gc.get_objects()
    if isinstance(d, numba.core.dispatcher.Dispatcher)
    and d.py_func.__module__.startswith("worker.")
    and d.stats.cache_misses
}
print(compiled or "nothing")
"""


def test_nothing_compiles_after_the_warm_up() -> None:
    warm = "from worker.selfplay.warm import warm_up_selfplay; warm_up_selfplay()"
    for script in (warm, SCRIPT):
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=280, check=False, cwd="."
        )
        assert done.returncode == 0, done.stderr
    assert done.stdout == "nothing\n"
