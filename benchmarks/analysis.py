"""Calibrates the strength estimate of ``gougi analyze``, with our own searcher at several nodes per move.

Neighbouring levels play each other from balanced openings, with both colours; then all moves are analysed as ``gougi
analyze`` does. It prints the losses of each level, and for each pair the real Elo and that of the virtual games.
``--write`` writes the calibration in the package.

    python -m benchmarks.analysis --out /tmp/levels --games 36 [--write master/analysis/calibration.json]

Games and searches are kept in the folder: the same command continues with them.

With ``--stability`` it measures instead how many verdicts on moves stay the same with five times the effort: for one
search per position, and for the second search that ``gougi analyze`` adds for moves that it reports.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from cluster.drivers.local_driver import LocalSearcher
from cluster.engine_spec import EngineSpec
from lab.match.folder import sources
from lab.match.game import Adjudicator, Choice, play_game
from lab.match.openings import make_openings
from lab.match.statistics import elo_of
from master.analysis.game import RecordedGame
from master.analysis.judgement import LEVELS, Judged, Sureness, doubtful, judge, statistics
from master.analysis.plan import evaluations, plan, searches
from master.analysis.session import Pace, Session
from master.analysis.store import PositionStore
from master.analysis.strength import Calibration, Level, network_hash
from master.records.reading import ReadMove
from worker.engine import Limits
from worker.search.engine import NumbaEngine
from worker.shogi import Position

RESIGN_CP, RESIGN_MOVES, MOST_MOVES = 3000, 4, 256
AGAIN_TIMES = 5
"""Effort of the second search of a doubtful move, as a multiple of the first."""


def calibration_json(calibration: Calibration, facts: dict[str, Any]) -> str:
    """The file's text.

    Args:
        facts: how it was measured, for the reader of the file.
    """
    levels = []
    for level in calibration.levels:
        bands: list[list[int]] = []
        for index, loss in sorted(level.losses):
            while len(bands) <= index:
                bands.append([])
            bands[index].append(loss)
        levels.append({"nodes": level.nodes, "elo": round(level.elo, 1), "losses": bands})
    head = {"net": calibration.net, "nodes_per_move": calibration.nodes_per_move, "measured": facts}
    lines = ",\n".join(json.dumps(level, separators=(",", ":")) for level in levels)
    return json.dumps(head, indent=1)[:-2] + ',\n "levels": [\n' + lines + "\n ]\n}\n"


def play(opening: str, levels: tuple[int, int], engines: tuple[NumbaEngine, NumbaEngine]) -> dict[str, object]:
    """One game; black has ``levels[0]`` nodes a move. A side that is clearly lost for several moves resigns."""
    for engine in engines:
        engine.new_game()
    lost = [0, 0]
    """Moves in a row at which a side was clearly lost."""

    def think(side: int, moves: tuple[str, ...]) -> Choice:
        engines[side].set_position(opening, moves)
        result = engines[side].go(Limits(nodes=levels[side]))
        score = result.lines[0].score if result.lines else None
        if score is not None:
            lost[side] = lost[side] + 1 if score <= -RESIGN_CP else 0
        return Choice("resign" if lost[side] >= RESIGN_MOVES else result.bestmove, score)

    last = Position.from_sfen(opening).move_number + MOST_MOVES - 1
    outcome = play_game(opening, think, Adjudicator(0, 1), last)
    return {"levels": levels, "sfen": opening, "moves": outcome.moves, "winner": outcome.winner}


def claim(folder: Path, nodes: int) -> None:
    """Record in a new folder which searcher plays and judges its games; in an existing one, check that it is this
    searcher.

    Raises:
        ValueError: it is another searcher.
    """
    file = folder / "settings.json"
    wanted = {"net": network_hash(""), "code": sources(), "nodes": nodes}
    begun = file.exists() or (folder / "games.jsonl").exists()
    if begun and (not file.exists() or json.loads(file.read_text()) != wanted):
        raise ValueError(
            f"{folder} has games and positions of another network, search or number of nodes: give another folder"
        )
    file.write_text(json.dumps(wanted))


def play_all(folder: Path, levels: list[int], games: int) -> list[dict[str, object]]:
    """The games of neighbouring levels; games already in the folder are not played again."""
    file = folder / "games.jsonl"
    kept = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    known = {(tuple(game["levels"]), game["sfen"]): game for game in kept}
    engines = (NumbaEngine(4, 1), NumbaEngine(4, 1))
    openings = make_openings(games // 2, 1, NumbaEngine(4, 1))
    wanted = []
    for weak, strong in pairwise(levels):
        for index in range(games):
            pair = (weak, strong) if index % 2 == 0 else (strong, weak)
            game = known.get((pair, openings[index // 2]))
            if game is None:
                game = play(openings[index // 2], pair, engines)
                with file.open("a") as out:
                    out.write(json.dumps(game) + "\n")
            wanted.append(game)
        print(f"{weak} against {strong}: played", flush=True)
    return wanted


def _games(played: list[dict[str, object]]) -> list[RecordedGame]:
    return [
        RecordedGame(str(number), 0, ("", ""), str(game["sfen"]), tuple(map(ReadMove, game["moves"])))  # type: ignore[call-overload]
        for number, game in enumerate(played)
    ]


def analyse(folder: Path, played: list[dict[str, object]], nodes: int) -> list[tuple[Judged, ...]]:
    """The judged moves of each game."""
    games = _games(played)

    async def run() -> list[tuple[Judged, ...]]:
        searcher = LocalSearcher(EngineSpec(64, 1).build)
        judged = []
        settings = f"{network_hash('')} {nodes}"
        with PositionStore(folder / "positions.db") as store:
            async with Session(searcher, [store], Pace(nodes=nodes), lambda: settings) as session:
                for game in games:
                    points = plan(game)
                    found = await session.search(game, searches(points), lambda *_: None)
                    judged.append(judge(game, points, evaluations(points, found)))
        return judged

    return asyncio.run(run())


@dataclass(frozen=True, slots=True)
class Stay:
    """The number of verdicts that stay the same with more effort."""

    moves: int
    same: int
    gone: int
    """Verdicts that are withdrawn: the move is no longer reported as bad."""

    @classmethod
    def of(cls, pairs: Sequence[tuple[Judged, Judged]]) -> Stay:
        """The first verdict of each pair is that of less effort."""
        same = sum(_class(one) == _class(other) for one, other in pairs)
        return cls(len(pairs), same, sum(bool(_class(one)) and not _class(other) for one, other in pairs))

    def words(self) -> str:
        share = self.same / self.moves if self.moves else 0.0
        return f"{self.same:4d} of {self.moves:4d} stay = {share:5.1%}, {self.gone} taken back"


def _class(move: Judged) -> str:
    """The reported class of a move; empty: nothing bad."""
    return move.quality.word if move.quality in LEVELS else ""


def told(pairs: Sequence[tuple[Judged, Judged]]) -> list[tuple[Judged, Judged]]:
    """The pairs whose verdict with less effort reports something bad."""
    return [pair for pair in pairs if _class(pair[0])]


async def verdicts(
    folder: Path, games: Sequence[RecordedGame], nodes: int
) -> tuple[list[tuple[Judged, ...]], list[tuple[Judged, ...]]]:
    """The moves of each game by one search of each position, and with a second search for reported moves."""
    once, twice = [], []
    settings = f"{network_hash('')} {nodes}"
    searcher = LocalSearcher(EngineSpec(64, 1).build)
    with PositionStore(folder / "positions.db") as store:
        async with Session(searcher, [store], Pace(nodes=nodes), lambda: settings) as session:
            for game in games:
                points = plan(game)
                known = evaluations(points, await session.search(game, searches(points), lambda *_: None))
                first = judge(game, points, known)
                wanted = searches(points, doubtful(first))
                again = await session.search(game, wanted, lambda *_: None, AGAIN_TIMES)
                once.append(first)
                twice.append(judge(game, points, known, evaluations(points, again)))
                print(f"{nodes} nodes, game {game.source}: {len(wanted)} of {len(points)} positions again", flush=True)
    return once, twice


def stability(folder: Path, played: list[dict[str, object]], nodes: int) -> None:
    """Print the shares of verdicts that stay between ``nodes`` and five times as many."""
    games = _games(played)
    less, more = (asyncio.run(verdicts(folder, games, effort)) for effort in (nodes, 5 * nodes))
    for name, few, many in zip(("one search", "two searches"), less, more, strict=True):
        pairs = [
            (one, other)
            for game, again in zip(few, many, strict=True)
            for one, other in zip(game, again, strict=True)
            if one.counts and other.counts
        ]
        print(f"{name}: all moves  {Stay.of(pairs).words()}")
        print(f"{name}: told       {Stay.of(told(pairs)).words()}")
        for sureness in Sureness:
            own = [pair for pair in told(pairs) if pair[0].sureness is sureness]
            if own:
                print(f"{name}: {sureness.value:10s} {Stay.of(own).words()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder")
    parser.add_argument("--levels", default="100,300,1000,3000,10000", help="nodes a move")
    parser.add_argument("--games", type=int, default=24, help="a pair; even")
    parser.add_argument("--nodes", type=int, default=100_000, help="nodes a move of the analysis")
    parser.add_argument("--stability", action="store_true", help="measure how many verdicts stay with more effort")
    parser.add_argument("--write", type=Path, help="calibration file to make")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    try:
        claim(arguments.out, arguments.nodes)
    except ValueError as mixed:
        parser.error(str(mixed))
    levels = [int(word) for word in arguments.levels.split(",")]
    played = play_all(arguments.out, levels, arguments.games)
    if arguments.stability:
        stability(arguments.out, played, arguments.nodes)
        return
    judged = analyse(arguments.out, played, arguments.nodes)

    by_level: dict[int, list[Judged]] = defaultdict(list)
    for game, moves in zip(played, judged, strict=True):
        for move in moves:
            by_level[game["levels"][move.turn]].append(move)  # type: ignore[index]
    rated = {level: statistics(str(level), by_level[level]) for level in levels}
    print("nodes  moves  best   bad  loss %  loss cp  accuracy")
    for level, found in rated.items():
        total = found.total
        print(
            f"{level:6d} {total.moves:5d} {total.best:5.1%} {total.bad:5.1%} {100 * total.loss:6.2f} "
            f"{total.loss_cp:7.1f} {found.accuracy:8.1f}"
        )
    elos, pairs = [0.0], []
    for weak, strong in pairwise(levels):
        own = [game for game in played if set(game["levels"]) == {weak, strong}]  # type: ignore[call-overload]
        points = [0.5 if game["winner"] is None else float(game["levels"][game["winner"]] == strong) for game in own]  # type: ignore[index]
        mean = (sum(points) + 0.5) / (len(points) + 1)  # half a drawn game is added to keep the Elo finite
        error = 1.96 * math.sqrt(mean * (1 - mean) / len(points)) * 400 / math.log(10) / (mean * (1 - mean))
        elos.append(elos[-1] + elo_of(mean))
        pairs.append({"weak": weak, "strong": strong, "games": len(own), "score": round(sum(points) / len(own), 3)})
        print(f"{strong} against {weak}: {sum(points):g}/{len(own)} = {elo_of(mean):+.0f} ± {error:.0f} Elo")
    if arguments.write:
        found_levels = tuple(Level(level, elo, rated[level].losses) for level, elo in zip(levels, elos, strict=True))
        calibration = Calibration(network_hash(""), arguments.nodes, found_levels)
        arguments.write.write_text(calibration_json(calibration, {"pairs": pairs}), encoding="utf-8")


if __name__ == "__main__":
    main()
