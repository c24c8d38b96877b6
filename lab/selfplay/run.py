"""Teacher games over processes of this machine, or over a fleet: shards that depend on no process and on no order."""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from cluster.drivers.task_pool import Losses, Opened, run_tasks
from cluster.machine.side_by_side import ProcessDied, WorkFailed, WorkProcess
from lab.selfplay.shard import tree_to_bytes
from lab.selfplay.teacher import Teacher, TeacherSettings, code_version
from lab.selfplay.warm import warm_up_selfplay
from master.ui.progress import Bars
from worker.nnue import Network
from worker.nnue.format import parse_network


class TeachingError(Exception):
    """Teacher games cannot be made or kept; the text says what is wrong, and where."""


class FolderError(TeachingError):
    """A folder is not one for what is ordered; the text says why."""


@dataclass(frozen=True, slots=True)
class ShardTerms:
    """The terms on which shards are made. The same for all of a folder."""

    settings: TeacherSettings
    net_digest: str
    """SHA-256 of the network's file."""
    fv_scale: int | None
    code: str
    """The version of the ordering process's sources (`code_version`)."""


@dataclass(frozen=True, slots=True)
class Played:
    """Some more games of a shard that is being made."""

    number: int
    """The shard's."""
    games: int
    positions: int
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Made:
    """A shard, whole."""

    number: int
    data: bytes
    games: int
    positions: int
    cpu_s: float
    """Seconds of processor time for the whole shard."""
    tree: bytes | None = None
    """The file of the positions of its searches' trees, if they are kept."""
    tree_positions: int = 0


@dataclass(frozen=True, slots=True)
class ShardLost:
    """The process that made a shard died; another makes it again, from its beginning."""

    number: int
    why: str


Event = Opened | Played | Made | ShardLost
Listener = Callable[[Event], None]


def digest_of(net: bytes) -> str:
    """The SHA-256 of a network's file."""
    return hashlib.sha256(net).hexdigest()


_teachers: dict[tuple[ShardTerms, int], Teacher] = {}
"""The last one of this process: a process makes many shards."""


def _teacher(net: bytes, terms: ShardTerms) -> Teacher:
    key = (terms, os.getpid())
    if key not in _teachers:
        network = Network(parse_network(net), fv_scale=terms.fv_scale)
        _teachers.clear()
        _teachers[key] = Teacher(network, terms.net_digest, terms.settings)
    return _teachers[key]


def make_shard(net: bytes, terms: ShardTerms, number: int, on_played: Listener = lambda _event: None) -> Made:
    """Make one shard, in this process; compile first, where this was not done yet on this machine.

    Args:
        net: the network's file.
        on_played: called about once a second with the progress.

    Raises:
        TeachingError: this machine has other sources than whoever ordered.
    """
    if (own := code_version()) != terms.code:
        raise TeachingError(f"{os.uname().nodename} has another version of Gougi ({own}, not {terms.code})")
    warm_up_selfplay()
    teacher = _teacher(net, terms)
    began = told = time.process_time()
    games = positions = 0

    def on_game(length: int) -> None:
        nonlocal told, games, positions
        games += 1
        positions += length
        now = time.process_time()
        if now - told >= 1:
            on_played(Played(number, games, positions, now - told))
            told, games, positions = now, 0, 0

    parts: list[npt.NDArray[np.void]] = []
    shard = teacher.make_shard(number, on_game, parts.append)
    records = np.concatenate(parts) if parts else None
    spent = time.process_time() - began
    return Made(
        number,
        shard.to_bytes(),
        shard.header["games"],
        shard.header["positions"],
        spent,
        None if records is None else tree_to_bytes(shard.header, records),
        0 if records is None else len(records),
    )


class _Maker(WorkProcess):
    """A process that makes shards, and the one that it is at."""

    number = -1

    def make(self, number: int) -> None:
        self.number = number
        self.order(number)

    def event(self) -> Event:
        """Wait for its next event; `ShardLost` where it is dead. Raises TeachingError: it cannot make its shard."""
        try:
            event: Played | Made = self.hear()
        except ProcessDied as error:
            return ShardLost(self.number, str(error))
        except WorkFailed as error:
            raise TeachingError(f"shard {self.number}: {error.text or error.kind}") from None
        return event


