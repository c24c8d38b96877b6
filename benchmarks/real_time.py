"""The search speed of each core of the machine: the fleet of `gougi usi` against the single searcher, in real time.

    python -m benchmarks.real_time [--net FILE] [--nodes 1,2] [--ms 300,1000,3000] [--rounds 3] [--threads 1] [--json]

Every way of using the machine searches the same positions for the same time, in turns, position by position: ``single``
is `gougi usi --single` with `--threads` threads (default: 1), as each node has; ``k singles`` are k of them side by
side, which shows what the cores can do; ``k nodes`` is `gougi usi` with a fleet of k nodes. A row gives the nodes of a
move (mean), their ratio to those of ``single`` in the same turn (median and quartiles, which tell how far to trust it:
even an idle machine's speed changes from second to second), and for a fleet the CPU seconds of each kind of thread in a
searched second: those of the search in a node's process, of its other threads, of the master, of the fallback, and of
all else (Ray).

The nodes of a fleet are taken from its log, in which every job reports its final number. With its move the player shows
an estimate, because it does not wait for the final numbers: ``shown`` is the estimate's ratio to the log's figure.

Measure on an idle machine: other load shows in the title, and in the loss of ``k singles``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.figures import machine
from benchmarks.nemesis.processes import log_events
from cluster.machine.processes import ProcessStat, command_of, descendants
from cluster.machine.status import masters
from worker.search.bench import POSITIONS
from worker.usi.process import UsiProcess

_START_S = 200.0
_CLEARED_S = 0.5
_COUNTED_S = 10.0
_SETTLED_S = 10.0
"""Seconds of waiting after the nodes are there: Ray's own processes still start then."""


@dataclass
class EngineProcess:
    """One engine's process. ``nodes`` 0: the single searcher, else the nodes of its fleet."""

    process: UsiProcess
    nodes: int
    log: Path
    """The folder of a fleet's log."""
    told: int = 0
    """The number of searches that the log has so far."""

    def new_game(self) -> None:
        """Empty its tables, and wait until that is done: nodes clear theirs when they hear of it."""
        self.process.send("usinewgame")
        self.process.ready(_START_S)
        time.sleep(_CLEARED_S)

    def search(self, sfen: str, ms: int) -> None:
        """Begin a search."""
        self.process.send(f"position sfen {sfen}")
        self.process.send(f"go movetime {ms}")

    def searched(self) -> int:
        """Wait for the answer; returns the nodes that were searched."""
        nodes = 0
        while True:
            line = self.process.receive(time.monotonic() + 60) or ""
            words = line.split()
            if words[:1] == ["bestmove"]:
                return nodes
            if "nodes" in words[:-1]:
                nodes = max(nodes, int(words[words.index("nodes") + 1]))

    def counted(self, shown: int) -> int:
        """The nodes of the search that was answered last; ``shown``: the number that the player gave with its move."""
        if not self.nodes:
            return shown
        deadline = time.monotonic() + _COUNTED_S
        while time.monotonic() < deadline:
            found = [event for event in log_events(self.log) if event.get("event") == "searched"]
            if len(found) > self.told:
                self.told = len(found)
                return int(str(found[-1]["nodes"]))
            time.sleep(0.02)
        raise SystemExit(f"{self.log}: nothing of the last search within {_COUNTED_S:g} s")

    def family(self) -> dict[int, str]:
        """The process and all its descendants, and the kind of each."""
        known = {node["pid"]: "node" for master in masters() for node in master["nodes"]}
        found = {self.process.pid: "master"}
        for child in descendants(self.process.pid):
            other = "fallback" if "cluster.node.process" in command_of(child.pid) else "others"
            found[child.pid] = known.get(child.pid, other)
        return found

    def cpu(self) -> defaultdict[str, float]:
        """CPU seconds so far by kind of thread."""
        used = defaultdict[str, float](float)
        for pid, kind in self.family().items():
            with suppress(OSError):
                used[kind] += ProcessStat.read(Path(f"/proc/{pid}/stat")).cpu_s
                if kind != "node":
                    continue
                # Search threads come and go, and carry the process's name: their time is the rest.
                for file in Path(f"/proc/{pid}/task").glob("[0-9]*/stat"):
                    task = ProcessStat.read(file)
                    if task.name != "python":
                        used[f"node: {task.name}"] += task.cpu_s
                        used["node"] -= task.cpu_s
        return used


