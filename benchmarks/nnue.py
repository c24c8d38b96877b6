"""Speed of the evaluation: ns for a forward pass, an accumulator update, a refresh, and an evaluated move.

    python -m benchmarks.nnue [--net FILE | --architecture NAME] [--repeat N] [--json]

Without a network: the packaged one and HalfKP 256x2-32-32 with random weights. Each figure is the best of several runs.
``GOUGI_CPU=portable`` and ``GOUGI_CPU=avx2`` measure the paths for older CPUs.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.random_networks import HALF_KP_256, random_network
from worker.jit import HAS_AVX2, HAS_VNNI, jit
from worker.jit.memory import st64
from worker.nnue import Network, NnueState, default_network, load_network
from worker.nnue.architecture import named
from worker.nnue.evaluation import accumulator, evaluate, refresh
from worker.nnue.kernels import kernels
from worker.nnue.record import SLOTS
from worker.shogi import Position
from worker.shogi.makemove import make, unmake

GAME_PLIES = 60
_OPENING = "ln1gkg1nl/1r1s5/p1p1ppspp/3p2p2/1p5P1/2P6/PPSPPPP1P/2G3SR1/LN2KG1NL b Bb 17"
"""Sixteen plies from the start, with the kings at home: a refresh finds the other position's board in the cache."""


@jit()
def forwards(nn: Any, count: int) -> Any:
    """Forward passes over the accumulators of the first plies."""
    total = 0
    for i in range(count):
        total += kernels.forward(accumulator(nn, i & 15, 0), accumulator(nn, i & 15, 1), nn)
    return total


@jit()
def updates(nn: Any, rows: Any, count: int, captures: bool) -> None:
    """Updates of one side's accumulator by one piece moved, or by a capture; ``rows``: numbers of weight rows."""
    for i in range(count):
        added = nn.transformer_weight + rows[i & 1023] * nn.row_bytes
        removed = nn.transformer_weight + rows[(i + 512) & 1023] * nn.row_bytes
        source, target = accumulator(nn, i, 0), accumulator(nn, i + 1, 0)
        if captures:
            added2 = nn.transformer_weight + rows[(i + 256) & 1023] * nn.row_bytes
            removed2 = nn.transformer_weight + rows[(i + 768) & 1023] * nn.row_bytes
            kernels.exchange_two_rows(target, source, nn.row_bytes, added, added2, removed, removed2)
        else:
            kernels.exchange_row(target, source, nn.row_bytes, added, removed)


@jit()
def refreshes(before: Any, after: Any, nn: Any, count: int) -> None:
    """Refreshes of one side's accumulator, of two positions in turns."""
    for i in range(count):
        refresh(after if i & 2 else before, nn, i & 1)


@jit()
def replay(pos: Any, nn: Any, moves: Any, count: int, evaluated: bool) -> Any:
    """Play a game forwards and take it back, ``count`` times, each position evaluated or not."""
    total = 0
    for _ in range(count):
        for slot in range(2 * SLOTS):
            st64(nn.keys + 8 * slot, -1)
        for i in range(len(moves)):
            make(pos, moves[i])
            if evaluated:
                total += evaluate(pos, nn)
        for _ in range(len(moves)):
            unmake(pos)
    return total


def best_ns(action: Callable[[int], Any], count: int, repeat: int) -> float:
    """Nanoseconds of one of ``count`` runs inside ``action``, in the best of ``repeat`` calls."""
    action(1)
    times = []
    for _ in range(repeat):
        start = time.perf_counter_ns()
        action(count)
        times.append((time.perf_counter_ns() - start) / count)
    return min(times)


def random_game(seed: int) -> list[int]:
    """Moves of a random game, some of them captures, drops and king moves."""
    rng = random.Random(seed)
    while True:
        position = Position.startpos()
        moves: list[int] = []
        while len(moves) < GAME_PLIES and (legal := position.legal_moves()):
            moves.append(rng.choice(legal))
            position.push(moves[-1])
        if len(moves) == GAME_PLIES:
            return moves


def measure(network: Network, repeat: int) -> dict[str, float]:
    """The figures of one network, in ns."""
    state = NnueState(network)
    nn = state.record
    position = Position.startpos()
    opening = Position.from_sfen(_OPENING).record
    rows = np.random.default_rng(1).integers(0, network.architecture.features.dimensions, 1024)
    moves = np.array(random_game(1))
    replay(position.record, nn, moves, 1, True)
    nn.updates = nn.refreshes = 0
    replay(position.record, nn, moves, 1, True)
    share = int(nn.refreshes) / (2 * GAME_PLIES)

    def played(evaluated: bool) -> float:
        return best_ns(lambda n: replay(position.record, nn, moves, n, evaluated), 300, repeat) / GAME_PLIES

    return {
        "forward": best_ns(lambda n: forwards(nn, n), 20_000, repeat),
        "update": best_ns(lambda n: updates(nn, rows, n, False), 100_000, repeat),
        "update_capture": best_ns(lambda n: updates(nn, rows, n, True), 100_000, repeat),
        "refresh": best_ns(lambda n: refreshes(position.record, opening, nn, n), 20_000, repeat),
        "make_unmake": played(False),
        "make_evaluate_unmake": played(True),
        "refresh_share": share,
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nnue", description=__doc__.splitlines()[0])
    parser.add_argument("--net", type=Path, help="network file")
    parser.add_argument("--architecture", help="short name (halfkp_256x2-32-32) of a network of random weights")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args()
    if options.net:
        networks = [load_network(options.net)]
    elif options.architecture:
        architecture = named(options.architecture)
        if architecture is None:
            parser.error(f"--architecture: {options.architecture!r} is not known, expected such as halfkp_256x2-32-32")
        networks = [Network(random_network(architecture))]
    else:
        networks = [default_network(), Network(random_network(HALF_KP_256))]

    path = "vnni" if HAS_VNNI else "avx2" if HAS_AVX2 else "portable"
    results: list[dict[str, Any]] = [
        {"architecture": str(net.architecture), "path": path, **measure(net, options.repeat)} for net in networks
    ]
    if options.json:
        print(json.dumps(results))
        return
    for result in results:
        print(f"{result['architecture'].split(',')[0]} ({path})")
        for name, what in (
            ("forward", "forward pass"),
            ("update", "update of one side: a piece moved"),
            ("update_capture", "update of one side: a capture"),
            ("refresh", "refresh of one side"),
            ("make_unmake", "make + unmake, random game"),
            ("make_evaluate_unmake", "make + evaluate + unmake"),
        ):
            print(f"  {what:36}{result[name]:9.1f} ns")
        print(f"  {'share of refreshes in that game':36}{result['refresh_share']:9.1%}")


if __name__ == "__main__":
    main()
