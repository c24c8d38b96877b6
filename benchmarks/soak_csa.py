"""Many fast games with the real client, over a bad line, on a server that is restarted.

    python -m benchmarks.soak_csa [--games 200] [--pairs 4] [--seed S] [--margin MS] [--folder F] [--json]

Pairs of players (each the local searcher with `master.game.connection_thread`, as in `gougi play`) alternately play 5 s
+ 1 s (Fischer) and 1 s byoyomi on `benchmarks.far_side`. In half of the pairs one player searches until its clock stops
it; the others have few nodes. It checks that no flag falls, that no move is illegal, that no player sends a line when
it is not on turn, that only injected faults interrupted games, and that every record, ours and the server's, CSA and
KIF, exists and can be read by rsshogi.

It also prints the parts of the turns' time. "Down and up" are two transit times, that of the opponent's move to our
player and that of our line to the server, including the wait for a core at either end: the margin that a turn needed.
Ctrl-C ends the soak and prints the results so far.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
import uvloop
from rsshogi.record import Record

from benchmarks.far_side import Turn
from benchmarks.figures import Figures, machine
from cluster.api import Listener
from cluster.drivers.local_driver import LocalSearcher
from cluster.engine_spec import EngineSpec
from master.csa.login import ServerAddress
from master.game.connection_thread import play_games_on_thread
from master.game.driver import GameSettings
from master.game.journal import read_log
from master.game.loop import Backoff, Series
from master.logs.log import open_log
from master.player.events import Conclusion, GameEnded, GameEvent, GameOutcome, Note
from master.player.inputs import ServerLine
from master.player.instructions import Login, PlayerSettings
from worker.clock import ClockSettings

TIMES = ("5-1F", "0-1")
"""Times, as game names have them: 5 s and 1 s more with each move; 1 s byoyomi."""
FEW_NODES = 3_000
QUICK = Backoff(first_s=0.2, most_s=2.0, attempts=None)
PROPER = (Conclusion.WIN, Conclusion.LOSE, Conclusion.DRAW, Conclusion.CENSORED)
ALLOWED = frozenset({"RESIGN", "JISHOGI", "SENNICHITE", "OUTE_SENNICHITE", "MAX_MOVES"})
"""Ends of a game that are not faults."""


@dataclass(slots=True)
class Played:
    """The results of the games, from both players' sides."""

    wanted: int
    clock: ClockSettings
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    outcomes: list[tuple[str, GameOutcome]] = field(default_factory=list)
    """Each with the player's name."""
    ids: set[str] = field(default_factory=set)
    fallbacks: int = 0
    surprises: list[str] = field(default_factory=list)

    def add(self, name: str, event: GameEvent) -> None:
        match event:
            case Note("fallback_move"):
                self.fallbacks += 1
            case Note(what, fields, error=True):
                self.surprises.append(f"{name}: {what} {fields}")
            case GameEnded(outcome) if outcome.played and outcome.summary is not None:
                self.outcomes.append((name, outcome))
                self.ids.add(outcome.summary.game_id)
                if len(self.ids) >= self.wanted:
                    self.stop.set()


async def play(address: ServerAddress, number: int, side: str, time: str, folder: Path, played: Played) -> None:
    """One player of a pair, game after game."""
    name = f"p{number}{side}"
    nodes = None if number % 4 in (2, 3) and side == "a" else FEW_NODES
    settings = GameSettings(PlayerSettings(clock=played.clock, nodes=nodes, ponder=False), record_folder=folder / name)
    login = Login(name, f"soak{number}-{time},word")
    searcher = LocalSearcher(EngineSpec(hash_mb=4).build)
    await searcher.open(Listener())
    try:
        observers = [lambda event: played.add(name, event)]
        series = Series(address, login, searcher, settings, observers, stop=played.stop, backoff=QUICK)
        await play_games_on_thread(series)
    finally:
        await searcher.close()


