"""A large fleet of simulated nodes: they join, vote, are lost in part, and join again. Times, and the master's load.

    python -m benchmarks.large_fleet [--nodes 64,256] [--processes 10] [--hz 10] [--rounds 5] [--steady 10] [--json]

The master is real: `FleetSearcher` with its coordinator, channel, keys and fallback. A simulated node speaks the real
channel with a key of its own (greeting, 5 heartbeats a second, HZ reports a second with legal random variations, ends
of jobs), but searches nothing, so many fit into one process. In each round a search with 2 s (soft) and 4 s (hard)
begins, three of ten processes get SIGKILL with their nodes after 0.5 s, and others with the same nodes follow later:

- ``join``: from the first connection until all nodes are live; ``whole``: the same for those that come back (so without
  the boot of a machine);
- ``lost``: from SIGKILL until the master has noted the last loss;
- ``decision``: milliseconds from the start of the search, and its votes;
- ``of a core``: processor time of the master in an endless search with all nodes, per second: the loop's thread alone,
  and the whole process with the encryption;
- ``other nodes lost``: by silence, though they were not killed: the machine is too busy for this simulation.
"""

from __future__ import annotations

import asyncio
import json
import math
import multiprocessing
import os
import random
import resource
import secrets
import time
from collections.abc import Callable, Iterable
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Annotated, Any

import typer
import zmq

from benchmarks.figures import Figures, machine, show
from cluster.api import Decision, Listener, SearchListener, SearchRequest
from cluster.coordination.root import prepare_rules
from cluster.coordination.settings import Mode, Settings
from cluster.drivers.fleet import node_name
from cluster.drivers.fleet_driver import FleetSearcher
from cluster.network.channel import ChannelAddress
from cluster.network.messages import Begun, Done, End, Heartbeat, Hello, Job, Message, Report, Stop, decode, encode
from worker.engine import Bound
from worker.shogi import STARTPOS, Position, move_to_usi

SOFT_MS, HARD_MS = 2000, 4000
KILL_AFTER_S = 0.5
SHARE = 0.3
_HEARTBEAT_S = 0.2
_PLIES = 8
_EACH = 2
"""Lines for each first move."""
_PATIENCE_S = 180.0


class SimulatedNode:
    """A node that speaks the channel and searches nothing."""

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        node_id: str,
        address: ChannelAddress,
        hz: float,
        known: Lines,
    ) -> None:
        self.known = known
        self.node_id = node_id
        self.incarnation = secrets.token_hex(4)
        self.hz = hz
        self.rng = random.Random(node_id)
        self.job: Job | None = None
        self.accepted = 0
        self.began = self.report_due = 0.0
        self.depth = 0
        self.beat_due = time.monotonic() + self.rng.random() * _HEARTBEAT_S
        socket = self.socket = context.socket(zmq.DEALER)
        socket.curve_serverkey = address.server_public
        socket.curve_publickey, socket.curve_secretkey = address.client_public, address.client_secret
        socket.linger = 0
        socket.connect(address.url)
        self.say(Begun(node_id, self.incarnation))
        self.say(Hello(node_id, self.incarnation, f"machine-of-{node_id}", os.getpid(), "simulated", nps=1_000_000))

    def say(self, message: Message) -> None:
        self.socket.send_multipart([f"{self.node_id}/{self.incarnation}".encode(), encode(message)], zmq.DONTWAIT)

    def take(self, now: float) -> bool:
        """Take all orders that wait. False: the master has ended this node."""
        while True:
            try:
                order = decode(b"".join(self.socket.recv_multipart(zmq.DONTWAIT)))
            except zmq.Again:
                return True
            if isinstance(order, End):
                return False
            if isinstance(order, Stop) and self.job is not None and self.job.job_id <= order.job_id:
                self.end(now)
            elif isinstance(order, Job) and order.job_id > self.accepted:
                if self.job is not None:
                    self.end(now)
                self.job, self.accepted = order, order.job_id
                self.began, self.depth = now, 4
                self.report_due = now + self.rng.random() / self.hz

    def end(self, now: float) -> None:
        assert self.job is not None
        ms = int((now - self.began) * 1000)
        self.say(Done(self.node_id, self.job.search_id, self.job.job_id, 1000 * ms, ms))
        self.job = None

    def step(self, now: float) -> float:
        """Handle all due events; returns the time of the next one."""
        if now >= self.beat_due:
            self.beat_due = now + _HEARTBEAT_S
            self.say(Heartbeat(self.node_id, self.incarnation, self.accepted, self.job is None))
        job = self.job
        if job is None:
            return self.beat_due
        if now >= self.report_due:
            self.report_due = now + 1 / self.hz
            self.report(job, now)
        limit_ms = job.movetime_ms
        if (limit_ms is not None and (now - self.began) * 1000 >= limit_ms) or (job.depth and self.depth >= job.depth):
            self.end(now)
            return self.beat_due
        return min(self.beat_due, self.report_due)

    def report(self, job: Job, now: float) -> None:
        """The lines of one more iteration."""
        ms = int((now - self.began) * 1000)
        self.depth = 4 + int(5 * math.log10(1 + ms / 100))  # about the same on all nodes: depths have to be comparable
        known = self.known.of(job.sfen, job.moves)
        names = [name for name in known if not job.searchmoves or name in job.searchmoves]
        names = [name for name in names if name not in job.ignoremoves]
        for rank, name in enumerate(self.rng.sample(names, min(job.multipv, len(names))), 1):
            line = self.rng.choice(known[name])
            score = self.rng.randrange(-50, 50) - 20 * rank
            first = (self.node_id, job.search_id, job.job_id, self.depth, self.depth, score)
            self.say(Report(*first, Bound.EXACT, 1000 * ms, ms, 0, line, rank))


