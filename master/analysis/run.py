"""A run of ``gougi analyze``: the games, the searches of their positions, and the pages about them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from cluster.api import FleetError, Searcher
from cluster.drivers.fleet_driver import FleetSearcher
from master.analysis.files import page_of, write_game, write_summary
from master.analysis.game import GameFileError, RecordedGame, read_games
from master.analysis.judgement import doubtful, judge
from master.analysis.plan import Evaluation, Point, evaluations, plan, searches
from master.analysis.problems import problems
from master.analysis.report import GameReport, ReportSettings, Say, report
from master.analysis.session import Pace, Session
from master.analysis.store import PositionStore
from master.analysis.strength import Calibration, network_hash, read_calibration
from master.ui.texts import page_say
from worker import VERSION
from worker.files import replace_file

if TYPE_CHECKING:
    from master.config import Config
    from master.ui.progress import PositionBar

_PATIENCE_S: Final = 120.0
"""Seconds that nodes have to start, on machines that compile first."""


@dataclass(frozen=True, slots=True)
class Job:
    """A game to analyse."""

    game: RecordedGame
    points: tuple[Point, ...]
    stem: str
    """Stem of the names of the files about it."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """The reason why there is no estimate of strength: a message and its fields."""

    message: str
    fields: dict[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class Analysis:
    """The positions to analyse, and the settings."""

    config: Config
    single: bool
    pace: Pace
    out: Path
    jobs: tuple[Job, ...]
    again: int = 1
    """Effort of the second search of doubtful positions, as a multiple of the first; 1: there is none."""
    problems: Path | None = None
    """The file of problems; None: none is written."""
    reuse: bool = False
    """Whether results are shared with other analyses."""
    misfit: Misfit | None = None
    """The reason why the calibration does not fit the analysis; None: it fits."""
    capacity: int | None = None
    """The number of nodes that the cluster offers, or for which this machine has processors; None: as configured."""

    def on_event(self, name: str, fields: dict[str, object]) -> None:
        """Set the number of nodes, which overrides the configuration."""
        if name == "ray_started":
            self.capacity = int(str(fields["capacity"]))
        elif name == "nodes_left_out":
            self.capacity = int(str(fields["nodes"]))

    @property
    def nodes(self) -> int:
        """The number of nodes that search a position."""
        return 1 if self.single else self.capacity or self.config.cluster.nodes

    def net(self) -> str:
        """The network by its content."""
        return network_hash(self.config.engine.eval_file)

    def key(self) -> str:
        """Key of everything except the position on which a search's result depends; for a fleet, once it is open."""
        engine = self.config.engine.model_dump(mode="json", exclude={"eval_file"})
        elsewhere = {"address", "report_port", "advertise", "nodes"}
        fleet = {
            "nodes": self.nodes,
            "cluster": self.config.cluster.model_dump(mode="json", exclude=elsewhere),
        }
        pace = [self.pace.nodes, self.pace.ms, self.pace.multipv]
        searched = [VERSION, self.net(), engine, "single" if self.single else fleet, pace]
        return json.dumps(searched, sort_keys=True)

    def words(self, text: Say) -> ReportSettings:
        """For the reader of the report, in the language of ``text``."""
        eval_file, pace = self.config.engine.eval_file, self.pace
        net = Path(eval_file).name if eval_file else text("its own network")
        engine = text("Gougi {version} with {net}", version=VERSION, net=net)
        if not self.single and self.config.cluster.kinds:
            engine += text(", a mixed fleet")
        if pace.nodes is not None:
            effort = text("{nodes} nodes a position", nodes=pace.nodes)
        else:
            effort = text("{seconds} s a position", seconds=f"{(pace.ms or 0) / 1000:g}")
        if self.again > 1:
            effort += text(", {times} times as many for reported moves", times=self.again)
        if self.nodes > 1 and pace.nodes is not None:
            effort += text(", on each of {nodes} nodes", nodes=self.nodes)
        elif self.nodes > 1:
            effort += text(", of {nodes} nodes", nodes=self.nodes)
        why = "" if self.misfit is None else text(self.misfit.message, **self.misfit.fields)
        return ReportSettings(engine, effort, why)

    def calibration(self, found: Sequence[Evaluation]) -> Calibration | None:
        """The package's calibration if it fits the analysis; otherwise None, and ``misfit`` gives the reason."""
        calibration = read_calibration()
        known = [one.nodes for one in found if one.nodes]
        self.misfit = self._misfit(calibration, round(median(known)) if known else 0)
        return calibration if self.misfit is None else None

    def _misfit(self, calibration: Calibration, nodes: int) -> Misfit | None:
        if not nodes:
            return Misfit("No strength: no position was searched.")
        if not self.single and self.config.cluster.kinds:
            return Misfit("No strength: it was measured with our own engine alone, and this fleet is mixed.")
        if self.pace.multipv > 1:
            return Misfit("No strength: it was measured with one move a position (no --multipv).")
        if self.config.engine.fv_scale or self.net() != calibration.net:
            return Misfit("No strength: it was measured with another network, or its scores on another scale.")
        if not calibration.fits(self.net(), nodes):
            return Misfit(
                "No strength: it was measured with a total of {measured} nodes a position, not with {nodes}.",
                {"measured": calibration.nodes_per_move, "nodes": nodes},
            )
        return None


