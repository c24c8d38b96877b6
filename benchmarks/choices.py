"""The quality of a fleet's choices, measured on positions: minutes instead of the hours of `gougi lab`.

    python -m benchmarks.choices FOLDER OUT.jsonl --net nn.bin [--strategy NAME,…] [--nodes 2,4,8] [--positions N]
                                 [--budget N] [--times 1,2,4,8] [--judge N] [--judge-net FILE] [--hash MB]
                                 [--concurrency N] [--voters] [--before N]
    python -m benchmarks.choices_table OUT.jsonl [--against NAME@N]

Takes positions from games (a folder of `gougi lab` or of `gougi match`). Each strategy with each number of nodes
(NAME@N: with that number), and one node with several multiples of the budget, chooses a move in each position, with
empty tables (``--before N``: after it has searched the mover's last N positions). Every chosen move (``--voters``: also
every move with a vote) is judged by a search of the position after it, with the same network or that of
``--judge-net``. OUT.jsonl keeps every choice and every judgement: the same command continues from there, with more
positions or more strategies. `benchmarks.choices_table` shows the results.

It ignores effects of whole games, and the judge makes mistakes: games by `gougi lab --against 4x` decide. Use it to
compare variants on the same positions.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from cluster.api import SearchRequest
from cluster.engine_spec import EngineSpec
from lab.match.openings import games_of
from lab.strategies.games import SEARCH_MS, NodeMaker, NodePool
from lab.strategies.strategy import Strategy, strategy
from lab.strategies.virtual import VirtualFleet
from worker.engine import Engine, Limits
from worker.score import MATE

_JUDGE_MB = 16

GamePosition = tuple[str, tuple[str, ...]]
"""A position: SFEN and the moves since."""
Row = dict[str, Any]
"""A line of the file: a choice (``chooser``, ``move``, ``votes`` by move, mean ``depth`` of the voters, ``source``) or
a judgement (``move``, ``score`` in centipawns for the side that makes it), each with the ``position``'s number."""


@dataclass(frozen=True, slots=True)
class Chooser:
    """A fleet of ``nodes`` nodes, or one node with ``times`` the budget."""

    name: str
    how: Strategy
    nodes: int = 1
    times: int = 1