class Lines:
    """Random variations of legal moves, made once for each position: a simulation that generates moves all the time
    would be slower than a master."""

    def __init__(self) -> None:
        self._rng = random.Random(os.getpid())
        self._known: dict[tuple[str, tuple[str, ...]], dict[str, list[tuple[str, ...]]]] = {}

    def of(self, sfen: str, moves: tuple[str, ...]) -> dict[str, list[tuple[str, ...]]]:
        """Lines by their first move."""
        key = (sfen, moves)
        if key not in self._known:
            root = Position.from_sfen(sfen)
            root.push_all(moves)
            self._known[key] = {
                move_to_usi(move): [self._line(sfen, (*moves, move_to_usi(move)), len(moves)) for _ in range(_EACH)]
                for move in root.legal_moves()
            }
        return self._known[key]

    def _line(self, sfen: str, moves: tuple[str, ...], skip: int) -> tuple[str, ...]:
        position = Position.from_sfen(sfen)
        position.push_all(moves)
        line = list(moves[skip:])
        while len(line) < _PLIES and (legal := position.legal_moves()):
            move = self._rng.choice(list(legal))
            line.append(move_to_usi(move))
            position.push(move)
        return tuple(line)


def simulate(parent: Connection, hz: float) -> None:
    """A process with nodes, until it is killed or the master has ended them all. When it is ready it says so to its
    parent, which then sends the nodes' names and addresses."""
    os.nice(5)  # real nodes take nothing from the master's machine
    prepare_rules()
    lines = Lines()
    lines.of(STARTPOS, ())
    parent.send("ready")
    specs: list[tuple[str, ChannelAddress]] = parent.recv()
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    nodes = {}
    poller = zmq.Poller()
    for node_id, address in specs:
        node = SimulatedNode(context, node_id, address, hz, lines)
        nodes[node.socket] = node
        poller.register(node.socket, zmq.POLLIN)
    while nodes:
        now = time.monotonic()
        due = min(node.step(now) for node in nodes.values())
        for socket, _ in poller.poll(max(0, int((due - time.monotonic()) * 1000))):
            if not nodes[socket].take(time.monotonic()):
                poller.unregister(socket)
                del nodes[socket]


class LargeFleet(FleetSearcher):
    """A fleet of simulated nodes. Its nodes are in ``processes`` processes, equally many in each."""

    def __init__(self, nodes: int, processes: int, hz: float, mode: Mode) -> None:
        super().__init__(nodes, settings=Settings(mode=mode), name="large")
        self.groups = [
            [node_name(number + 1) for number in range(nodes)][first::processes] for first in range(processes)
        ]
        self.hz = hz
        self.reports = 0
        self.started = 0.0
        self._context = multiprocessing.get_context("spawn")
        self._processes: dict[int, tuple[SpawnProcess, Connection]] = {}

    async def prepare(self, groups: Iterable[int]) -> None:
        """Start the processes of these groups, and wait until they could connect."""
        for group in groups:
            ours, theirs = self._context.Pipe()
            process = self._context.Process(target=simulate, args=(theirs, self.hz), daemon=True)
            process.start()
            self._processes[group] = process, ours
        for group in groups:
            await asyncio.to_thread(self._processes[group][1].recv)

    def _receive(self, peer: str, message: Message) -> None:
        self.reports += isinstance(message, Report)
        super()._receive(peer, message)

    def _start_here(self) -> None:
        self.begin(range(len(self.groups)))

    def begin(self, groups: Iterable[int]) -> None:
        """Let the nodes of these groups connect."""
        self.started = time.monotonic()
        for group in groups:
            specs = [(node_id, self.spec(node_id, 1, None).address) for node_id in self.groups[group]]
            self._processes[group][1].send(specs)

    def kill(self, groups: Iterable[int]) -> None:
        """End these groups as a power cut does."""
        for group in groups:
            self._processes[group][0].kill()

    async def close(self) -> None:
        await super().close()
        self.kill(self._processes)