def make_here(net: bytes, terms: ShardTerms, numbers: Iterable[int], processes: int, on_event: Listener) -> None:
    """Make the shards of these numbers in ``processes`` processes; ``on_event`` gets each as it is made.

    An exception of ``on_event``, or Ctrl-C, ends the processes and the shards in them at once.

    Raises:
        TeachingError: a shard cannot be made.
    """
    waiting = deque(numbers)
    losses = Losses(TeachingError)
    makers: dict[Connection, _Maker] = {}
    try:
        while waiting or makers:
            while waiting and len(makers) < processes:
                maker = _Maker(partial(_make, net, terms))
                makers[maker.connection] = maker
                maker.make(waiting.popleft())
            for ready in wait(list(makers)):
                assert isinstance(ready, Connection)
                maker = makers[ready]
                event = maker.event()
                if isinstance(event, ShardLost):
                    losses.add(f"shard {event.number}", event.why)
                    waiting.appendleft(event.number)
                on_event(event)
                if isinstance(event, Made) and waiting:
                    maker.make(waiting.popleft())
                elif not isinstance(event, Played):
                    makers.pop(ready).close()
    finally:
        for maker in makers.values():
            maker.close()


def _make(net: bytes, terms: ShardTerms, tell: Callable[[Event], None], number: int) -> Made:
    return make_shard(net, terms, number, tell)


class _Shards:
    """The shards that are still to be made."""

    def __init__(self, terms: ShardTerms, numbers: Iterable[int], on_event: Listener) -> None:
        self._terms = terms
        self._waiting = deque(numbers)
        self._losses = Losses(TeachingError)
        self._on_event = on_event

    def opened(self, nodes: int) -> None:
        self._on_event(Opened(nodes))

    def take(self) -> tuple[int, tuple[ShardTerms, int]] | None:
        if not self._waiting:
            return None
        number = self._waiting.popleft()
        return number, (self._terms, number)

    def done(self, result: Made) -> None:
        self._on_event(result)

    def lost(self, name: int, why: str) -> None:
        self._losses.add(f"shard {name}", why)
        self._waiting.appendleft(name)
        self._on_event(ShardLost(name, why))


async def make_on_ray(address: str, net: bytes, terms: ShardTerms, numbers: Iterable[int], on_event: Listener) -> None:
    """Make the shards of these numbers on a fleet; ``on_event`` gets each as it is made, and each loss.

    Args:
        address: ``host:port`` or ``auto`` of a Ray cluster that runs.

    Raises:
        FleetError: there is no such cluster.
        TeachingError: Ray was lost, or a shard cannot be made.
    """
    await run_tasks(address, net, make_shard, _Shards(terms, numbers, on_event), TeachingError)


_BAR: Final = 40


