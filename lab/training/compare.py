"""Two networks on the same positions of teacher games: their evaluations, and how well they predict the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lab.selfplay.shard import ShardError, read_shard
from lab.selfplay.walk import QUIET_SCORE
from lab.training.corpus import BINS, CorpusError, Records, Replayer, Split, add_points, fitted_scale
from lab.training.net_facts import evaluator_raw
from lab.training.replay import TRAINING, VALIDATION
from lab.training.train_settings import HELD_OUT
from lab.training.weights import AnyFile
from worker.nnue.network import DEFAULT_FV_SCALE

_MOST_SHARDS: Final = 40
_LEAST: Final = 1e-6
"""Lower limit of a probability in a loss, so that one position cannot outweigh all others."""

Values = npt.NDArray[np.float64]


def quiet_records(files: Sequence[Path], count: int) -> tuple[Records, int]:
    """Quiet positions of teacher games, evenly from some of the shards; and how many of them are held out.

    As many as possible come from games that `gougi train` holds out, so that no network has learned from them; they
    stand first.

    Raises:
        CorpusError: a shard is damaged; the text names it.
        OSError: one cannot be read.
    """
    chosen = [files[place] for place in sorted({i * len(files) // _MOST_SHARDS for i in range(_MOST_SHARDS)})]
    replayer = Replayer(Split(HELD_OUT))
    found: list[Records] = []
    for part in (VALIDATION, TRAINING):
        wanted = count - sum(map(len, found))
        if wanted:
            try:
                records = np.concatenate([replayer.records(read_shard(path), part) for path in chosen])
            except ShardError as error:
                raise CorpusError(str(error)) from error
            if len(records) > wanted:
                records = records[np.linspace(0, len(records) - 1, wanted).astype(np.int64)]
            found.append(records)
    return np.concatenate(found), len(found[0])


def evaluations(network: AnyFile, records: Records) -> Values:
    """Centipawns from the side to move, float64 [n]."""
    return evaluator_raw(network, records) / (network.architecture.fv_scale or DEFAULT_FV_SCALE)


@dataclass(frozen=True, slots=True)
class ResultLoss:
    """The misfit between a network's evaluations and the results of the games from which the positions come.

    A position counts -p log q - (1 - p) log(1 - q), with the points p of the side to move and
    q = 1 / (1 + exp(-evaluation / scale)). Chance alone has 0.693.

    Attributes:
        scale: centipawns, the one that fits best.
        loss: mean over all positions, in nats.
    """

    scale: float
    loss: float


def result_loss(values: Values, results: npt.NDArray[np.int8]) -> ResultLoss | None:
    """Measure evaluations (centipawns) against the results of the games (1, 0, -1), both as the side to move sees them.

    Returns:
        None: the evaluations explain nothing.
    """
    evaluated = values.clip(-QUIET_SCORE, QUIET_SCORE)
    weights, sums = np.zeros(BINS), np.zeros(BINS)
    add_points(weights, sums, evaluated, results)
    scale = fitted_scale(weights, sums)
    if scale is None:
        return None
    points = (results.astype(np.float64) + 1) / 2
    chance = np.clip(1 / (1 + np.exp(-evaluated / scale)), _LEAST, 1 - _LEAST)
    losses = -(points * np.log(chance) + (1 - points) * np.log(1 - chance))
    return ResultLoss(scale, float(losses.mean()))


def comparison(a: AnyFile, b: AnyFile, records: Records) -> dict[str, Any]:
    """Figures of two networks on positions, as plain values; scores are clipped to `QUIET_SCORE`."""
    first, second = (evaluations(network, records).clip(-QUIET_SCORE, QUIET_SCORE) for network in (a, b))
    spread = float(first.std() * second.std())
    correlation = float(((first - first.mean()) * (second - second.mean())).mean() / spread) if spread else None
    square = float((first * first).sum())
    facts: dict[str, Any] = {
        "positions": len(first),
        "rms": float(np.sqrt(((first - second) ** 2).mean())),
        "mean": float((second - first).mean()),
        "correlation": correlation,
        "slope": float((first * second).sum() / square) if square else None,
        "same_side": float((np.sign(first) == np.sign(second)).mean()),
    }
    fields: Any = records
    for name, values in (("a", first), ("b", second)):
        loss = result_loss(values, fields["result"])
        facts[f"results_{name}"] = None if loss is None else asdict(loss)
    return facts


def comparison_text(facts: Mapping[str, Any]) -> str:
    """The same as a table; ``held_out``: number of positions from games that training holds out."""
    rows = [
        ("A", facts["a"]),
        ("B", facts["b"]),
        ("positions", f"{facts['positions']:,}, {facts['held_out']:,} of them of games that gougi train holds out"),
        ("B less A", f"{facts['rms']:.1f} centipawns rms, {facts['mean']:+.1f} on average"),
        ("correlation", "none" if facts["correlation"] is None else f"{facts['correlation']:.4f}"),
        ("B by A", "none" if facts["slope"] is None else f"{facts['slope']:.3f}"),
        ("same side ahead", f"{facts['same_side']:.1%}"),
    ]
    for name in "ab":
        if (loss := facts[f"results_{name}"]) is not None:
            words = f"{loss['loss']:.4f}; scale {loss['scale']:,.0f} centipawns"
            rows.append((f"result loss, {name.upper()}", words))
    wide = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{wide}}  {value}" for name, value in rows)
