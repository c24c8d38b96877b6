"""The contents of a folder's shards: lengths and ends of games, starts, results, and the fitted win-rate scale."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from lab.selfplay.folder import TeachingError, shards_in
from lab.selfplay.shard import ENTERING, NATURAL, PLAYED_OUT, UNUSUAL, ShardError
from lab.selfplay.state import END_NAMES, MOVE_LIMIT, REPEATED
from lab.training.corpus import BINS, Replayer, Split, add_points, fitted_scale
from lab.training.replay import TRAINING


def count_games(folder: Path) -> dict[str, Any]:
    """Count the contents of a folder of ``gougi selfplay``, as plain values.

    Raises:
        TeachingError: there are no shards, or one is damaged; the text names that shard.
        OSError: one cannot be read.
    """
    replayer = Replayer(Split(1e-15))
    lengths: list[int] = []
    ends, results, flags, nets = Counter[int](), Counter[int](), Counter[int](), Counter[str]()
    shards = size = nodes = rejected = kept = 0
    weights, points = np.zeros(BINS), np.zeros(BINS)
    for shard in shards_in(folder):
        shards += 1
        size += len(shard.payload)
        nodes += shard.header["nodes"]
        rejected += shard.header["rejected"]
        nets[shard.header["net"]] += 1
        try:
            for game in shard.games():
                lengths.append(len(game.moves))
                ends[game.end] += 1
                results[game.result] += 1
                flags.update(flag for flag in (ENTERING, UNUSUAL, NATURAL, PLAYED_OUT) if game.flags & flag)
            records: Any = replayer.records(shard, TRAINING)
        except ShardError as error:
            raise TeachingError(f"{folder}, shard {shard.header['shard']}: {error}") from error
        kept += len(records)
        add_points(weights, points, records["score"], records["result"])
    positions = max(1, sum(lengths))
    return {
        "shards": shards,
        "nets": dict(nets),
        "games": len(lengths),
        "positions": sum(lengths),
        "kept": kept,
        "kept_share": kept / positions,
        "bytes_per_position": size / positions,
        "nodes_per_position": nodes / positions,
        "rejected_openings": rejected,
        "black_wins": results[1],
        "white_wins": results[-1],
        "draws": ends[REPEATED] + ends[MOVE_LIMIT],
        "ends": {name: ends[end] for end, name in END_NAMES.items()},
        "entering_starts": flags[ENTERING],
        "unusual_starts": flags[UNUSUAL],
        "natural_openings": flags[NATURAL],
        "played_out": flags[PLAYED_OUT],
        "length": {
            "mean": float(np.mean(lengths)),
            "median": float(np.median(lengths)),
            "shortest": min(lengths),
            "longest": max(lengths),
        },
        "win_rate_scale": fitted_scale(weights, points),
    }


def counts_text(facts: dict[str, Any]) -> str:
    """The counts as a table."""
    games, length, scale = facts["games"], facts["length"], facts["win_rate_scale"]
    played = {name: count for name, count in facts["ends"].items() if count}
    rows = [
        ("shards", f"{facts['shards']:,}"),
        ("games", f"{games:,}"),
        ("positions", f"{facts['positions']:,} ({facts['bytes_per_position']:.2f} bytes each)"),
        ("kept as quiet", f"{facts['kept']:,} ({facts['kept_share']:.1%})"),
        ("black / draw / white", f"{facts['black_wins']:,} / {facts['draws']:,} / {facts['white_wins']:,}"),
        ("ends", ", ".join(f"{name} {count:,} ({count / games:.1%})" for name, count in played.items())),
        ("kings far up at the start", f"{facts['entering_starts']:,} games"),
        ("unusual at the start", f"{facts['unusual_starts']:,} games"),
        ("natural openings", f"{facts['natural_openings']:,} games"),
        ("played to the end", f"{facts['played_out']:,} games"),
        (
            "moves of a game",
            f"{length['mean']:.0f} on average, {length['median']:.0f} median, {length['shortest']} to"
            f" {length['longest']}",
        ),
        ("openings rejected", f"{facts['rejected_openings']:,}"),
        ("nodes of a move", f"{facts['nodes_per_position']:,.0f}"),
        ("win-rate scale", "not to be fitted" if scale is None else f"{scale:,.0f} centipawns"),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{width}}  {value}" for name, value in rows)