class ShardsProgress(Bars):
    """The standing on stderr: a bar at a terminal, else a line for each shard.

    Args:
        wanted: games in all.
        known: headers of the shards that are there already.
    """

    def __init__(self, wanted: int, known: Sequence[dict[str, Any]]) -> None:
        super().__init__("games")
        self._wanted = wanted
        self._shards = len(known)
        self._games = sum(header["games"] for header in known)
        self._positions = sum(header["positions"] for header in known)
        self._fresh_games = self._fresh_positions = 0
        self._fresh_cpu_s = 0.0
        self._under_way = Counter[int]()
        """Games of each shard that is being made."""
        self._running_positions = 0
        self._running_cpu_s = 0.0
        self._lost = 0
        self._bar = self.bar("", wanted)
        self._began = time.monotonic()

    def take(self, event: Event) -> None:
        """Something happened."""
        from cluster.drivers.task_pool import Opened

        if isinstance(event, Opened):
            waits = "" if event.nodes else ": waiting for a machine that has room"
            self.note(f"a fleet of {event.nodes} nodes{waits}")
        elif isinstance(event, Played):
            self._under_way[event.number] += event.games
            self._running_positions += event.positions
            self._running_cpu_s += event.cpu_s
        elif isinstance(event, ShardLost):
            self._lost += 1
            self._under_way.pop(event.number, None)
            self.note(f"shard {event.number} is lost: {event.why}; it is made again")
        else:
            self._shards += 1
            self._under_way.pop(event.number, None)
            self._fresh_games += event.games
            self._fresh_positions += event.positions
            self._fresh_cpu_s += event.cpu_s
        self._show(tell=isinstance(event, Made))

    def facts(self) -> dict[str, Any]:
        """The shards made now and before, as plain values."""
        return {
            "shards": self._shards,
            "games": self._games + self._fresh_games,
            "positions": self._positions + self._fresh_positions,
            "made_now": {
                "games": self._fresh_games,
                "positions": self._fresh_positions,
                "cpu_s": round(self._fresh_cpu_s, 3),
                "wall_s": round(time.monotonic() - self._began, 3),
                "positions_per_cpu_s": round(self._rate()),
                "lost_shards": self._lost,
            },
        }

    def summary(self) -> str:
        """The same in a line."""
        facts = self.facts()
        text = f"{facts['shards']} shards, {facts['games']:,} games, {facts['positions']:,} positions"
        return f"{text}; {self._rate():,.0f} positions a CPU second" if self._fresh_games else text

    def _rate(self) -> float:
        """Positions a CPU second."""
        # Of running shards only where none is whole: a shard that is told of twice would count twice.
        if self._fresh_cpu_s:
            return self._fresh_positions / self._fresh_cpu_s
        return self._running_positions / self._running_cpu_s if self._running_cpu_s else 0.0

    def _show(self, *, tell: bool) -> None:
        done = min(self._wanted, self._games + self._fresh_games + self._under_way.total())
        words = f"{self._positions + self._fresh_positions:,} positions kept"
        if self._rate():
            words += f", {self._rate():,.0f} positions a CPU second"
        self._bar.show(done, words, tell=tell)

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        self._bar.begin(self._games)
        return super().__enter__()


def stats_text(facts: dict[str, Any]) -> str:
    """The counts of ``gougi selfplay stats`` as a table."""
    from lab.selfplay.walk import QUIET_SCORE

    games, length, scale = facts["games"], facts["length"], facts["win_rate_scale"]
    played = {name: count for name, count in facts["ends"].items() if count}
    rows = [
        ("shards", f"{facts['shards']:,}"),
        ("games", f"{games:,}"),
        ("positions", f"{facts['positions']:,} ({facts['bytes_per_position']:.2f} bytes each)"),
        ("kept as quiet", f"{facts['kept']:,} ({facts['kept_share']:.1%})"),
        ("in check", f"{facts['in_check_share']:.1%}"),
        ("best move captures", f"{facts['capture_share']:.1%}"),
        ("best move promotes", f"{facts['promotion_share']:.1%}"),
        (f"score {QUIET_SCORE} and more", f"{facts['decided_share']:.1%}"),
        ("duplicates", f"{facts['duplicate_share']:.2%} of {facts['duplicates_among']:,}"),
        ("black / draw / white", f"{facts['black_wins']:,} / {facts['draws']:,} / {facts['white_wins']:,}"),
        ("ends", ", ".join(f"{name} {count:,} ({count / games:.1%})" for name, count in played.items())),
        ("kings far up at the start", f"{facts['entering_starts']:,} games"),
        ("unusual at the start", f"{facts['unusual_starts']:,} games"),
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
    lines = [f"{name:{width}}  {value}" for name, value in rows]
    most = max((row["positions"] for row in facts["scores"]), default=0) or 1
    lines.append("\nscores, by their size")
    for row in facts["scores"]:
        below = "mate" if row["below"] is None else f"to {row['below']:,}"
        bar = "#" * round(_BAR * row["positions"] / most)
        lines.append(f"{row['from']:>6,} {below:>9}  {row['positions']:>12,}  {bar}".rstrip())
    return "\n".join(lines)
