"""The mate search on composed problems, 3 to 611 plies: status, plies of the line found, nodes, time.

    python -m benchmarks.mate [--memory MB] [--nodes N] [--seconds S] [--random N] [--json]

Problems of the Edo period, and 寿 (Zuko 100, 1755), the usual benchmark. ``--random N`` also times the first N mates of
each length among random positions. Microcosmos (1525 plies) is out of reach: a line may have 1150 plies at most.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from typing import Any

from benchmarks.puzzles import CLASSICAL, KEMURI, KOTOBUKI, random_positions
from worker.mate import MateSolver, MateStatus
from worker.shogi import Position

MUSO_1 = "3g1n1l1/2p1g1r2/5k2S/4p1N+R1/3+p5/7N1/B8/9/9 b 2GSNb2s3l15p 1"
PROBLEMS = {
    **{name: sfen for name, (_, sfen) in CLASSICAL.items()},
    "Zuko 100 (寿), 611": KOTOBUKI,
    "Muso 1": MUSO_1,
    "Zuko 99 (煙詰), 117": KEMURI,
}
_RANDOM_NODES = 200_000


def solve(solver: MateSolver, sfen: str, nodes: int, seconds: float) -> dict[str, Any]:
    """One problem's figures."""
    deadline = time.monotonic_ns() + int(seconds * 1e9)
    result = solver.solve(Position.from_sfen(sfen), max_nodes=nodes, deadline_ns=deadline)
    return {
        "status": result.status.value,
        "plies": len(result.line),
        "nodes": result.nodes,
        "time_ms": result.time_ms,
    }


def random_mates(solver: MateSolver, number: int) -> dict[int, list[int]]:
    """Microseconds of the first ``number`` mates of each odd length up to 19 in a fixed run of random positions."""
    times: dict[int, list[int]] = defaultdict(list)
    for position, _ in zip(random_positions(1755), range(200 * number), strict=False):
        began = time.perf_counter_ns()
        result = solver.solve(position, max_nodes=_RANDOM_NODES)
        plies = len(result.line)
        if result.status is MateStatus.MATE and plies <= 19 and len(times[plies]) < number:
            times[plies].append((time.perf_counter_ns() - began) // 1000)
    return dict(sorted(times.items()))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mate", description=__doc__.splitlines()[0])
    parser.add_argument("--memory", type=int, default=256, help="MB")
    parser.add_argument("--nodes", type=int, default=50_000_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--random", type=int, default=0, metavar="N")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args()
    solver = MateSolver(options.memory)
    solver.solve(Position.from_sfen(KOTOBUKI), max_nodes=100)

    results: dict[str, Any] = {}
    for name, sfen in PROBLEMS.items():
        results[name] = solve(solver, sfen, options.nodes, options.seconds)
        if not options.json:
            found = results[name]
            print(f"{name:24}{found['status']:>8}{found['plies']:5} plies{found['nodes']:12,} nodes", end="")
            print(f"{found['time_ms']:8,} ms", flush=True)
    if options.random:
        for plies, times in random_mates(solver, options.random).items():
            results[f"random {plies}"] = {"median_us": statistics.median(times), "worst_us": max(times)}
            if not options.json:
                print(f"random mates in {plies:2}: {len(times):3}, median {statistics.median(times):,.0f} µs, ", end="")
                print(f"worst {max(times):,} µs")
    if options.json:
        print(json.dumps(results, ensure_ascii=False))


if __name__ == "__main__":
    main()
