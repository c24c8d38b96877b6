"""Nodes a CPU second of our searcher, against another engine with the same network, or with another network of ours.

    python -m benchmarks.nps --net nn.bin --theirs ./YaneuraOu-by-gcc     # the other engine's build for this network
    python -m benchmarks.nps --net nn.bin --base kp256.bin                # how fast is a network?

Searches of the positions of `gougi bench` in turns, one thread, each from an empty table: by one engine, then by the
other, the order turned round each time. The time is that of the processor, of all threads, so that the load of the
machine matters little. The result is the median of the ratios of such pairs. Networks of random weights:
``python -m benchmarks.random_networks``.

The other engine is set up as YaneuraOu: ``EvalDir``, ``BookFile``, ``FV_SCALE``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.figures import machine
from benchmarks.waiting import Waiting
from worker.engine import EngineError
from worker.search.bench import POSITIONS
from worker.usi.process import UsiProcess

_START_S: Final = 60.0
_READY_S: Final = 600.0
"""The first network of a kind compiles."""
_SEARCH_S: Final = 600.0
_PAUSE_S: Final = 0.15
"""After ``readyok`` an engine may still clear its table."""
_FV_SCALE: Final = "16"


@dataclass
class Side:
    """One engine, and its nodes a CPU second in each search."""

    name: str
    engine: UsiProcess
    speeds: list[float] = field(default_factory=list)

    def search(self, sfen: str, nodes: int) -> None:
        """Measure one search. Raises EngineError: the engine died, or did not answer in time."""
        engine = self.engine
        engine.send("usinewgame")
        engine.ready(_READY_S)
        time.sleep(_PAUSE_S)
        engine.send(f"position sfen {sfen}")
        before = Waiting.now(engine.pid)
        engine.send(f"go nodes {nodes}")
        deadline = time.monotonic() + _SEARCH_S
        searched = 0
        while not (line := engine.receive(deadline) or "").startswith("bestmove"):
            words = line.split()
            if words[:1] == ["info"] and "nodes" in words:
                searched = int(words[words.index("nodes") + 1])
            elif time.monotonic() > deadline:
                raise EngineError(f"{engine.label}: no bestmove within {_SEARCH_S:g} s")
        self.speeds.append(searched / (sum(before.ran_ms(engine.pid)) / 1000))


def start(command: list[str], options: dict[str, str]) -> UsiProcess:
    """An engine that is ready to search. Raises EngineError."""
    engine = UsiProcess(command, _START_S)
    try:
        engine.set_options(options)
        engine.ready(_READY_S)
    except BaseException:
        engine.kill()
        raise
    return engine


def ours(net: Path, hash_mb: int) -> Side:
    """Our single engine with a network."""
    options = {"EvalFile": str(net), "USI_OwnBook": "false", "FV_SCALE": _FV_SCALE}
    command = [sys.executable, "-m", "gougi", "usi", "--single"]
    return Side(f"ours, {net.name}", start(command, {"USI_Hash": str(hash_mb), "Threads": "1", **options}))


def theirs(program: Path, net: Path, folder: Path, hash_mb: int) -> Side:
    """The other engine with the same network; ``folder`` is an empty one, for its ``EvalDir``."""
    (folder / "nn.bin").symlink_to(net)
    options = {"EvalDir": str(folder), "BookFile": "no_book", "FV_SCALE": _FV_SCALE}
    options |= {"USI_Hash": str(hash_mb), "Threads": "1"}
    return Side(f"theirs, {program.name}", start([str(program)], options))


def measure(sides: tuple[Side, Side], pairs: int, nodes: int) -> dict[str, Any]:
    """The figures of ``pairs`` pairs of searches. Raises EngineError."""
    for side in sides:  # the first search reads the network's rows into memory
        side.search(POSITIONS[0], nodes)
        side.speeds.clear()
    for number in range(pairs):
        for side in sides if number % 2 == 0 else sides[::-1]:
            side.search(POSITIONS[number % len(POSITIONS)], nodes)
    ratios = [one / other for one, other in zip(sides[0].speeds, sides[1].speeds, strict=True)]
    low, _, high = statistics.quantiles(ratios, n=4) if pairs > 1 else ratios * 3
    return {
        "speed": {side.name: round(statistics.median(side.speeds)) for side in sides},
        "ratio": round(statistics.median(ratios), 3),
        "quartiles": [round(low, 3), round(high, 3)],
        "pairs": pairs,
        "nodes": nodes,
        **machine(),
    }


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.nps", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--net", type=Path, required=True, help="the network to measure")
    other = parser.add_mutually_exclusive_group(required=True)
    other.add_argument(
        "--theirs", type=Path, metavar="PROGRAM", help="another engine's program, built for this network"
    )
    other.add_argument("--base", type=Path, metavar="NET", help="another network for our searcher")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=200_000, help="of each search")
    parser.add_argument("--hash", type=int, default=128, metavar="MB", help="of each engine's table")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args()
    if options.pairs < 1 or options.nodes < 1:
        parser.error("--pairs and --nodes: expected 1 or more")
    sides: list[Side] = []
    with tempfile.TemporaryDirectory(prefix="gougi-nps-") as folder:
        try:
            net = options.net.resolve(strict=True)
            sides.append(ours(net, options.hash))
            if options.base is None:
                sides.append(theirs(options.theirs.resolve(strict=True), net, Path(folder), options.hash))
            else:
                sides.append(ours(options.base.resolve(strict=True), options.hash))
            result = measure((sides[0], sides[1]), options.pairs, options.nodes)
        except (EngineError, OSError) as error:
            print(error, file=sys.stderr)
            return 1
        finally:
            for side in sides:
                side.engine.quit()
    if options.json:
        print(json.dumps(result))
        return 0
    for name, speed in result["speed"].items():
        print(f"{name:48}{speed / 1000:8.0f} thousand nodes a CPU second")
    low, high = result["quartiles"]
    facts = f"quartiles {low:.3f} and {high:.3f}, {options.pairs} pairs, load {result['load'][0]}"
    print(f"ratio {result['ratio']:.3f}, {facts}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