@dataclass(slots=True)
class Bench:
    """The engines with which a process chooses and judges; they serve every strategy."""

    spec: EngineSpec
    budget: int
    judge_spec: EngineSpec
    judge_nodes: int
    before: int = 0
    """The number of the mover's earlier positions that are searched before, as in a game."""
    _pool: NodePool = field(init=False)
    _judge: Engine | None = None

    def __post_init__(self) -> None:
        self._pool = NodePool(NodeMaker(self.spec))

    def choose(self, chooser: Chooser, position: GamePosition) -> Row:
        """A choice, with tables that are empty before the mover's earlier positions."""
        how = chooser.how
        nodes = self._pool.nodes("", chooser.nodes, chooser.times * self.budget)
        fleet = VirtualFleet.of(nodes, how)
        fleet.new_game()
        sfen, moves = position
        for back in range(min(self.before, len(moves) // 2), -1, -1):
            line = moves[: len(moves) - 2 * back]
            number = 1 + self.before - back
            decision = fleet.search(SearchRequest(number, sfen, line, soft_ms=SEARCH_MS, hard_ms=2 * SEARCH_MS))
        return {
            "chooser": chooser.name,
            "move": decision.move,
            "votes": dict(Counter(ballot.move for ballot in decision.ballots)),
            "depth": statistics.mean(ballot.depth for ballot in decision.ballots) if decision.ballots else 0,
            "source": decision.source,
        }

    def judge(self, position: GamePosition, move: str) -> int:
        """The score of ``move`` by a search of the position after it."""
        if self._judge is None:
            self._judge = self.judge_spec.build()
        sfen, moves = position
        self._judge.new_game()
        self._judge.set_position(sfen, (*moves, move))
        result = self._judge.go(Limits(nodes=self.judge_nodes))
        return -result.lines[0].score if result.lines else MATE if result.bestmove == "resign" else -MATE


_bench: Bench | None = None
"""The bench of this process."""


def _work(
    make: partial[Bench], voters: bool, task: tuple[int, GamePosition, Sequence[Chooser], Sequence[Row]]
) -> list[Row]:
    """The missing rows of one position. ``voters``: also judge the moves with votes."""
    global _bench
    _bench = _bench or make()
    number, position, choosers, known = task
    rows = [{"position": number, **_bench.choose(chooser, position)} for chooser in choosers]
    chosen = [row for row in (*known, *rows) if "chooser" in row]
    voted = {move for row in chosen for move in (row["votes"] if voters else ())}
    moves = {row["move"] for row in chosen} | voted - {"resign", "win"}
    judged = {row["move"] for row in known if "score" in row}
    if len(moves) > 1:
        new = sorted(moves - judged)
        rows += [{"position": number, "move": move, "score": _bench.judge(position, move)} for move in new]
    return rows


def _games(folder: Path) -> Iterable[GamePosition]:
    """Each game of a folder of `gougi lab` or of `gougi match`: its start position and its moves."""
    if (folder / "records").exists():
        yield from games_of(folder)
    else:
        openings = [line for line in (folder / "openings.txt").read_text("utf-8").splitlines() if line.strip()]
        for line in (folder / "games.jsonl").read_text("utf-8").splitlines():
            game = json.loads(line)
            yield openings[game["game"]["number"] // 2].removeprefix("sfen "), tuple(game["moves"])


def positions_of(folder: Path, seed: int) -> list[GamePosition]:
    """The positions of a folder's games in random order, each once, from the ninth ply after the opening to twelve
    plies before the end."""
    found = {(sfen, moves[:ply]) for sfen, moves in _games(folder) for ply in range(8, min(len(moves) - 12, 110))}
    ordered = sorted(found)
    random.Random(seed).shuffle(ordered)
    return ordered


def rows_of(path: Path) -> list[Row]:
    """The lines of the file; none if there is no file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choices", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of gougi lab or gougi match")
    parser.add_argument("out", type=Path, help="file of choices and judgements")
    parser.add_argument("--net", required=True)
    parser.add_argument("--judge-net", help="network of the judge; default: --net")
    parser.add_argument("--strategy", default="consult", help="names, with commas; NAME@N: with N nodes only")
    parser.add_argument("--nodes", default="8", help="numbers of nodes, with commas")
    parser.add_argument("--times", default="1,2,4,8", help="budgets of one node, with commas; empty: none")
    parser.add_argument("--positions", type=int, default=1500)
    parser.add_argument("--budget", type=int, default=20_000, help="nodes a move of every node")
    parser.add_argument("--judge", type=int, default=100_000, help="nodes of the search that judges each move")
    parser.add_argument("--voters", action="store_true", help="judge every move that was voted for")
    parser.add_argument("--before", type=int, default=0, help="earlier positions of the mover that are searched before")
    parser.add_argument("--hash", type=int, default=8, help="MB of every node")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--concurrency", type=int, default=multiprocessing.cpu_count())
    options = parser.parse_args()
    spec = EngineSpec(hash_mb=options.hash, eval_file=options.net)
    judge = EngineSpec(hash_mb=_JUDGE_MB, eval_file=options.judge_net or options.net)
    make = partial(Bench, spec, options.budget, judge, options.judge, options.before)
    single = strategy("consult")
    choosers = [Chooser(f"{times}x", single, 1, int(times)) for times in options.times.split(",") if times]
    try:
        positions = positions_of(options.folder, options.seed)[: options.positions]
        for name in options.strategy.split(","):
            text, at, number = name.partition("@")
            how = strategy(text)
            numbers = [number] if at else options.nodes.split(",")
            choosers += [Chooser(f"{how.name}@{nodes}", how, int(nodes)) for nodes in numbers]
    except (OSError, ValueError) as error:
        parser.error(str(error))
    known: dict[int, list[Row]] = {}
    for row in rows_of(options.out):
        known.setdefault(row["position"], []).append(row)
    tasks = []
    for number, position in enumerate(positions):
        there = known.get(number, [])
        done = {row.get("chooser") for row in there}
        missing = [chooser for chooser in choosers if chooser.name not in done]
        if missing:
            tasks.append((number, position, missing, there))
    with (
        options.out.open("a", encoding="utf-8") as out,
        multiprocessing.get_context("spawn").Pool(options.concurrency) as pool,
    ):
        for done_now, rows in enumerate(pool.imap(partial(_work, make, options.voters), tasks), start=1):
            out.writelines(json.dumps(row) + "\n" for row in rows)
            out.flush()
            print(f"\r{done_now} of {len(tasks)} positions", end="", file=sys.stderr)


if __name__ == "__main__":
    main()
