"""Nodes a second of our searcher against the measured prototype (``../shared/prototype/bench_search.py``).

Both search the same five positions for the same time with one thread. They take turns, so that other load on the
machine meets both, and count CPU time, not wall time; the ratio is the median over the rounds::

    python benchmarks/compare_prototype.py [--seconds 2] [--rounds 5] [--net FILE] [--prototype FOLDER]
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROTOTYPE = ROOT.parent / "shared" / "prototype"


def search_ours(seconds: float, net: str | None) -> None:
    """Search each position for ``seconds`` and print the nodes per second of CPU time; for a process of its own."""
    from worker.engine import Limits
    from worker.search.bench import HASH_MB, POSITIONS
    from worker.search.engine import NumbaEngine

    engine = NumbaEngine(hash_mb=HASH_MB, threads=1, eval_file=net)
    nodes, spent = 0, 0.0
    for sfen in POSITIONS:
        engine.new_game()
        engine.set_position(sfen)
        began = time.thread_time()
        nodes += engine.go(Limits(movetime_ms=round(seconds * 1000))).nodes
        spent += time.thread_time() - began
    print(f"TOTAL nps {nodes / spent / 1000:.0f}k")


def run(command: list[str], folder: Path, cache: str) -> float:
    """Run one side's process; returns its nodes per second, in thousands."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    match = re.search(r"TOTAL nps (\d+)k", done.stdout)
    if match is None:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return float(match[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each of the five positions (default 2)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each side (default 5)")
    parser.add_argument("--net", help="network file for our side (default: the one that ships)")
    parser.add_argument("--prototype", type=Path, default=PROTOTYPE, help="the prototype's folder")
    parser.add_argument("--ours", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ours:
        search_ours(options.seconds, options.net)
        return
    if not (options.prototype / "bench_search.py").is_file():
        sys.exit(f"no prototype in {options.prototype}: name its folder with --prototype")
    from worker.warm import warm_up

    warm_up()
    ours = [sys.executable, str(Path(__file__).resolve()), "--ours", "--seconds", str(options.seconds)]
    ours += ["--net", options.net] if options.net else []
    theirs = [sys.executable, "bench_search.py", str(options.seconds)]
    ratios = []
    with tempfile.TemporaryDirectory() as cache:
        run([sys.executable, "bench_search.py", "0.1"], options.prototype, cache)  # compiles; not counted
        for number in range(1, options.rounds + 1):
            us, them = run(ours, ROOT, cache), run(theirs, options.prototype, cache)
            ratios.append(us / them)
            print(f"round {number}: ours {us:.0f}k, prototype {them:.0f}k nodes/s, ratio {us / them:.3f}", flush=True)
    print(f"ratio {statistics.median(ratios):.3f} (median of {len(ratios)})")


if __name__ == "__main__":
    main()
