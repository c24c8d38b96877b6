"""Rates of `gougi selfplay` by its number of workers: processes of this machine, and tasks of Ray.

    python -m benchmarks.teaching                           # 1 and 2 workers, three rounds; wants an idle machine
    python -m benchmarks.teaching --workers 1,2,4,8,16 --rounds 1 --games 200

Each figure is positions a second by the clock, from the first shards that are done, one for each worker, until no
shard waits for a worker any more: neither the start nor the end counts. A round measures every kind once; ``of N`` is
the median of the ratio to N times one process in the same round.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from collections import defaultdict

from benchmarks.figures import machine
from lab.selfplay.run import Event, Made, ShardTerms, digest_of, make_here, make_on_ray
from lab.selfplay.teacher import TeacherSettings, code_version
from lab.selfplay.warm import warm_up_selfplay
from tests.cluster.ray_head import ray_head
from worker.nnue.network import default_file

ONE = ("processes", 1)


def rate(kind: str, workers: int, terms: ShardTerms, net: bytes, shards: int) -> float:
    """Make ``shards`` shards for each worker: the positions a second that all workers make together."""
    made: list[tuple[float, int]] = []

    def on_event(event: Event) -> None:
        if isinstance(event, Made):
            made.append((time.perf_counter(), event.positions))

    numbers = list(range(workers * shards))
    if kind == "ray":
        with ray_head(workers) as head:
            asyncio.run(make_on_ray(head.address, net, terms, numbers, on_event))
    else:
        make_here(net, terms, numbers, workers, on_event)
    counted = made[workers - 1 : len(made) - workers + 1]
    return sum(positions for _, positions in counted[1:]) / (counted[-1][0] - counted[0][0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", default="1,2", help="numbers of workers (default: 1,2)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shards", type=int, default=12, help="shards for each worker (default: 12)")
    parser.add_argument("--games", type=int, default=100, help="games of a shard (default: 100)")
    parser.add_argument("--nodes", type=int, default=200, help="soft limit of nodes a move (default: 200)")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    try:
        workers = sorted({1, *map(int, arguments.workers.split(","))})
    except ValueError:
        parser.error(f"--workers {arguments.workers}: expected numbers, with commas between them")
    if workers[0] < 1 or arguments.rounds < 1 or arguments.shards < 3:
        parser.error("expected one worker, one round and three shards at least")
    net = default_file().read_bytes()
    settings = TeacherSettings(nodes=arguments.nodes, games=arguments.games)
    terms = ShardTerms(settings, digest_of(net), None, code_version())
    warm_up_selfplay()
    before = machine()
    rates = defaultdict[tuple[str, int], list[float]](list)
    for _ in range(arguments.rounds):
        for kind in ("processes", "ray"):
            for count in workers:
                rates[kind, count].append(rate(kind, count, terms, net, arguments.shards))
    rows = [
        {
            "kind": kind,
            "workers": count,
            "positions_per_s": round(statistics.median(found)),
            "of_n": round(statistics.median(a / (count * b) for a, b in zip(found, rates[ONE], strict=True)), 3),
        }
        for (kind, count), found in rates.items()
    ]
    if arguments.json:
        print(json.dumps({"machine": before, "rows": rows}))
        return
    print(f"{before['cores']} cores, load {before['load'][0]} before; medians of {arguments.rounds} rounds")
    for row in rows:
        print(f"{row['kind']:9} {row['workers']:3}  {row['positions_per_s']:7,} positions/s  {row['of_n']:.3f} of N")


if __name__ == "__main__":
    main()
