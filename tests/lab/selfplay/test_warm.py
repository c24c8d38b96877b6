"""After the warm-up of self-play nothing compiles any more: every process would, each for itself."""

from __future__ import annotations

from pathlib import Path

from lab.jit import FOLDER
from lab.selfplay.warm import warm_up_selfplay
from tests.worker.warmed import copy_of_the_warmed, run

# In a process of its own: this one has compiled things for other tests.
SCRIPT = """
from lab.selfplay.warm import warm_up_selfplay
warm_up_selfplay()
import gc
import numba
from tests.lab.selfplay.games import made
from lab.selfplay.positions import packed_records
from lab.selfplay.positions import ShardTally
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


def test_nothing_compiles_after_the_warm_up(tmp_path: Path) -> None:
    own = copy_of_the_warmed(tmp_path, warm_up_selfplay, f"{FOLDER}/complete-selfplay")
    assert run(SCRIPT, own) == "nothing"
