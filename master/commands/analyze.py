"""``gougi analyze``: what was good and bad in a game that is over."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cluster.processors import processors
from master.commands.checks import Kind, check_fleet, check_folder, check_kind
from master.commands.common import BAD_INPUT, FAILED, INTERRUPTED, CommandError, compile_searcher, notice, tell
from master.commands.options import Address, Single
from master.commands.settings import ConfigFile, load
from master.ui.texts import page_say, say
from worker.files import replace_file

if TYPE_CHECKING:
    from cluster.api import Searcher
    from master.analysis.game import RecordedGame
    from master.analysis.plan import Evaluation, Point
    from master.analysis.report import GameReport, ReportSettings, Say
    from master.analysis.session import Pace
    from master.analysis.strength import Calibration
    from master.config import Config

_PATIENCE_S: Final = 120.0
"""Seconds that nodes have to start, on machines that compile first."""
_MOST_UNASKED: Final = 2
"""Nodes where their number is left to us: more would search a position more than the strength was measured with."""


def analyze(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Records: CSA, KIF, KI2 or JKF.")],
    nodes_per_move: Annotated[
        int | None,
        typer.Option(
            min=100, metavar="N", help="Nodes that each node of the fleet searches a position. Default: 50000."
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0.05, max=3600, metavar="S", help="Time for a position, instead of nodes.")
    ] = None,
    multipv: Annotated[
        int | None,
        typer.Option(
            min=1, max=20, metavar="N", help="Number of moves searched in each position. Default: 1; --problems: 3."
        ),
    ] = None,
    again: Annotated[
        int,
        typer.Option(
            min=1,
            max=100,
            metavar="TIMES",
            help="Effort of the second search of bad moves and what was better, in times the first; 1: none.",
        ),
    ] = 5,
    first: Annotated[int, typer.Option("--from", min=1, metavar="N", help="First move to judge.")] = 1,
    last: Annotated[int | None, typer.Option("--to", min=1, metavar="N", help="Last move to judge.")] = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for reports and finished searches.")] = Path(
        "analysis"
    ),
    nodes: Annotated[
        int | None,
        typer.Option(
            metavar="N", help=f"Node processes that search. Default: {_MOST_UNASKED}; 1 on a machine of one processor."
        ),
    ] = None,
    address: Address = None,
    single: Single = False,
    net: Annotated[str | None, typer.Option(metavar="FILE", help="Network file (nn.bin). Default: our own.")] = None,
    problems: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the bad moves as next-move problems for ShogiHome (.json) too."),
    ] = None,
    reuse: Annotated[
        bool, typer.Option("--reuse", help="Keep positions for all analyses, and use what earlier ones have found.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of tables, for programs.")] = False,
    config: ConfigFile = None,
) -> int:
    """Analyse finished games: bad moves, better moves, strength.

    The fleet searches each position, the last one first, and then again, longer, those before and after each bad move.
    FOLDER gets for each game NAME.html (with a score graph, and the best move and variation of each position; it opens
    in any browser, without a network), NAME.annotated.csa and NAME.annotated.kif. For several games it also gets
    index.html, with each player's rates over all of them. docs/how-to/analysis.md explains the figures.

    Ctrl-C keeps what was searched: the same command goes on from there.

    Examples:

      gougi analyze records/game.csa

      gougi analyze *.kif --seconds 2 --nodes 4 --out meijin

      gougi analyze game.csa --from 40 --to 60 --nodes-per-move 1000000 --multipv 3

      gougi analyze game.csa --single --json > game.json

      gougi analyze *.kif --reuse --problems mine.json
    """
    if nodes_per_move is not None and seconds is not None:
        raise CommandError("give --nodes-per-move or --seconds, not both")
    from master.analysis.session import Pace

    settings = load(config, {"cluster": {"nodes": nodes, "address": address}, "engine": {"eval_file": net}})
    settings = _with_nodes(settings)
    jobs, refused = _read(files, first, last)
    check_fleet(settings, single=single)
    check_folder(out, "--out")
    ms = None if seconds is None else round(seconds * 1000)
    pace = Pace(None if ms is not None else nodes_per_move or 50_000, ms, multipv or (1 if problems is None else 3))
    code = _run(_Analysis(settings, single, pace, out, jobs, again, problems, reuse), as_json)
    return code or (FAILED if refused else 0)


def _with_nodes(settings: Config) -> Config:
    """The configuration with numbers of nodes and threads, where it leaves them to us."""
    cluster = settings.cluster.model_copy(update={"nodes": settings.cluster.nodes or min(processors(), _MOST_UNASKED)})
    engine = settings.engine.model_copy(update={"threads": settings.engine.threads or 1})
    return settings.model_copy(update={"cluster": cluster, "engine": engine})


@dataclass(frozen=True, slots=True)
class _Job:
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
class _Analysis:
    config: Config
    single: bool
    pace: Pace
    out: Path
    jobs: tuple[_Job, ...]
    again: int = 1
    """Effort of the second search of what is doubtful, in times the first; 1: there is none."""
    problems: Path | None = None
    """The file of problems; None: none is written."""
    reuse: bool = False
    """Whether what is found is kept for other analyses, and theirs is used."""
    misfit: Misfit | None = None
    """The reason why the calibration does not fit what was searched; None: it fits."""
    capacity: int | None = None
    """The number of nodes that the cluster offers, or for which this machine has processors; None: as configured."""

    def on_event(self, name: str, fields: dict[str, object]) -> None:
        """Note how many nodes there are to be, which counts more than the configuration."""
        if name == "ray_started":
            self.capacity = int(str(fields["capacity"]))
        elif name == "nodes_left_out":
            self.capacity = int(str(fields["nodes"]))

    @property
    def nodes(self) -> int:
        """The number of nodes that search a position."""
        return 1 if self.single else self.capacity or self.config.cluster.nodes

    def searcher(self) -> Searcher:
        from master.commands.players import make_fleet, make_single

        return make_single(self.config) if self.single else make_fleet(self.config)

    def net(self) -> str:
        """The network by its content; one that only the nodes have, by its path."""
        from master.analysis.strength import network_hash

        try:
            return network_hash(self.config.engine.eval_file)
        except OSError:
            if self.config.cluster.address:
                return self.config.engine.eval_file
            raise

    def key(self) -> str:
        """Key of all that a search's result depends on besides the position; of a fleet, once it is open."""
        from importlib.metadata import version

        engine = self.config.engine.model_dump(mode="json", exclude={"eval_file"})
        elsewhere = {"address", "report_port", "advertise", "nodes"}
        fleet = {
            "nodes": self.nodes,
            "cluster": self.config.cluster.model_dump(mode="json", exclude=elsewhere),
            "voters": self.config.voters.model_dump(mode="json"),
        }
        pace = [self.pace.nodes, self.pace.ms, self.pace.multipv]
        searched = [version("gougi"), self.net(), engine, "single" if self.single else fleet, pace]
        return json.dumps(searched, sort_keys=True)

    def words(self, text: Say) -> ReportSettings:
        """For the reader of the report, in the language of ``text``."""
        from importlib.metadata import version

        from master.analysis.report import ReportSettings

        eval_file, pace = self.config.engine.eval_file, self.pace
        net = Path(eval_file).name if eval_file else text("its own network")
        engine = text("Gougi {version} with {net}", version=version("gougi"), net=net)
        if not self.single and self.config.cluster.kinds:
            engine += text(", a mixed fleet")
        if pace.nodes is not None:
            effort = text("{nodes} nodes a position", nodes=pace.nodes)
        else:
            effort = text("{seconds} s a position", seconds=f"{(pace.ms or 0) / 1000:g}")
        if self.again > 1:
            effort += text(", {times} times as much for what is told", times=self.again)
        if self.nodes > 1 and pace.nodes is not None:
            effort += text(", on each of {nodes} nodes", nodes=self.nodes)
        elif self.nodes > 1:
            effort += text(", of {nodes} nodes", nodes=self.nodes)
        why = "" if self.misfit is None else text(self.misfit.message, **self.misfit.fields)
        return ReportSettings(engine, effort, why)

    def calibration(self, found: Sequence[Evaluation]) -> Calibration | None:
        """The package's, where it fits what was searched; else None, and ``misfit`` says why."""
        from statistics import median

        from master.analysis.strength import read_calibration

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
                "No strength: it was measured with {measured} nodes a position in all, not with {nodes}.",
                {"measured": calibration.nodes_per_move, "nodes": nodes},
            )
        return None


