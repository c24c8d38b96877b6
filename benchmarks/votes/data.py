"""Ballots with the truth about them: what a vote can learn from.

    python -m benchmarks.votes.data FOLDER [--net nn.bin] [--games N] [--nodes 8] [--budget 4000] [--judge 30000]
                                    [--seed N] [--concurrency N]

Two virtual fleets of the same kind (`gougi lab`) play games from random openings, `consult:majority` against itself, so
that their tables are as full as in a game. Where the ballots of a move disagree, each move that anybody voted for is
judged by a search behind it, with empty tables. Positions that are decided are left out, those in which all agree are
only counted: they teach nothing.

FOLDER gets ``data.json`` (what the games depend on) and ``games.jsonl``, a line a game; the same command goes on with
it. Ctrl-C keeps every finished game.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.choices import judge
from cluster.api import Ballot, SearchRequest
from cluster.coordination.strategies import strategy
from cluster.engine_spec import EngineSpec
from cluster.lab.engines import EngineMaker, EnginePool
from cluster.lab.virtual.driver import VirtualFleet
from cluster.lab.virtual.node import VirtualNode
from worker.arena.adjudication import Adjudicator
from worker.arena.game import Choice, play_game
from worker.arena.openings import make_openings
from worker.files import append_text

STRATEGY = "consult:majority"
_DECIDED_CP = 1500
_RESIGN_MOVES = 2
_MAX_MOVES = 320
_OPENINGS = 1_000_000
"""More than a seed has games, so that no two seeds have an opening in common."""


@dataclass(frozen=True, slots=True)
class DataSettings:
    """What the games of one folder depend on."""

    net: str | None
    nodes: int
    budget: int
    """Nodes a move of every node."""
    judge: int
    """Nodes behind each move that is judged."""
    seed: int
    hash_mb: int = 4


@dataclass(slots=True)
class _Asked:
    """What the fleets were asked in one game."""

    searched: int = 0
    decided: int = 0
    agreed: int = 0
    split: list[tuple[int, tuple[Ballot, ...]]] = field(default_factory=list)
    """Ply and ballots where the voters disagreed."""


class Player:
    """Plays the games of one process; its engines serve all of them."""

    def __init__(self, settings: DataSettings) -> None:
        self._settings = settings
        self._spec = EngineSpec(hash_mb=settings.hash_mb, eval_file=settings.net)
        make = EngineMaker(self._spec)
        self._pool = EnginePool(make)
        self._opener = make(strategy(STRATEGY).variety, 0)

    def play(self, number: int) -> dict[str, Any]:
        """Play game ``number``, and judge what its voters did not agree on."""
        (sfen,) = make_openings(1, seed=self._settings.seed * _OPENINGS + number, engine=self._opener)
        fleets = self._fleet("a"), self._fleet("b")
        asked = _Asked()

        def think(mover: int, moves: tuple[str, ...]) -> Choice:
            request = SearchRequest(len(moves) + 1, sfen, moves, nodes=self._settings.budget)
            decision = fleets[mover].search(request)
            ballots = decision.ballots
            if decision.source == "vote":
                asked.searched += 1
                if len({ballot.move for ballot in ballots}) == 1:
                    asked.agreed += 1
                elif all(abs(ballot.score) >= _DECIDED_CP for ballot in ballots):
                    asked.decided += 1
                else:
                    asked.split.append((len(moves), ballots))
            return Choice(decision.move, decision.score)

        outcome = play_game(sfen, think, Adjudicator(_DECIDED_CP, _RESIGN_MOVES), _MAX_MOVES)
        positions = []
        for ply, ballots in asked.split:
            candidates = tuple(sorted({ballot.move for ballot in ballots}))
            judged = judge(self._spec, self._settings.judge, ((sfen, outcome.moves[:ply]), candidates))
            positions.append({"ply": ply, "judged": judged, "ballots": [_plain(ballot) for ballot in ballots]})
        counts = {"searched": asked.searched, "agreed": asked.agreed, "decided": asked.decided}
        return {"game": number, "sfen": sfen, "moves": " ".join(outcome.moves), **counts, "positions": positions}

    def _fleet(self, name: str) -> VirtualFleet:
        how = strategy(STRATEGY)
        engines = self._pool.engines(name, how.variety, self._settings.nodes)
        nodes = [VirtualNode(f"n{i}", engine, self._settings.budget) for i, engine in enumerate(engines, start=1)]
        fleet = VirtualFleet(nodes, how.settings)
        fleet.new_game()
        return fleet


def _plain(ballot: Ballot) -> dict[str, Any]:
    plain = {"voter": ballot.voter, "move": ballot.move, "score": ballot.score, "depth": ballot.depth}
    return plain | {"nodes": ballot.nodes, "pv": " ".join(ballot.pv), "history": ballot.history}


_player: Player | None = None
"""Of this process."""


def _play(settings: DataSettings, number: int) -> dict[str, Any]:
    global _player
    _player = _player or Player(settings)
    return _player.play(number)


def read_games(folder: Path) -> list[dict[str, Any]]:
    """The games of a folder; a line that was cut off in the middle is passed over."""
    path = folder / "games.jsonl"
    lines = path.read_text("utf-8").splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def _games(settings: DataSettings, numbers: list[int], concurrency: int) -> Iterator[dict[str, Any]]:
    if concurrency == 1:
        yield from map(partial(_play, settings), numbers)
        return
    with multiprocessing.get_context("spawn").Pool(concurrency) as pool:
        yield from pool.imap_unordered(partial(_play, settings), numbers)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.votes.data", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--net", help="network file; by default the one that comes with the package")
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--budget", type=int, default=4000, help="nodes a move of every node")
    parser.add_argument("--judge", type=int, default=30_000, help="nodes behind each move that is judged")
    parser.add_argument("--seed", type=int, default=1, help="of the openings")
    parser.add_argument("--concurrency", type=int, default=1, help="processes")
    options = parser.parse_args()
    settings = DataSettings(options.net, options.nodes, options.budget, options.judge, options.seed)
    options.folder.mkdir(parents=True, exist_ok=True)
    kept = options.folder / "data.json"
    if not kept.exists():
        kept.write_text(json.dumps(asdict(settings), indent=1) + "\n", "utf-8")
    if json.loads(kept.read_text("utf-8")) != asdict(settings):
        parser.error(f"{kept}: the folder was begun with other settings")
    found = read_games(options.folder)
    path = options.folder / "games.jsonl"
    path.write_text("".join(json.dumps(game) + "\n" for game in found), "utf-8")
    done = {game["game"] for game in found}
    wanted = [number for number in range(options.games) if number not in done]
    searched, split = (sum(game["searched"] for game in found), sum(len(game["positions"]) for game in found))
    began = time.monotonic()
    try:
        for count, game in enumerate(_games(settings, wanted, options.concurrency), start=1):
            append_text(path, json.dumps(game) + "\n")
            searched += game["searched"]
            split += len(game["positions"])
            left = (time.monotonic() - began) / count * (len(wanted) - count)
            print(
                f"game {len(done) + count} of {options.games}: {searched} positions, {split} judged; "
                f"{left / 60:.0f} minutes to go",
                file=sys.stderr,
                flush=True,
            )
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