class FarSide:
    """The process of `benchmarks.far_side`, and its output."""

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self.cuts: list[dict[str, Any]] = []
        self.facts: dict[str, Any] = {}
        self._process: asyncio.subprocess.Process
        self._reader: asyncio.Task[None]
        self._port: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def open(self) -> ServerAddress:
        pipe = asyncio.subprocess.PIPE
        command = (sys.executable, "-m", "benchmarks.far_side", *self._words)
        self._process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, limit=1 << 26)
        self._reader = asyncio.create_task(self._read())
        return ServerAddress("127.0.0.1", await self._port)

    async def close(self) -> None:
        """Stop it, and read its facts."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._reader
        await self._process.wait()

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            said = json.loads(line)
            match said.pop("event"):
                case "listening":
                    self._port.set_result(said["port"])
                case "cut":
                    self.cuts.append(said)
                case "facts":
                    self.facts = said
        if not self._port.done():
            self._port.set_exception(RuntimeError("the far side did not start"))


def read_record(path: Path, plies: int | None) -> str:
    """The fault of a record; empty: none. ``plies``: the required number of plies; None: any number."""
    kif = path.with_suffix(".kif")
    try:
        records = Record.from_csa_file(str(path)), Record.from_kif_file(str(kif))
    except Exception as error:  # any complaint of rsshogi
        return f"{path}: {error}"
    moves = [[entry.move.to_usi() for entry in record.moves] for record in records]
    if moves[0] != moves[1] or (plies is not None and len(moves[0]) != plies):
        return f"{path}: {len(moves[0])} moves, {len(moves[1])} in the KIF, {plies} played"
    if any(entry.time_ms is None for entry in records[0].moves):
        return f"{path}: a move without its time"
    return f"{path}: no ending" if plies is not None and records[0].main_terminal is None else ""


def judge(played: Played, far: FarSide, folder: Path) -> list[str]:
    """Describe each fault of the soak in a line."""
    wrong = [*far.facts["faults"], *played.surprises]
    cut = Counter(fault["name"] for fault in far.cuts)
    lost: Counter[str] = Counter()
    for name, outcome in played.outcomes:
        assert outcome.summary is not None
        about = f"{name}, {outcome.summary.game_id}: {outcome.conclusion} {outcome.reason}"
        if outcome.conclusion is Conclusion.DISCONNECTED:
            lost[name] += 1
        elif outcome.conclusion is Conclusion.INTERRUPTED:
            wrong += [] if "stop" in far.facts["restarts"] else [about]
        elif outcome.conclusion not in PROPER or outcome.reason not in ALLOWED:
            wrong.append(about)
        if outcome.record_path is None:
            wrong.append(f"{about}: no record")
        elif fault := read_record(outcome.record_path, outcome.plies):
            wrong.append(fault)
    wrong += [f"{name}: {lost[name]} connections lost, {cut[name]} cut" for name in lost if lost[name] > cut[name]]
    for path in sorted((folder / "server").glob("*.csa")):
        if path.stat().st_size and (fault := read_record(path, None)):  # empty: the server ended before the first move
            wrong.append(fault)
    by_id: dict[str, dict[str, GameOutcome]] = {}
    for name, outcome in played.outcomes:
        assert outcome.summary is not None
        by_id.setdefault(outcome.summary.game_id, {})[name] = outcome
    for game_id, sides in by_id.items():
        if len(sides) == 2 and all(outcome.conclusion in PROPER for outcome in sides.values()):
            one, other = sides.values()
            if (one.sfen, one.reason, one.winner) != (other.sfen, other.reason, other.winner):
                wrong.append(f"{game_id}: the players do not agree about its end")
    return wrong


class Parts(NamedTuple):
    """The parts of one turn's time."""

    game: str
    down_ms: float
    own_ms: float
    up_ms: float


def said(log: Path) -> dict[str, list[tuple[float, float]]]:
    """The times (seconds) at which each player learned that it was on turn and sent its line, from the players' log."""
    spans: dict[str, list[tuple[float, float]]] = {}
    for game in read_log(log):
        heard_s = None
        for entry in game.entries:
            if isinstance(entry.event, ServerLine) and entry.event.line.startswith(("+", "-", "START")):
                heard_s = entry.at_ms / 1000
            if heard_s is not None and any(line[0] in "+-" for line in entry.sent):
                spans.setdefault(game.name, []).append((heard_s, entry.at_ms / 1000))
                heard_s = None
    return spans