class Watch:
    """The fleet's events with their times."""

    def __init__(self) -> None:
        self.events: list[tuple[float, str, dict[str, object]]] = []
        self.changed = asyncio.Event()

    def hear(self, name: str, fields: dict[str, object]) -> None:
        self.events.append((time.monotonic(), name, fields))
        self.changed.set()

    def lost(self, since: float = 0.0) -> dict[str, float]:
        """The seconds from ``since`` until each node was lost, by its first loss after that."""
        found: dict[str, float] = {}
        for when, name, fields in self.events:
            if name == "node_lost" and when >= since:
                found.setdefault(str(fields["node"]), when - since)
        return found

    def has_lost(self, nodes: set[str], since: float) -> bool:
        return nodes <= self.lost(since).keys()

    async def until(self, condition: Callable[[], bool]) -> float:
        async with asyncio.timeout(_PATIENCE_S):
            while not condition():
                self.changed.clear()
                await self.changed.wait()
        return time.monotonic()


def _times() -> tuple[float, float, float]:
    """Processor seconds of this thread, of this process, and the time."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    return time.thread_time(), own.ru_utime + own.ru_stime, time.monotonic()


async def measure(nodes: int, processes: int, hz: float, rounds: int, steady_s: float, mode: Mode) -> dict[str, Any]:
    """The figures of a fleet with so many nodes."""
    watch = Watch()
    fleet = LargeFleet(nodes, processes, hz, mode)
    figures = {name: Figures() for name in ("lost, s", "whole, s", "decision, ms", "votes")}
    sources = set()
    try:
        await fleet.prepare(range(processes))
        await fleet.open(Listener(on_event=watch.hear))
        join = await watch.until(lambda: fleet._there() == nodes) - fleet.started
        fleet.start(SearchRequest(1, STARTPOS))
        await asyncio.sleep(2)
        before, reports = _times(), fleet.reports
        await asyncio.sleep(steady_s)
        loop, process, elapsed_s = (after - earlier for after, earlier in zip(_times(), before, strict=True))
        reports_per_s = (fleet.reports - reports) / elapsed_s
        fleet.stop(1)
        dead = range(max(1, round(len(fleet.groups) * SHARE)))
        killed = {node_id for group in dead for node_id in fleet.groups[group]}
        for search_id in range(2, rounds + 2):
            decided: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
            request = SearchRequest(search_id, STARTPOS, soft_ms=SOFT_MS, hard_ms=HARD_MS)
            fleet.start(request, SearchListener(on_decision=decided.set_result))
            await asyncio.sleep(KILL_AFTER_S)
            since = time.monotonic()
            fleet.kill(dead)
            decision = await decided
            await watch.until(partial(watch.has_lost, killed, since))
            figures["lost, s"].add(max(watch.lost(since)[node_id] for node_id in killed))
            figures["decision, ms"].add(decision.elapsed_ms)
            figures["votes"].add(sum(ballot.members for ballot in decision.ballots))
            sources.add(decision.source)
            await fleet.prepare(dead)
            fleet.begin(dead)
            figures["whole, s"].add(await watch.until(lambda: fleet._there() == nodes) - fleet.started)
        others = len([name for _, name, _ in watch.events if name == "node_lost"]) - rounds * len(killed)
    finally:
        await fleet.close()
    return {
        "nodes": nodes,
        "killed": len(killed),
        "join_s": join,
        "loop": loop / elapsed_s,
        "process": process / elapsed_s,
        "reports_per_s": reports_per_s,
        "figures": figures,
        "sources": sorted(sources),
        "others_lost": others,
    }


def main(
    nodes: Annotated[str, typer.Option(help="Sizes, separated by commas.")] = "64,256",
    processes: Annotated[int, typer.Option(help="Processes that hold the nodes.")] = 10,
    hz: Annotated[float, typer.Option(help="Reports a second of each node.")] = 10.0,
    rounds: Annotated[int, typer.Option(help="Losses.")] = 5,
    steady: Annotated[float, typer.Option(help="Seconds of the endless search.")] = 10.0,
    mode: Annotated[Mode, typer.Option(help="How the nodes work together.")] = Mode.CONSULT,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each size.")] = False,
) -> None:
    """Measure fleets of simulated nodes; exit code 1 if a decision was late or not the nodes'."""
    good = True
    for size in map(int, nodes.split(",")):
        found = asyncio.run(measure(size, processes, hz, rounds, steady, mode))
        figures = found.pop("figures")
        good &= max(figures["decision, ms"].samples) <= HARD_MS and not {"fallback", "none"} & set(found["sources"])
        if as_json:
            plain = {name: one.facts() for name, one in figures.items()}
            typer.echo(json.dumps({"machine": machine(), "mode": mode, "hz": hz, **found, "figures": plain}))
            continue
        show(f"{size} nodes, {mode}, {hz:.0f} reports/s each; {found['killed']} killed at once", {"": figures})
        load = f"of a core: loop {found['loop']:.0%}, process {found['process']:.0%}"
        typer.echo(f"join {found['join_s']:.1f} s; {load}; decided by {', '.join(found['sources'])}")
        typer.echo(f"reports received: {found['reports_per_s']:.0f}/s; other nodes lost: {found['others_lost']}")
    raise typer.Exit(not good)


if __name__ == "__main__":
    typer.run(main)
