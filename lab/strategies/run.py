"""A run of ``gougi lab``: plays the missing games of its folder."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cluster.engine_spec import EngineSpec
from cluster.machine.side_by_side import side_by_side
from lab.match.folder import sources
from lab.match.openings import OpeningError, made_openings
from lab.match.statistics import Sprt
from lab.strategies.games import NodeMaker, virtual_workplaces
from lab.strategies.records import GameResult, LabFolder
from lab.strategies.report import PointResult, facts, sprt_table, summarize, table, undecided
from lab.strategies.settings import LabError, LabSettings, Plan, Point
from master.commands.common import Stoppable, compile_searcher, exit_code, notice
from master.ui.progress import Bars
from worker.engine import EngineError
from worker.search.engine import NumbaEngine


class GamesProgress(Bars):
    """A bar for each point at a terminal, else a line after each game.

    Args:
        results: the existing games; new ones are added.
    """

    def __init__(self, plan: Plan, results: list[GameResult]) -> None:
        super().__init__("games")
        self._results = results
        self._games = plan.games
        self._points = {point: self.bar(str(point), plan.games) for point in plan.points}
        for point in plan.points:
            self.show(point, tell=False)

    def show(self, point: Point, *, tell: bool = True) -> None:
        """Show the results of ``point``; ``tell``: one of its games is over."""
        own = [result for result in self._results if result.game.point == point]
        words = ", ".join(f"Elo {result.strength}" for result in summarize(own))
        self._points[point].show(min(len(own), self._games), words, tell=tell)


def run(
    folder: LabFolder,
    settings: LabSettings,
    plan: Plan,
    sprt: Sprt | None,
    net: Path | None,
    concurrency: int,
    as_json: bool,
) -> int:
    """Play the missing games of the plan, and show the results; returns the exit code.

    Args:
        net: a network file; None: our own.

    Raises:
        LabError, OSError: as the parts raise them.
    """
    kind = EngineSpec(settings.hash_mb, 1, None if net is None else str(net.resolve()), settings.fv_scale)
    with folder.held():
        return _run(folder, settings, plan, sprt, kind, concurrency, as_json)


def _run(
    folder: LabFolder,
    settings: LabSettings,
    plan: Plan,
    sprt: Sprt | None,
    kind: EngineSpec,
    concurrency: int,
    as_json: bool,
) -> int:
    notice(folder.begin(asdict(settings), sources()))
    results, damage = folder.read()
    notice(damage)
    left = list(plan.left([result.game for result in results]))

    def keep(finished: bool) -> tuple[list[PointResult], dict[str, Any]]:
        points = summarize(results)
        found = facts(settings, points, finished, sprt)
        folder.keep_facts(folder.result, found)
        return points, found

    whole = True
    if left:
        openings = _openings(folder, settings, plan, kind)
        # Checked when a game is due: a test may have been decided meanwhile.
        tasks = ((game, openings[game.pair]) for game in left if sprt is None or undecided(results, game.point, sprt))
        places = virtual_workplaces(settings, NodeMaker(kind), concurrency)
        with Stoppable() as block, closing(side_by_side(places, tasks)) as games, GamesProgress(plan, results) as bars:
            for result in games:
                folder.append(result)
                results.append(result)
                bars.show(result.game.point)
                keep(False)
        whole = block.finished
    points, found = keep(whole)
    if as_json:
        print(json.dumps(found, ensure_ascii=False))
    else:
        test = "" if sprt is None else sprt_table(points, sprt)
        parts = (settings.title, table(points), test)
        print("\n\n".join(part for part in parts if part))
    return exit_code(whole, folder.path)


def _openings(folder: LabFolder, settings: LabSettings, plan: Plan, kind: EngineSpec) -> list[str]:
    """An opening for each pair; missing ones are generated and stored."""
    wanted = plan.games // 2
    compile_searcher()
    if len(known := folder.known_openings()) >= wanted:
        return known

    def engine() -> NumbaEngine:
        return NumbaEngine(1, 1, kind.eval_file, settings.fv_scale)

    try:
        made = made_openings(wanted, settings.seed, engine)
    except (EngineError, OpeningError) as error:
        raise LabError(str(error)) from error
    folder.keep_openings(made)
    return made
