"""What is each part of the search worth? The whole searcher plays itself without it, at equal nodes.

    python -m benchmarks.parts probcut singular --net nn.bin --games 200

`gougi match` plays such games too, but its referee starts both engines anew for each; this keeps them. Openings are
balanced and played twice with colours swapped. The speed of both sides is told as well: what a part costs in time, a
match at equal nodes does not see.
"""

from __future__ import annotations

import queue
import re
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from worker.arena.openings import make_openings
from worker.arena.statistics import strength, tally
from worker.engine import EngineError, Limits, SearchResult
from worker.search.engine import NumbaEngine
from worker.search.parts import PARTS
from worker.shogi import Position, Repetition
from worker.usi_engine import Patience, UsiEngine

_LOST_CP = -2500
_LOST_MOVES = 4
"""So many moves in a row below that score, and a side gives up."""
_MOST_PLIES = 320
_PATIENCE = Patience(ready_s=600)


class Player:
    """An engine process, with its nodes and time."""

    def __init__(self, without: str, net: Path | None) -> None:
        options = {"USI_Hash": "32"} | ({"EvalFile": str(net.resolve())} if net else {})
        command = ["/usr/bin/env", f"GOUGI_WITHOUT={without}", sys.executable, "-m", "master", "usi", "--single"]
        self.engine = UsiEngine(command, options, patience=_PATIENCE)
        self.nodes = self.time_ms = self.sees_lost = 0

    def move(self, sfen: str, moves: list[str], nodes: int) -> SearchResult:
        self.engine.set_position(sfen, moves)
        result = self.engine.go(Limits(nodes=nodes))
        self.nodes += result.nodes
        self.time_ms += result.time_ms
        if result.lines:
            self.sees_lost = self.sees_lost + 1 if result.lines[0].score < _LOST_CP else 0
        return result


@dataclass
class Match:
    """Games of a whole engine against one without a part. ``results`` are of the whole one: (pair, points)."""

    without: str
    net: Path | None
    nodes: int
    openings: list[str]
    games: queue.Queue[int] = field(default_factory=queue.Queue)
    results: list[tuple[int, float]] = field(default_factory=list)
    speeds: list[float] = field(default_factory=list)
    errors: list[EngineError] = field(default_factory=list)

    def work(self) -> None:
        """Play games until none is left. One thread, two processes."""
        whole, without = Player("", self.net), Player(self.without, self.net)
        try:
            while True:
                number = self.games.get_nowait()
                players = (whole, without) if number % 2 == 0 else (without, whole)
                black = self._play(players, self.openings[number // 2])
                self.results.append((number // 2, black if number % 2 == 0 else 1 - black))
        except queue.Empty:
            # Nodes a ms of the whole engine, by that of the other.
            ours, theirs = (player.nodes / max(1, player.time_ms) for player in (whole, without))
            self.speeds.append(ours / theirs if theirs else 1.0)
        except EngineError as error:
            self.errors.append(error)
        finally:
            whole.engine.close()
            without.engine.close()

    def _play(self, players: tuple[Player, Player], sfen: str) -> float:
        """Points of black."""
        position = Position.from_sfen(sfen)
        moves: list[str] = []
        for player in players:
            player.engine.new_game()
            player.sees_lost = 0
        while len(moves) < _MOST_PLIES:
            mover = position.turn
            lost = float(mover)  # black's points where the mover loses
            move = players[mover].move(sfen, moves, self.nodes).bestmove
            if move == "win":
                return 1 - lost
            if move == "resign" or players[mover].sees_lost >= _LOST_MOVES:
                return lost
            position.push_usi(move)
            moves.append(move)
            match position.repetition():
                case Repetition.DRAW:
                    return 0.5
                case Repetition.WIN:
                    return lost
                case Repetition.LOSE:
                    return 1 - lost
                case Repetition.NONE:
                    pass
        return 0.5


def main(
    parts: Annotated[list[str], typer.Argument(metavar="PART…", help=f"Among: {', '.join(PARTS)}; or some with +.")],
    net: Annotated[Path | None, typer.Option(exists=True, dir_okay=False, help="A nn.bin; default: ours.")] = None,
    games: Annotated[int, typer.Option(min=2, help="Games against each; even.")] = 100,
    nodes: Annotated[int, typer.Option(min=100, help="Nodes a move.")] = 6000,
    concurrency: Annotated[int, typer.Option(min=1, help="Games at a time.")] = 2,
    seed: Annotated[int, typer.Option(help="Of the openings.")] = 1,
) -> None:
    """Play the whole searcher against itself without each PART; tell the Elo that the part is worth."""
    for part in parts:
        if unknown := set(re.split(r"[+,]", part)) - set(PARTS):
            raise typer.BadParameter(f"no part of the search: {', '.join(sorted(unknown))}")
    games += games % 2
    console = Console()
    judge = NumbaEngine(hash_mb=16, eval_file=str(net) if net else None)
    with Progress(console=console) as progress:
        task = progress.add_task("openings", total=games // 2)
        openings = make_openings(games // 2, seed, judge, on_found=lambda found: progress.update(task, completed=found))
        for part in parts:
            play(Match(part.replace("+", ","), net, nodes, openings), games, concurrency, progress)


def play(match: Match, games: int, concurrency: int, progress: Progress) -> None:
    """Play a match and print its line."""
    for number in range(games):
        match.games.put(number)
    threads = [threading.Thread(target=match.work, daemon=True) for _ in range(concurrency)]
    task = progress.add_task(match.without, total=games)
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(0.5)
            progress.update(task, completed=len(match.results))
    if match.errors:
        raise match.errors[0]
    counted = tally(match.results)
    worth = strength(counted)
    speed = sorted(match.speeds)[len(match.speeds) // 2] if match.speeds else 1.0
    progress.console.print(
        f"{match.without}: +{counted.wins} ={counted.draws} -{counted.losses}, "
        f"worth {worth.elo:+.0f} Elo ({worth.low:+.0f} to {worth.high:+.0f}), {speed:.2f} times the speed without it"
    )


if __name__ == "__main__":
    typer.run(main)