def read_jobs(
    files: Sequence[Path], first: int, last: int | None, refused: list[str], notice: Callable[[str], None]
) -> tuple[Job, ...]:
    """The games of all files.

    Args:
        first: first move to judge, from 1.
        last: last move to judge; None: the game's.
        refused: gets a line for each file or game that cannot be analysed.
        notice: callback for notices about a game.
    """
    jobs: list[Job] = []
    stems = {"index"}  # reserved for the page about all of several games
    for file in files:
        try:
            games = read_games(file, lambda error: refused.append(str(error)))
        except GameFileError as error:
            refused.append(str(error))
            continue
        for game in games:
            notice(game.notice)
            try:
                points = plan(game, first, last)
            except GameFileError as error:
                refused.append(str(error))
                continue
            stem = next(name for name in _names(game.stem) if name not in stems)
            stems.add(stem)
            jobs.append(Job(game, points, stem))
    return tuple(jobs)


def _names(stem: str) -> Iterator[str]:
    """``stem``, ``stem.2``, ``stem.3`` …"""
    yield stem
    yield from (f"{stem}.{number}" for number in count(2))


async def search(
    analysis: Analysis, searcher: Searcher, stores: Sequence[PositionStore], bar: PositionBar
) -> tuple[list[GameReport], Calibration | None]:
    """Search all games; the files of each are written when it is done.

    Raises:
        FleetError: no node has joined, or the fleet has no answer.
    """
    wanted = [searches(job.points) for job in analysis.jobs]
    found_all: list[Evaluation] = []
    reports: list[GameReport] = []
    calibration = None

    def on_event(name: str, fields: dict[str, object]) -> None:
        analysis.on_event(name, fields)
        bar.on_event(name, fields)

    bar.more(sum(map(len, wanted)))
    async with Session(searcher, stores, analysis.pace, analysis.key, on_event) as session:
        await _whole(searcher)
        for number, (job, positions) in enumerate(zip(analysis.jobs, wanted, strict=True), start=1):
            bar.game(f"{number}/{len(wanted)} {job.stem}")
            found = await session.search(job.game, positions, bar.found)
            found_all += found.values()
            calibration = analysis.calibration(found_all)
            again: dict[tuple[str, ...], Evaluation] = {}
            if analysis.again > 1:
                doubts = doubtful(judge(job.game, job.points, evaluations(job.points, found)))
                wanted_again = searches(job.points, doubts)
                bar.more(len(wanted_again))
                again = await session.search(job.game, wanted_again, bar.found, analysis.again)
            reports.append(report(job.game, job.points, found, calibration, again))
            write_game(analysis.out, job.stem, reports[-1], analysis.words(page_say))
            bar.game_done()
    return reports, calibration


async def _whole(searcher: Searcher) -> None:
    """Wait for the fleet's nodes. A game would not wait, but no clock runs here.

    Raises:
        FleetError: no node has joined.
    """
    if isinstance(searcher, FleetSearcher) and not await searcher.whole(_PATIENCE_S):
        raise FleetError(f"no node is there after {_PATIENCE_S:.0f} s: is one of the cluster's machines up?")


def write_page(analysis: Analysis, reports: Sequence[GameReport], calibration: Calibration | None) -> Path:
    """The page to open: of the game, or of all games."""
    if len(reports) == 1:
        return page_of(analysis.out, analysis.jobs[0].stem)
    stems = [job.stem for job in analysis.jobs]
    return write_summary(analysis.out, stems, reports, calibration, analysis.words(page_say))


def write_problems(analysis: Analysis, reports: Sequence[GameReport], file: Path) -> int:
    """Write the bad moves of all games as next-move problems; returns how many there are. Raises OSError."""
    pace = analysis.pace
    engine: dict[str, Any] = {"name": analysis.words(str.format).engine, "multiPV": pace.multipv}
    if pace.ms is not None:
        engine["maxSecondsPerPosition"] = pace.ms / 1000
    created = datetime.now().astimezone().isoformat(timespec="seconds")
    content = problems(reports, engine, f"Gougi {VERSION}", created)
    replace_file(file, (json.dumps(content, ensure_ascii=False, indent=2) + "\n").encode())
    return len(content["problems"])
