"""A test bench for trainers without noise: a net learns to reproduce another net's evaluation of the same positions.

Every label is the teacher's exact static evaluation, so any remaining difference between pupil and teacher is due to
the trainer (batch, rate, length, loss) or to a lack of positions; no match is needed to see it. The figure is the root
mean square of the difference between both nets' chances to win, over positions of games outside the training data.

    python -m benchmarks.distil --data runs/games1 --pupil generation-6.bin --teacher worker/nnue/data/gougi.bin \
        --out runs/distil --positions 250000,1000000,4000000 --samples 4000000 \
        --train "--batch 4096" --train "--batch 4096 --exponent 2.5"

``--out`` keeps the labelled positions and each training; the same command continues an interrupted run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lab.selfplay.shard import Shard, read_shard
from lab.training.corpus import Corpus, Replayer, Split, shard_files
from lab.training.net_facts import evaluator_raw
from lab.training.replay import TRAINING
from worker.files import replace_file
from worker.nnue.format import NetworkFile, read_network
from worker.nnue.network import DEFAULT_FV_SCALE

_MOST: int = 30_000
"""Centipawns that a label can have."""
_HELD_OUT = 0.05


def centipawns(network: NetworkFile, records: npt.NDArray[np.void]) -> npt.NDArray[np.float64]:
    """A net's static evaluation of each record."""
    scale = network.architecture.fv_scale or DEFAULT_FV_SCALE
    return evaluator_raw(network, np.ascontiguousarray(records)) / scale


def labelled(shard: Shard, teacher: NetworkFile, digest: str) -> Shard:
    """The same games, with the teacher's evaluation of each position as its score."""
    records = Replayer(Split(1e-15, every=True)).records(shard, TRAINING)
    scores = np.clip(np.rint(centipawns(teacher, records)), -_MOST, _MOST).astype(np.int16)
    games, at = [], 0
    for game in shard.games():
        games.append(replace(game, scores=scores[at : at + len(game.moves)]).to_bytes())
        at += len(game.moves)
    return Shard({**shard.header, "teacher": digest}, b"".join(games))


def label(data: list[Path], teacher: Path, out: Path, positions: int) -> int:
    """Write labelled shards with at least ``positions`` positions, or all there are; returns their number."""
    out.mkdir(parents=True, exist_ok=True)
    network, digest, count = read_network(teacher), hashlib.sha256(teacher.read_bytes()).hexdigest(), 0
    for number, path in enumerate(shard_files(data, psv=False)):
        if count >= positions:
            break
        target = out / f"shard-{number:06}.games"
        if not target.exists():
            replace_file(target, labelled(read_shard(path), network, digest).to_bytes())
        shard = read_shard(target)
        if shard.header["teacher"] != digest:
            raise SystemExit(f"{target}: labelled by another teacher: choose another --out")
        count += shard.header["positions"]
    return count


def train(data: Path, pupil: Path, out: Path, samples: int, scale: float, options: str) -> Path:
    """Train the pupil with ``gougi train``; its net."""
    words = [
        sys.executable, "-m", "gougi", "train", "--data", str(data), "--from", str(pupil), "--lambda", "1-1",
        "--positions", str(samples), "--scale", str(scale), "--validation", str(_HELD_OUT),
        "--tolerance", "1000", "--out", str(out), *shlex.split(options),
    ]  # fmt: skip
    if not (out / "report.json").exists():
        subprocess.run([*words, "--json"], check=True, stdout=subprocess.DEVNULL)
    return out / "nn.bin"


def difference(one: NetworkFile, other: NetworkFile, records: npt.NDArray[np.void], scale: float) -> float:
    """Root mean square of the difference between two nets' chances to win."""
    chances = [1 / (1 + np.exp(-centipawns(network, records) / scale)) for network in (one, other)]
    return float(np.sqrt(np.mean((chances[0] - chances[1]) ** 2)))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, action="append", required=True, help="folder of gougi selfplay")
    parser.add_argument("--pupil", type=Path, required=True)
    parser.add_argument("--teacher", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--positions", default="1000000", help="positions of each training, separated by commas")
    parser.add_argument("--samples", default="4000000", help="total samples of each training, separated by commas")
    parser.add_argument("--scale", type=float, default=1006.0, help="centipawns to a logistic unit")
    parser.add_argument("--train", action="append", help="options of gougi train; each is a row of the table")
    arguments = parser.parse_args()
    teacher = read_network(arguments.teacher)
    print("| positions | samples | options | difference |\n|---|---|---|---|")
    held = None
    # The most positions first: positions held out of the largest set are held out of smaller ones too, so they measure
    # all.
    for positions in sorted(map(int, arguments.positions.split(",")), reverse=True):
        data = arguments.out / f"labels-{positions}"
        count = label(arguments.data, arguments.teacher, data, positions)
        if held is None:
            corpus = Corpus.index(shard_files([data]), Split(_HELD_OUT))
            held = corpus.validation_records(200_000)
            before = difference(read_network(arguments.pupil), teacher, held, arguments.scale)
            print(f"| {count:,} | 0 | the pupil as it was | {before:.4f} |", flush=True)
        for samples in map(int, arguments.samples.split(",")):
            for options in arguments.train or [""]:
                name = hashlib.sha256(json.dumps([positions, samples, options]).encode()).hexdigest()[:12]
                net = train(data, arguments.pupil, arguments.out / name, samples, arguments.scale, options)
                after = difference(read_network(net), teacher, held, arguments.scale)
                print(f"| {count:,} | {samples:,} | {options or 'none'} | {after:.4f} |", flush=True)


if __name__ == "__main__":
    main()
