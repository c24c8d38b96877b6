"""A table of the results of `benchmarks.choices`: losses, paired differences, and the effective speed-up.

    python -m benchmarks.choices_table OUT.jsonl [--against NAME@N] [--json]

A choice's loss is the difference in winning probability, 1 / (1 + e^(-cp / 300)), from the best judged move of its
position. Over one node's budgets the mean loss falls like a power; the budget at which one node has a chooser's mean
loss is the chooser's effective speed-up k. ``differs`` is the mean difference of loss to ``--against``, position by
position; ``voters`` is the mean loss of all voters. Intervals (95 %) come from 2,000 resamplings of the positions. Only
positions at which every chooser of the table has chosen count, so that all are compared on the same positions; select
choosers with ``--only``.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.choices import Row, rows_of

_DECIDED_CP = 1500
_SCALE_CP = 300
_DRAWS = 2000

Floats = np.ndarray[Any, np.dtype[np.float64]]


def chance(score: int) -> float:
    """The winning probability of a score in centipawns."""
    return 1 / (1 + math.exp(-max(-9000, min(9000, score)) / _SCALE_CP))


class Choices:
    """The choices of the positions at which every chooser has chosen, without decided positions.

    Attributes:
        names: choosers, in the file's order.
        losses: (choosers, positions).
        voters: (choosers, positions), the mean loss of the moves for which the voters voted.
        depths: (choosers, positions), the voters' mean depth.
    """

    def __init__(self, rows: list[Row], only: set[str]) -> None:
        self.names = list(dict.fromkeys(row["chooser"] for row in rows if "chooser" in row))
        if only:
            self.names = [name for name in self.names if name in only]
        chosen: dict[int, dict[str, Row]] = {}
        scores: dict[int, dict[str, int]] = {}
        for row in rows:
            if "score" in row:
                scores.setdefault(row["position"], {})[row["move"]] = row["score"]
            else:
                chosen.setdefault(row["position"], {})[row["chooser"]] = row
        found, voters, kept = [], [], []
        for position, by_name in chosen.items():
            judged = scores.get(position, {})
            moves = [by_name[name]["move"] for name in self.names if name in by_name]
            best = max(judged.values(), default=0)
            if len(moves) < len(self.names) or abs(best) >= _DECIDED_CP:
                continue
            if judged and not all(move in judged for move in moves):
                continue
            found.append([chance(best) - chance(judged.get(move, best)) for move in moves])
            voters.append([_of_voters(by_name[name], judged, best) for name in self.names])
            kept.append([by_name[name] for name in self.names])
        self.losses: Floats = np.array(found).T.reshape(len(self.names), -1)
        self.voters: Floats = np.array(voters).T.reshape(len(self.names), -1)
        columns = list(zip(*kept, strict=True))
        self.depths: Floats = np.array([[row["depth"] for row in column] for column in columns], float)


def _of_voters(row: Row, judged: dict[str, int], best: int) -> float:
    """The mean loss of a choice's ballots; for a choice without ballots, its own loss. NaN: not all of them are
    judged."""
    votes = row["votes"] or {row["move"]: 1}
    if len(votes) > 1 and not votes.keys() <= judged.keys():
        return math.nan
    lost = [(chance(best) - chance(judged.get(move, best))) * count for move, count in votes.items()]
    return float(sum(lost) / sum(votes.values()))


def speed_ups(means: Floats, names: list[str]) -> Floats:
    """k of every chooser, from the choosers ``1x``, ``2x`` … among them. NaN if there are fewer than two."""
    singles = [(int(name[:-1]), i) for i, name in enumerate(names) if name[:-1].isdigit() and name.endswith("x")]
    if len(singles) < 2:
        return np.full(len(names), math.nan)
    times, places = zip(*singles, strict=True)
    slope, height = np.polyfit(np.log(times), np.log(np.maximum(means[list(places)], 1e-9)), 1)
    found: Floats = np.exp((np.log(np.maximum(means, 1e-9)) - height) / slope)
    return found


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choices_table", description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--against", help="chooser to compare with; by default the first that is no single node")
    parser.add_argument("--only", default="", help="choosers of the table, with commas")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    choices = Choices(rows_of(options.file), set(filter(None, options.only.split(","))))
    names, losses, depths = choices.names, choices.losses, choices.depths
    fleets = [name for name in names if "@" in name]
    against = names.index(options.against or (fleets or names)[0])
    count = losses.shape[1]
    draws = np.random.default_rng(1).integers(0, count, (_DRAWS, count))
    means = losses.mean(axis=1)
    drawn = np.stack([losses[:, draw].mean(axis=1) for draw in draws])
    ks = speed_ups(means, names)
    drawn_ks = np.stack([speed_ups(row, names) for row in drawn])
    results = {}
    for i, name in enumerate(names):
        low, high = np.percentile(drawn_ks[:, i], [2.5, 97.5])
        differs = drawn[:, i] - drawn[:, against]
        results[name] = {
            "loss": means[i],
            "k": ks[i],
            "k_low": low,
            "k_high": high,
            "differs": means[i] - means[against],
            "differs_low": np.percentile(differs, 2.5),
            "differs_high": np.percentile(differs, 97.5),
            "voters": choices.voters[i].mean(),
            "voters_differ": (choices.voters[i] - choices.voters[against]).mean(),
            "voters_error": 1.96 * (choices.voters[i] - choices.voters[against]).std() / math.sqrt(count),
            "depth": depths[i].mean(),
            "deeper": (depths[i] - depths[against]).mean(),
            "deeper_error": 1.96 * (depths[i] - depths[against]).std() / math.sqrt(count),
        }
    if options.json:
        print(json.dumps({"positions": count, "against": names[against], "results": results}))
        return
    print(f"{count} positions; differs: from {names[against]}")
    for name, row in results.items():
        k = f"k {row['k']:5.2f} ({row['k_low']:.2f} to {row['k_high']:.2f})"
        differs = f"{row['differs']:+.2%} ({row['differs_low']:+.2%} to {row['differs_high']:+.2%})"
        deeper = f"depth {row['depth']:5.2f} {row['deeper']:+.2f} (± {row['deeper_error']:.2f})"
        voters = f"voters {row['voters']:.2%} {row['voters_differ']:+.2%} (± {row['voters_error']:.2%})"
        print(f"{name:40}{row['loss']:7.2%}  {k:28}{differs:32}{voters:34}{deeper}")


if __name__ == "__main__":
    main()
