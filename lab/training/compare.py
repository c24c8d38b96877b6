"""Two networks on the same positions of teacher games: their evaluations, and how well they predict the results of the
games and the scores of their searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lab.selfplay.shard import ShardError, read_shard
from lab.selfplay.walk import QUIET_SCORE, RECORD_DTYPE
from lab.training.corpus import BINS, CorpusError, Records, Replayer, Split, add_points, fitted_scale
from lab.training.net_facts import evaluator_raw
from lab.training.replay import TRAINING, VALIDATION
from lab.training.train_settings import HELD_OUT
from lab.training.weights import AnyFile
from worker.nnue.network import DEFAULT_FV_SCALE

_MOST_SHARDS: Final = 40
LEAST: Final = 1e-6
"""Lower limit of a probability in a loss, so that one position cannot outweigh all others."""

_SCALES: Final = np.geomspace(200, 8000, 240)
"""Centipawns per logistic unit: the candidates for the one that fits best."""
_PARTS: Final = 100
"""Positions of one game are alike, so an interval comes from the means of this number of consecutive parts."""

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


def positions_of(files: Sequence[Path], count: int, part: int, horizon: float, scale: float) -> Records:
    """Quiet positions of the games for training or for validation, of as many shards, taken at random, as are needed.
    ``horizon`` and ``scale`` are those of their scores' look-ahead (`Split`).

    Raises:
        CorpusError: a shard is damaged; the text names it.
        OSError: one cannot be read.
    """
    replayer = Replayer(Split(HELD_OUT, horizon=horizon), scale)
    found, missing = [np.empty(0, RECORD_DTYPE)], count
    for place in np.random.default_rng(1).permutation(len(files)):
        if missing <= 0:
            break
        try:
            found.append(replayer.records(read_shard(files[place]), part))
        except ShardError as error:
            raise CorpusError(str(error)) from error
        missing -= len(found[-1])
    return np.concatenate(found)[:count]


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
    return ResultLoss(scale, float(_losses(evaluated, _points(results), scale).mean()))


def _points(results: npt.NDArray[np.int8]) -> Values:
    """Points of the side to move, 0 to 1."""
    return (results.astype(np.float64) + 1) / 2


def winning_chances(values: Values, scale: float) -> Values:
    """Winning chances of evaluations or scores in centipawns, never quite 0 or 1."""
    return np.clip(1 / (1 + np.exp(-values / scale)), LEAST, 1 - LEAST)


def _losses(values: Values, target: Values, scale: float) -> Values:
    """Cross-entropy of each position: evaluations in centipawns against chances or points."""
    chance = winning_chances(values, scale)
    found: Values = -(target * np.log(chance) + (1 - target) * np.log(1 - chance))
    return found


def distances(values: Values, chances: Values) -> tuple[Values, float]:
    """The divergence of evaluations (centipawns) from winning chances at the scale that fits best: nats, [n]; the
    scale."""
    scale = min(_SCALES.tolist(), key=lambda one: float(_losses(values, chances, one).mean()))
    entropy = -(chances * np.log(chances) + (1 - chances) * np.log(1 - chances))
    return _losses(values, chances, scale) - entropy, scale


def mean_and_margin(differences: Values) -> tuple[float, float]:
    """The mean, and half of its 95 % interval, of values in the order of their games."""
    means = np.array([part.mean() for part in np.array_split(differences, min(_PARTS, len(differences)))])
    return float(differences.mean()), float(1.96 * means.std(ddof=1) / np.sqrt(len(means)))


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
    found = [result_loss(values, fields["result"]) for values in (first, second)]
    facts["results_a"], facts["results_b"] = (None if loss is None else asdict(loss) for loss in found)
    scores = fields["score"].astype(np.float64)
    labels = result_loss(scores, fields["result"])
    if labels is None or None in found:
        return facts
    points, chances = _points(fields["result"]), winning_chances(scores, labels.scale)
    results = [_losses(values, points, loss.scale) for values, loss in zip((first, second), found, strict=True) if loss]
    facts["results_difference"] = mean_and_margin(results[1] - results[0])
    (from_a, scale_a), (from_b, scale_b) = (distances(values, chances) for values in (first, second))
    facts["distance_a"] = {"scale": scale_a, "loss": float(from_a.mean())}
    facts["distance_b"] = {"scale": scale_b, "loss": float(from_b.mean())}
    facts["distance_difference"] = mean_and_margin(from_b - from_a)
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
    for kind, title, digits in (("results", "result loss", 4), ("distance", "distance from the scores", 5)):
        for name in "ab":
            if (loss := facts.get(f"{kind}_{name}")) is not None:
                words = f"{loss['loss']:.{digits}f}; scale {loss['scale']:,.0f} centipawns"
                rows.append((f"{title}, {name.upper()}", words))
        if (difference := facts.get(f"{kind}_difference")) is not None:
            mean, margin = difference
            rows.append(("B less A", f"{mean:+.{digits}f} (± {margin:.{digits}f})"))
    wide = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{wide}}  {value}" for name, value in rows)
