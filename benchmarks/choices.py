"""The quality of a fleet's choices, measured on positions instead of games: minutes instead of the hours of `gougi
lab`.

    python -m benchmarks.choices FOLDER --net nn.bin [--positions N] [--nodes 8] [--strategy NAME,…] [--budget N]
                                 [--judge N] [--concurrency N] [--json]

Takes positions out of a laboratory's games (FOLDER/games.jsonl), lets each strategy, and one node with 1, 2, 3, 4, 6
and 8 times the budget, choose a move in each, with empty tables, and judges every chosen move by a search of the
position after it. A choice's loss is the difference in winning probability, 1 / (1 + e^(-cp / 300)), from the best of
those moves. Over one node's budgets the mean loss falls like a power; the budget at which one node has a strategy's
mean loss is the strategy's effective speed-up.

It ignores effects of whole games (tables filled by earlier moves), and the judge makes mistakes: games by `gougi lab
--against 4x` decide. Use it to compare variants on the same positions: list their names after ``--strategy``.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cluster.api import SearchRequest
from cluster.coordination.strategies import SINGLE, StrategyError, strategy
from cluster.engine_spec import EngineSpec, Networks
from lab.strategies.games import EngineMaker
from lab.strategies.virtual import VirtualFleet, VirtualNode
from worker.engine import Limits
from worker.score import MATE

TIMES = (1, 2, 3, 4, 6, 8)
_DECIDED_CP = 1500
_SCALE_CP = 300

GamePosition = tuple[str, tuple[str, ...]]
"""A position: SFEN and the moves since."""

_networks = Networks()
"""The networks of this process, shared by all its judgements."""


@dataclass(frozen=True, slots=True)
class Chooser:
    """A fleet of ``nodes`` nodes with ``strategy``, or a single node with ``budget`` if ``strategy`` is empty."""

    strategy: str
    nodes: int
    budget: int

    def choose(self, spec: EngineSpec, positions: Sequence[GamePosition]) -> list[str]:
        """A move for each position, each with empty tables."""
        how = strategy(self.strategy) if self.strategy else SINGLE
        make = EngineMaker(spec)
        nodes = [VirtualNode(f"n{i}", make(how.variety, i), nps=self.budget) for i in range(self.nodes)]
        fleet = VirtualFleet(nodes, how.settings, how.share_depth)
        chosen = []
        for number, (sfen, moves) in enumerate(positions, start=1):
            fleet.new_game()
            chosen.append(fleet.search(SearchRequest(number, sfen, moves, nodes=self.budget)).move)
        return chosen


def positions_of(folder: Path, number: int, seed: int) -> list[GamePosition]:
    """Positions of a laboratory's games, from the ninth ply after the opening to twelve plies before the end."""
    openings = [line for line in (folder / "openings.txt").read_text("utf-8").splitlines() if line.strip()]
    games = [json.loads(line) for line in (folder / "games.jsonl").read_text("utf-8").splitlines()]
    found = {
        (openings[game["game"]["number"] // 2].removeprefix("sfen "), tuple(moves[:ply]))
        for game in games
        for moves in [game["moves"]]
        for ply in range(8, min(len(moves) - 12, 110))
    }
    return random.Random(seed).sample(sorted(found), min(number, len(found)))


def judge(spec: EngineSpec, nodes: int, task: tuple[GamePosition, tuple[str, ...]]) -> dict[str, int]:
    """The score in centipawns of each move of a position, for the side that makes it; 0 if there is only one."""
    (sfen, moves), candidates = task
    if len(candidates) == 1:
        return dict.fromkeys(candidates, 0)
    engine = spec.build(_networks)
    scores = {}
    for move in candidates:
        engine.new_game()
        engine.set_position(sfen, (*moves, move))
        result = engine.go(Limits(nodes=nodes))
        scores[move] = -result.lines[0].score if result.lines else MATE if result.bestmove == "resign" else -MATE
    return scores


def losses(chosen: Sequence[str], judged: Sequence[dict[str, int]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The loss of each choice, 0 to 1; decided positions are skipped."""

    def chance(score: int) -> float:
        return 1 / (1 + math.exp(-score / _SCALE_CP))

    fought = [
        (move, scores)
        for move, scores in zip(chosen, judged, strict=True)
        if move in scores and abs(max(scores.values())) < _DECIDED_CP
    ]
    return np.array([chance(max(scores.values())) - chance(scores[move]) for move, scores in fought])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choices", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of gougi lab")
    parser.add_argument("--net", required=True)
    parser.add_argument("--positions", type=int, default=1200)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--strategy", default="consult:majority")
    parser.add_argument("--budget", type=int, default=20_000)
    parser.add_argument("--judge", type=int, default=150_000, help="nodes behind each move")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--concurrency", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args()
    spec = EngineSpec(hash_mb=4, eval_file=options.net)
    try:
        positions = positions_of(options.folder, options.positions, options.seed)
        for name in options.strategy.split(","):
            strategy(name)
    except (OSError, StrategyError) as error:
        parser.error(str(error))
    choosers = {f"{times}x": Chooser("", 1, times * options.budget) for times in TIMES}
    choosers |= {name: Chooser(name, options.nodes, options.budget) for name in options.strategy.split(",")}

    chosen: dict[str, list[str]] = {}
    with multiprocessing.get_context("spawn").Pool(options.concurrency) as pool:
        for name, chooser in choosers.items():
            parts = pool.imap(
                partial(chooser.choose, spec), [positions[at : at + 50] for at in range(0, len(positions), 50)]
            )
            chosen[name] = [move for part in parts for move in part]
            print(f"{name}: {len(positions)} moves chosen", file=sys.stderr)
        tasks = [
            (position, tuple(sorted(set(moves) - {"resign", "win"})))
            for position, *moves in zip(positions, *chosen.values(), strict=True)
        ]
        judged = pool.map(partial(judge, spec, options.judge), tasks, chunksize=20)
    means = {name: losses(moves, judged) for name, moves in chosen.items()}
    slope, height = np.polyfit(np.log(TIMES), np.log([means[f"{times}x"].mean() for times in TIMES]), 1)

    def speed_up(loss: float) -> float:
        return round(math.exp((math.log(max(loss, 1e-9)) - height) / slope), 2)

    results = {}
    for name, lost in means.items():
        mean, sigma = float(lost.mean()), float(lost.std() / math.sqrt(len(lost)))
        results[name] = {"loss": mean, "error": sigma, "k": speed_up(mean)}
        results[name] |= {"k_low": speed_up(mean + sigma), "k_high": speed_up(mean - sigma)}
        if not options.json:
            row = results[name]
            print(f"{name:40}{mean:8.3%} ± {sigma:.3%}   k {row['k']:5.2f} ({row['k_low']:.2f} to {row['k_high']:.2f})")
    if options.json:
        print(json.dumps({"positions": len(next(iter(means.values()))), "results": results}, ensure_ascii=False))


if __name__ == "__main__":
    main()