def _read(files: Sequence[Path], first: int, last: int | None) -> tuple[tuple[_Job, ...], int]:
    """The games of all files, and how many files or games were refused; a refusal is told at once."""
    from master.analysis.game import GameFileError, read_games
    from master.analysis.plan import plan

    jobs: list[_Job] = []
    refusals: list[str] = []
    stems = {"index"}  # of several games: the page about all of them
    for file in files:
        try:
            check_kind(file, Kind.RECORD)
            games = read_games(file, lambda error: refusals.append(str(error)))
        except (CommandError, GameFileError) as error:
            refusals.append(str(error))
            continue
        for game in games:
            notice(game.notice)
            try:
                points = plan(game, first, last)
            except GameFileError as error:
                refusals.append(str(error))
                continue
            stem = next(name for name in _names(game.stem) if name not in stems)
            stems.add(stem)
            jobs.append(_Job(game, points, stem))
    if not jobs:
        raise CommandError("\n".join(refusals), BAD_INPUT)
    for refusal in refusals:
        notice(refusal)
    return tuple(jobs), len(refusals)


def _names(stem: str) -> Iterator[str]:
    """``stem``, ``stem.2``, ``stem.3`` …"""
    yield stem
    yield from (f"{stem}.{number}" for number in count(2))


def _run(analysis: _Analysis, as_json: bool) -> int:
    from cluster.api import FleetError
    from master.analysis.session import Store
    from master.commands.lifetime import Interrupted, run_to_end

    store = Store(analysis.out / "positions.jsonl")
    try:
        if damaged := store.read():
            notice(f"{store.path}: {damaged} damaged lines passed over")
        compile_searcher()
        reports, calibration = run_to_end(lambda: _search(analysis, store))
        page = _write_page(analysis, reports, calibration)
        _write_problems(analysis, reports)
    except FleetError as error:
        raise CommandError(str(error), FAILED) from error
    except Interrupted:
        tell(say("interrupted: the same command goes on with what is in {out}", out=analysis.out))
        return INTERRUPTED
    _tell(analysis, reports, calibration, as_json)
    print(say("report: {page}", page=page), file=sys.stderr if as_json else sys.stdout)
    return 0