@dataclass
class Row:
    """The results of one way of using the machine with one time, search by search, and its CPU seconds."""

    nodes: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    """``nodes`` as a share of those of the single searcher in the same turn."""
    shown: list[float] = field(default_factory=list)
    """The shown numbers, as a share of ``nodes``."""
    cpu: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    seconds: float = 0.0

    def facts(self) -> dict[str, object]:
        most_first = sorted(self.cpu.items(), key=lambda entry: -entry[1])
        shares = {name: round(used / self.seconds, 3) for name, used in most_first if used}
        low, ratio, high = statistics.quantiles(self.ratios, n=4, method="inclusive")
        return {
            "nodes": round(statistics.mean(self.nodes)),
            "ratio": round(ratio, 3),
            "quartiles": [round(low, 3), round(high, 3)],
            "shown": round(statistics.median(self.shown), 3),
            "cpu_s_per_s": shares,
        }


@contextmanager
def started(nodes: int, net: str, hash_mb: int, threads: int) -> Iterator[EngineProcess]:
    """An engine that is ready; of a fleet, with all of its nodes. ``threads``: of the searcher, or of each node."""
    log = Path(tempfile.mkdtemp(prefix="real-time-"))
    words = ["usi", "--records", str(log)] if nodes else ["usi", "--single"]
    process = UsiProcess([sys.executable, "-m", "master", *words], _START_S)
    try:
        options = {"USI_Hash": str(hash_mb), "Threads": str(threads)}
        options |= {"EvalFile": net} if net else {}
        options |= {"Nodes": str(nodes)} if nodes else {}
        process.set_options(options)
        process.ready(_START_S)
        deadline = time.monotonic() + _START_S
        while nodes and time.monotonic() < deadline:
            mine = [master for master in masters() if master["pid"] == process.pid]
            if mine and sum(node["state"] == "ready" for node in mine[0]["nodes"]) >= nodes:
                break
            time.sleep(0.1)
        time.sleep(_SETTLED_S if nodes else 0)
        yield EngineProcess(process, nodes, log)
    finally:
        process.quit()
        shutil.rmtree(log)


def measure(engines: list[EngineProcess], sfen: str, ms: int, row: Row) -> float:
    """All search the same position at the same time. Returns their nodes together."""
    total = shown = 0
    for engine in engines:
        engine.new_game()
    before = [engine.cpu() for engine in engines]
    for engine in engines:
        engine.search(sfen, ms)
    for engine in engines:
        said = engine.searched()
        shown += said
        total += engine.counted(said)
    for engine, used in zip(engines, before, strict=True):
        for name, spent in engine.cpu().items():
            row.cpu[name] += max(0.0, spent - used[name])
    row.seconds += ms / 1000
    row.nodes.append(total)
    row.shown.append(shown / total)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--net", default="", help="the network of all (default: ours)")
    parser.add_argument("--nodes", default="1,2", help="sizes of the fleets (default: 1,2)")
    parser.add_argument("--ms", default="300,1000,3000", help="times of a move (default: 300,1000,3000)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds over the positions (default: 3)")
    parser.add_argument(
        "--threads", type=int, default=1, help="search threads of the searcher and of each node (default: 1)"
    )
    parser.add_argument("--hash", type=int, default=128, help="MiB of table for each (default: 128)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    words = parser.parse_args()
    times = list(map(int, words.ms.split(",")))
    rows = defaultdict[tuple[int, str], Row](Row)
    for size in map(int, words.nodes.split(",")):
        with ExitStack() as stack:
            singles = [stack.enter_context(started(0, words.net, words.hash, words.threads)) for _ in range(size)]
            ways = {"single": singles[:1]} | ({f"{size} singles": singles} if size > 1 else {})
            ways[f"{size} nodes"] = [stack.enter_context(started(size, words.net, words.hash, words.threads))]
            for number in range(words.rounds):
                for ms, sfen in itertools.product(times, POSITIONS):
                    # The order is turned round, so that no way always comes after the same one.
                    order = list(ways) if number % 2 == 0 else list(reversed(ways))
                    nodes = {way: measure(ways[way], sfen, ms, rows[ms, way]) for way in order}
                    for way in order:
                        rows[ms, way].ratios.append(nodes[way] / nodes["single"])
    facts: dict[str, dict[str, dict[str, object]]] = defaultdict(dict)
    for (ms, name), row in rows.items():
        facts[str(ms)][name] = row.facts()
    if words.json:
        print(json.dumps({"machine": machine(), "times": facts}))
    else:
        show(facts)


def show(facts: dict[str, dict[str, dict[str, object]]]) -> None:
    state = machine()
    title = f"{state['cores']} cores, load {state['load'][0]}"
    table = Table("ms", "", "nodes a move", "ratio", "quartiles", "shown", "CPU seconds a searched second", title=title)
    for ms, ways in facts.items():
        for name, row in ways.items():
            shares = row["cpu_s_per_s"]
            assert isinstance(shares, dict)
            used = ", ".join(f"{kind} {share}" for kind, share in shares.items())
            table.add_row(
                ms, name, f"{row['nodes']:,}", str(row["ratio"]), str(row["quartiles"]), str(row["shown"]), used
            )
    Console().print(table)


if __name__ == "__main__":
    main()
