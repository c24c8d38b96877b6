"""Teacher games on processes of this machine, or on a fleet: shards that do not depend on process or order."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from numba import int64, uint64

from cluster.drivers.task_pool import Opened, Task, TaskLost, TaskQueue, run_tasks
from lab.jit import FOLDER
from lab.selfplay import game, walk
from lab.selfplay.folder import Made, ShardTerms, TeacherFolder, TeachingError
from lab.selfplay.state import SP
from lab.selfplay.teacher import Teacher, code_version
from master.commands.common import Stoppable, compile_searcher, exit_code, notice
from master.ui.progress import Bars
from worker.nnue import NN, Network
from worker.nnue.format import parse_network
from worker.search.state import TH
from worker.shogi.state import POS
from worker.warm import Progress, Stage, compile_once, warm_up

Event = Opened | Made | TaskLost
Listener = Callable[[Event], None]
Starts = Callable[[int], Sequence[str]]
"""The positions from which the games of the shard with that number start (SFENs); none: the start position."""


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


def make_shard(net: bytes, terms: ShardTerms, number: int, starts: Sequence[str] = ()) -> Made:
    """Make one shard, in this process; compile first, if this was not yet done on this machine.

    Args:
        net: the network's file.
        starts: SFENs of positions from which its games start; empty: the start position.

    Raises:
        TeachingError: this machine has other sources than the ordering one.
    """
    if (own := code_version()) != terms.code:
        raise TeachingError(f"{os.uname().nodename} has another version of Gougi ({own}, not {terms.code})")
    warm_up_selfplay()
    teacher = _teacher(net, terms)
    began = time.process_time()
    shard = teacher.make_shard(number, starts)
    return Made(
        number,
        shard.to_bytes(),
        shard.header["games"],
        shard.header["positions"],
        time.process_time() - began,
    )


def make_shards(
    place: int | str,
    net: bytes,
    terms: ShardTerms,
    numbers: Iterable[int],
    on_event: Listener,
    starts: Starts = lambda _number: (),
) -> None:
    """Make the shards of these numbers; ``on_event`` receives each finished shard, and each loss.

    ``place`` and errors are those of `run_tasks`, with TeachingError for a shard that cannot be made.
    """
    tasks = TaskQueue(Task(f"shard {number}", (terms, number, starts(number))) for number in numbers)
    run_tasks(place, net, make_shard, tasks, on_event, TeachingError)


class ShardsProgress(Bars):
    """The progress on stderr: a bar at a terminal, else a line for each shard.

    Args:
        wanted: number of games of the whole run.
        known: headers of the existing shards.
    """

    def __init__(self, wanted: int, known: Sequence[dict[str, Any]]) -> None:
        super().__init__("games")
        self._wanted = wanted
        self._shards = len(known)
        self._games = sum(header["games"] for header in known)
        self._positions = sum(header["positions"] for header in known)
        self._fresh_games = self._fresh_positions = self._lost = 0
        self._fresh_cpu_s = 0.0
        self._bar = self.bar("", wanted)
        self._began = time.monotonic()

    def take(self, event: Event) -> None:
        """Show an event."""
        if isinstance(event, Opened):
            self._bar.begin(self._games)
            waits = "" if event.nodes else ": waiting for a machine that has room"
            self.note(f"shards at a time: {event.nodes}{waits}")
        elif isinstance(event, TaskLost):
            self._lost += 1
            self.note(f"{event.name} is lost: {event.why}; it is made again")
        else:
            self._shards += 1
            self._fresh_games += event.games
            self._fresh_positions += event.positions
            self._fresh_cpu_s += event.cpu_s
            words = f"{self._positions + self._fresh_positions:,} positions kept"
            words += f", {self._rate():,.0f} positions a CPU second"
            self._bar.show(min(self._wanted, self._games + self._fresh_games), words, tell=True)

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
        """The same in one line."""
        facts = self.facts()
        text = f"{facts['shards']} shards, {facts['games']:,} games, {facts['positions']:,} positions"
        return f"{text}; {self._rate():,.0f} positions a CPU second" if self._fresh_games else text

    def _rate(self) -> float:
        """Positions per CPU second; 0: unknown."""
        return self._fresh_positions / self._fresh_cpu_s if self._fresh_cpu_s else 0.0


def run(
    folder: TeacherFolder, terms: ShardTerms, net: bytes, shards: int, place: int | str, as_json: bool, starts: Starts
) -> int:
    """Make the missing ones of the first ``shards`` shards, and show the result; returns the exit code.

    Args:
        folder: locked by this process.
        net: the network's file.
        place: as for `make_shards`.

    Raises:
        TeachingError, FleetError, OSError: as the parts raise them.
    """
    known, notices = folder.known(terms, shards)
    for text in notices:
        notice(text)
    there = {header["shard"] for header in known}
    missing = [number for number in range(shards) if number not in there]
    progress = ShardsProgress(terms.settings.games * shards, known)

    def on_event(event: Event) -> None:
        if isinstance(event, Made):
            folder.keep(event)
        progress.take(event)

    whole = True
    if missing:
        if isinstance(place, int):
            compile_searcher(lambda: warm_up_selfplay)
            place = min(place, len(missing))
        with Stoppable() as block, progress:
            make_shards(place, net, terms, missing, on_event, starts)
        whole = block.finished
    found = {"folder": str(folder.path), "finished": whole, **progress.facts()}
    print(json.dumps(found) if as_json else progress.summary())
    return exit_code(whole, folder.path)


_STAGES: Final[tuple[Stage, ...]] = (
    ("openings", game.below, (SP, uint64)),
    ("openings", game.rewind, (POS,)),
    ("openings", game.open_game, (POS, NN, TH, SP, int64, int64, int64)),
    ("games", game.play, (POS, NN, TH, SP)),
    ("positions", walk.pack, (POS, int64)),
)


def warm_up_selfplay(progress: Progress | None = None) -> bool:
    """`worker.warm.warm_up`, then self-play. Returns False if the cache was complete already."""
    fresh = warm_up(progress)
    return compile_once(_STAGES, f"{FOLDER}/complete-selfplay", progress) or fresh