async def _search(analysis: _Analysis, store: Any) -> tuple[list[GameReport], Calibration | None]:
    """Search all games; the files of each are written when it is done."""
    from master.analysis.files import write_game
    from master.analysis.judgement import doubtful, judge
    from master.analysis.plan import evaluations, searches
    from master.analysis.report import report
    from master.analysis.session import Session
    from master.analysis.shared import SharedPositions, shared_path
    from master.ui.progress import PositionBar

    wanted = [searches(job.points) for job in analysis.jobs]
    found_all: list[Evaluation] = []
    reports: list[GameReport] = []
    calibration = None

    def on_event(name: str, fields: dict[str, object]) -> None:
        analysis.on_event(name, fields)
        bar.on_event(name, fields)

    with contextlib.ExitStack() as stack:
        bar = stack.enter_context(PositionBar(sum(map(len, wanted))))
        shared = stack.enter_context(SharedPositions(shared_path())) if analysis.reuse else None
        searcher = analysis.searcher()
        async with Session(searcher, store, analysis.pace, analysis.key, on_event, shared) as session:
            await _whole(searcher)
            for number, (job, positions) in enumerate(zip(analysis.jobs, wanted, strict=True), start=1):
                bar.game(f"{job.stem} ({number}/{len(wanted)})")
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
    """Wait for the fleet's nodes, which a game would not: no clock runs here.

    Raises:
        FleetError: none has come.
    """
    from cluster.api import FleetError
    from cluster.drivers.fleet_driver import FleetSearcher

    if isinstance(searcher, FleetSearcher) and not await searcher.whole(_PATIENCE_S):
        raise FleetError(f"no node is there after {_PATIENCE_S:.0f} s: is one of the cluster's machines up?")


def _write_page(analysis: _Analysis, reports: Sequence[GameReport], calibration: Calibration | None) -> Path:
    """The page to look at: of the game, or of all games."""
    from master.analysis.files import page_of, write_summary

    if len(reports) == 1:
        return page_of(analysis.out, analysis.jobs[0].stem)
    stems = [job.stem for job in analysis.jobs]
    return write_summary(analysis.out, stems, reports, calibration, analysis.words(page_say))


def _write_problems(analysis: _Analysis, reports: Sequence[GameReport]) -> None:
    if analysis.problems is None:
        return
    from datetime import datetime
    from importlib.metadata import version

    from master.analysis.problems import problems

    words, pace = analysis.words(str.format), analysis.pace
    engine: dict[str, Any] = {"name": words.engine, "multiPV": pace.multipv}
    if pace.ms is not None:
        engine["maxSecondsPerPosition"] = pace.ms / 1000
    created = datetime.now().astimezone().isoformat(timespec="seconds")
    content = problems(reports, engine, f"Gougi {version('gougi')}", created)
    text = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
    replace_file(analysis.problems, text.encode())
    tell(say("problems: {count} in {file}", count=len(content["problems"]), file=analysis.problems))


def _tell(analysis: _Analysis, reports: Sequence[GameReport], calibration: Calibration | None, as_json: bool) -> None:
    from master.analysis import table
    from master.analysis.report import facts, player_facts, players
    from master.ui.console import Console

    rated = players(reports, calibration)
    if as_json:
        games = [facts(report) for report in reports]
        words = analysis.words(str.format)
        head = {"engine": words.engine, "effort": words.effort, "no_strength": words.no_strength}
        print(
            json.dumps(
                {**head, "games": games, "players": [player_facts(player) for player in rated]}, ensure_ascii=False
            )
        )
        return
    console = Console()
    terminal = table.Terminal(console.width, console.encoding)
    words = analysis.words(terminal.say)
    if len(reports) == 1:
        console.print(table.game_table(reports[0], terminal))
        console.print()
        rated = reports[0].players
    console.print(table.players_table(rated, terminal, terminal.marks if len(reports) == 1 else ()))
    console.print()
    console.print(table.strength_lines(rated, words, terminal))
    for bands in table.bands_tables(rated[:4], terminal):
        console.print(bands)
        console.print()
    console.print(table.notes(words, terminal))
