"""``gougi book learn``: the study of lost games, now."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from master.commands.book_settings import learned_path, study_settings
from master.commands.checks import check_fleet, check_folder
from master.commands.common import FAILED, INTERRUPTED, CommandError, EndsOn, compile_searcher
from master.commands.options import Address, LearnedFile, Nodes, Single
from master.commands.settings import ConfigFile, load


def learn(
    book: LearnedFile = None,
    nodes: Nodes = None,
    address: Address = None,
    single: Single = False,
    config: ConfigFile = None,
) -> int:
    """Study lost games now, as gougi play does between its games.

    A lesson is a position before the turn of a lost game. It is searched for twice as long as it has been searched
    already. Ctrl-C stops at once; what is left stays in the queue, and the same command goes on with it.

    Examples:

      gougi book learn

      gougi book learn --book learned.sqlite --nodes 4

      gougi book learn --single
    """
    options: dict[str, dict[str, Any]] = {
        "book": {"learn": None if book is None else str(book), "study": True},
        "cluster": {"nodes": nodes, "address": address},
    }
    settings = load(config, options)
    path = learned_path(settings)
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from cluster.api import FleetError
    from cluster.api import Progress as SearchProgress
    from cluster.drivers.fleet import FleetFault
    from master.book.learned import LearnedBook
    from master.book.lessons import Lesson
    from master.book.searches import reference_seconds
    from master.book.service import BookService
    from master.book.study import Studied, StudyingSearcher
    from master.commands.lifetime import Interrupted, run_to_end
    from master.commands.log_file import logged
    from master.commands.players import make_fleet, make_single
    from master.game.driver import next_search_id
    from master.logs.log import fleet_listener
    from master.records.notation import count_text, score_text
    from master.ui.console import Console
    from worker.book import BookError

    with EndsOn(BookError), LearnedBook(path, write=False) as reader:
        stats, broken_off = reader.stats(), reader.running() is not None
    if not stats.lessons and not broken_off:
        print(f"{path}: nothing is left to study")
        return 0
    check_fleet(settings, single=single, net_option="")
    check_folder(Path(settings.records.folder), "[records] folder")
    compile_searcher()
    service = BookService(learn=path, study=study_settings(settings.book))
    try:
        service.open()
    except BookError as error:
        if not stats.lessons:  # the game did not break off: another process plays it
            print(f"{path}: nothing is left to study")
            return 0
        raise CommandError(str(error)) from error
    print(f"{path}: {stats.lessons} lessons of {stats.lesson_seconds:.1f} reference seconds in all", flush=True)
    if broken_off:
        print("a game that broke off is looked at too", flush=True)
    console = Console(stderr=True)
    board = Progress(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console, transient=True
    )
    task = board.add_task("opening the fleet", total=None)

    def show(lesson: Lesson, progress: SearchProgress) -> None:
        words = f"move {lesson.ply}: depth {progress.depth} {score_text(progress.score)} {' '.join(progress.pv[:1])}"
        had = lesson.seconds - lesson.left_seconds
        board.update(task, description=words, total=lesson.seconds, completed=had + reference_seconds(progress.nodes))

    def tell(studied: Studied) -> None:
        lesson, decision = studied.lesson, studied.decision
        found = f"{decision.move} {score_text(decision.score)} depth {decision.depth}"
        state = f"{studied.left} left" if studied.finished else "stopped, stays in the queue"
        print(f"move {lesson.ply}: {found}, {count_text(decision.nodes)} nodes; {state}", flush=True)

    async def main() -> int:
        fleet = make_single(settings) if single else make_fleet(settings)
        searcher = StudyingSearcher(fleet, service, next_search_id)
        searcher.on_studied, searcher.on_progress = tell, show
        fault = FleetFault(searcher.interrupt)
        try:
            await searcher.open(fleet_listener(fault.on_event))
            fault.check()
            finished = await searcher.study()
            fault.check()
            return finished
        finally:
            await searcher.close()
            await service.close()

    try:
        with logged(settings, console.print, console.print), board if console.is_terminal else contextlib.nullcontext():
            finished = run_to_end(main)
    except FleetError as error:
        raise CommandError(str(error), FAILED) from error
    except Interrupted:
        print("interrupted; the same command goes on")
        return INTERRUPTED
    print(f"{finished} lessons learned")
    return 0