def split_turns(turns: Iterable[Turn], spans: Mapping[str, list[tuple[float, float]]]) -> list[Parts]:
    """The parts of each turn for which the log has the player's own time."""
    parts = []
    for turn in turns:
        ours = spans.get(turn.name, [])
        at = bisect(ours, turn.began_s, key=lambda span: span[0])
        if at < len(ours) and ours[at][1] <= turn.ended_s:
            heard_s, said_s = ours[at]
            times = (heard_s - turn.began_s, said_s - heard_s, turn.ended_s - said_s)
            parts.append(Parts(turn.game, *(1000 * seconds for seconds in times)))
    return parts


def facts(played: Played, far: FarSide, wrong: list[str], log: Path) -> dict[str, Any]:
    parts: dict[str, list[Parts]] = {}
    for part in split_turns([Turn(*turn) for turn in far.facts["turns"]], said(log)):
        parts.setdefault(part.game.partition("-")[2], []).append(part)
    ends = Counter(f"{outcome.conclusion} {outcome.reason.partition(',')[0]}" for _, outcome in played.outcomes)
    return {
        "games": len(played.ids),
        "moves": sum(outcome.plies for _, outcome in played.outcomes) // 2,
        "ends, by player": dict(sorted(ends.items())),
        "dropped": sum(fault["why"] == "dropped" for fault in far.cuts),
        "restarts": far.facts["restarts"],
        "moves at the hard deadline": played.fallbacks,
        "turns, ms": {
            time: {
                "at the server": Figures([part.down_ms + part.own_ms + part.up_ms for part in group]).facts(),
                "our player's": Figures([part.own_ms for part in group]).facts(),
                "down and up": Figures([part.down_ms + part.up_ms for part in group]).facts(),
            }
            for time, group in sorted(parts.items())
        },
        "machine": machine(),
        "wrong": wrong,
    }


async def soak(
    games: int,
    pairs: int,
    folder: Path,
    words: list[str],
    times: tuple[str, ...] = TIMES,
    clock: ClockSettings | None = None,
) -> dict[str, Any]:
    """Play, and return the figures; ``words``: arguments of the far side; ``times``: time controls, assigned to the
    pairs in turn."""
    played = Played(games, clock or ClockSettings())
    far = FarSide(["--records", str(folder / "server"), *words])
    with open_log(folder, file_level="debug", console_level="critical", console=print) as log:
        address = await far.open()
        players = [
            asyncio.create_task(play(address, number, side, times[number % len(times)], folder, played))
            for number in range(pairs)
            for side in "ab"
        ]
        try:
            await asyncio.wait(players, return_when=asyncio.FIRST_EXCEPTION)
        except asyncio.CancelledError:
            played.stop.set()
        await asyncio.gather(*players)
        await far.close()
    return facts(played, far, judge(played, far, folder), log)


def main(
    games: Annotated[int, typer.Option(min=1, help="Total number of games.")] = 200,
    pairs: Annotated[int, typer.Option(min=1, help="Games at once.")] = 4,
    seed: Annotated[int, typer.Option(help="Seed of the line's delays and cuts.")] = 1,
    drop_every: Annotated[float, typer.Option(help="Mean seconds between dropped connections; 0: none.")] = 20.0,
    restart_every: Annotated[float, typer.Option(help="Mean seconds between restarts of the server; 0: none.")] = 60.0,
    max_moves: Annotated[int, typer.Option(help="Moves after which a game is drawn.")] = 64,
    margin: Annotated[
        int | None, typer.Option(help="[clock] network_margin_ms of the players. Default: as without it.")
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="Records and log stay here. Default: nowhere.")] = None,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    words = [f"--seed={seed}", f"--drop-every={drop_every}", f"--restart-every={restart_every}"]
    words += [f"--max-moves={max_moves}"]
    with contextlib.ExitStack() as stack:
        place = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        clock = ClockSettings() if margin is None else ClockSettings(network_margin_ms=margin)
        result = uvloop.run(soak(games, pairs, place, words, clock=clock))
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        for name, value in result.items():
            print(f"{name}: {value}")
    sys.stdout.flush()
    os._exit(1 if result["wrong"] else 0)


if __name__ == "__main__":
    typer.run(main)
