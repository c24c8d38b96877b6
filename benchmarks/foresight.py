"""The knowledge of networks, and of searches, in positions of real games: minutes instead of the hour of a match.

    python -m benchmarks.foresight RUN [RUN …] [--net nn.bin …] [--nodes 200,1000,4000,20000] [--positions N] [--json]

RUN is a folder of ``gougi match``. Quiet positions are taken from its records: no check, and no capture or promotion as
the next move. The first network evaluates each of them without a search and after searches with the given numbers of
nodes; the other networks evaluate without a search. Two figures of each, in nats, the lower the better:

- result loss: how badly it predicts the result of the game (0.693 is chance alone), and the difference from the first
  network's, with its 95 % interval;
- away from the deepest search: the divergence of its winning chances from those of the first network's deepest search;
  left out with ``--nodes ""``.

Chances are 1 / (1 + e^(-score / scale)), each evaluation at the scale that fits it best. A teacher's label is such a
search: its advantage over the evaluation without a search is all that a network can learn from it. Take matches of
equal players, because games against a stronger one drift to positions that the weaker one overrates. With all positions
of 6,000 such games the result loss tells 5 Elo apart, if the networks were trained in the same way. A match decides.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from lab.training.compare import LEAST, distances, mean_and_margin, winning_chances
from master.analysis.game import GameFileError, RecordedGame, read_games
from worker.engine import Limits
from worker.files import described
from worker.nnue import Network, NetworkFileError, NnueState, centipawns, evaluate_full, load_network
from worker.search.engine import NumbaEngine
from worker.shogi import Position
from worker.shogi.pieces import is_drop, is_promotion, move_to

OPENING: Final = 8
"""Moves at the start of a game that are skipped: the openings are random, not chosen by a player."""
_TABLE_MB: Final = 32

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sample:
    """A position, and the points of its side to move in the game: 0, 1/2 or 1."""

    sfen: str
    points: float


def evaluations(network: Network, samples: Sequence[Sample]) -> npt.NDArray[np.int64]:
    """Centipawns from the side to move, without a search."""
    state = NnueState(network)
    records = (Position.from_sfen(one.sfen).record for one in samples)
    return np.array([int(centipawns(evaluate_full(one, state.record), network.fv_scale)) for one in records], np.int64)


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one evaluation."""

    name: str
    result_loss: float
    difference: float
    """From the first network's result loss."""
    margin: float
    """Half of the 95 % interval of the difference."""
    away: float | None
    scale: float
    """Centipawns per logistic unit, fitted to the results."""


def samples_of(game: RecordedGame, count: int, rng: random.Random) -> list[Sample]:
    """Draw quiet positions of a decisive game, in the order of its moves."""
    position = Position.from_sfen(game.start_sfen)
    found = []
    for ply, played in enumerate(game.moves):
        move = position.parse_usi(played.usi)
        quiet = (is_drop(move) or not position.piece_on(move_to(move))) and not is_promotion(move)
        if ply >= OPENING and quiet and not position.in_check():
            found.append(Sample(position.sfen(), float(game.winner == position.turn)))
        position.push(move)
    drawn = sorted(rng.sample(range(len(found)), min(count, len(found))))
    return [found[i] for i in drawn]


def samples_in(runs: Sequence[Path], count: int, seed: int = 1) -> list[Sample]:
    """Draw about ``count`` positions from the records of matches, equally many from each game.

    Raises:
        GameFileError: a record cannot be read, or there is none.
    """
    files = [file for run in runs for file in sorted((run / "records").glob("*.csa"))]
    games = [game for file in files for game in read_games(file)]
    won = [game for game in games if game.winner is not None]
    if not won:
        raise GameFileError(f"{', '.join(map(str, runs))}: no record of a won game; expected folders of gougi match")
    rng = random.Random(seed)
    return [one for game in won for one in samples_of(game, -(-count // len(won)), rng)]


def searched(network: Network, samples: Sequence[Sample], nodes: int) -> Floats:
    """Scores of searches of ``nodes`` nodes, each from an empty table: centipawns from the side to move, [n]."""
    engine = NumbaEngine(hash_mb=_TABLE_MB, network=network)
    scores = []
    for one in samples:
        engine.new_game()
        engine.set_position(one.sfen)
        scores.append(engine.go(Limits(nodes=nodes)).lines[0].score)
    return np.array(scores, np.float64)


def misfits(scores: Floats, target: Floats) -> tuple[Floats, float]:
    """Compare scores with target chances at the scale that fits best: the divergence in nats, [n], and the scale."""
    return distances(scores, np.clip(target, LEAST, 1 - LEAST))


def rows(networks: dict[str, Network], samples: Sequence[Sample], limits: Sequence[int]) -> list[Row]:
    """Measure the networks without a search, and the first with these limits of nodes; the last limit, if there is one,
    is the judge."""
    points = np.array([one.points for one in samples], np.float64)
    scores = {name: evaluations(network, samples).astype(np.float64) for name, network in networks.items()}
    first = next(iter(networks.values()))
    for nodes in limits:
        scores[f"the first after {nodes:,} nodes"] = searched(first, samples, nodes)
        print(f"{nodes:,} nodes: {len(samples)} positions searched", file=sys.stderr)
    fits = {name: misfits(values, points) for name, values in scores.items()}
    deepest, (_, at) = list(scores.values())[-1], list(fits.values())[-1]
    judge = winning_chances(deepest, at) if limits else None
    base = next(iter(fits.values()))[0]
    found = []
    for name, (losses, scale) in fits.items():
        away = None if judge is None else float(misfits(scores[name], judge)[0].mean())
        found.append(Row(name, float(losses.mean()), *mean_and_margin(losses - base), away, scale))
    return found


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    parser.add_argument("--net", type=Path, action="append", default=[], metavar="FILE", help="default: ours")
    parser.add_argument(
        "--nodes", default="200,1000,4000,20000", help="limits of the searches, the judge's last; empty: none"
    )
    parser.add_argument("--positions", type=int, default=2500)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    limits = [int(word) for word in arguments.nodes.split(",") if word]
    try:
        samples = samples_in(arguments.runs, arguments.positions)
        networks = {str(file or "ours"): load_network(file) for file in arguments.net or [None]}
    except (GameFileError, NetworkFileError, OSError) as error:
        sys.exit(f"foresight: {described(error)}")
    found = rows(networks, samples, limits)
    if arguments.json:
        print(json.dumps({"positions": len(samples), "rows": [asdict(row) for row in found]}, indent=1))
        return
    width = max(len(row.name) for row in found)
    print(f"{len(samples):,} positions\n{'':{width}}{'result loss':>13}{'difference':>22}{'away':>9}{'scale':>8}")
    for row in found:
        difference = f"{row.difference:+.4f} (± {row.margin:.4f})"
        away = "" if row.away is None else f"{row.away:.4f}"
        print(f"{row.name:{width}}{row.result_loss:>13.4f}{difference:>22}{away:>9}{row.scale:>8.0f}")


if __name__ == "__main__":
    main()
