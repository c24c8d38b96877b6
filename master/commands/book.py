"""``gougi book``: make books, look at them, and learn from lost games."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from master.commands.book_import import SQLITE, import_
from master.commands.checks import Kind, check_fleet, check_folder, only
from master.commands.common import FAILED, INTERRUPTED, CommandError, EndsOn, compile_searcher
from master.commands.options import Address, LearnedFile, Nodes, Single
from master.commands.plain import PlainCommand, PlainGroup
from master.commands.players import choice_settings, learned_path, study_settings
from master.commands.settings import ConfigFile, load

if TYPE_CHECKING:
    from master.book.learned import LearnedBook
    from master.book.lessons import BookSearch
    from master.ui.console import Console
    from worker.book import BookMove, Lookup
    from worker.shogi import Position


app = typer.Typer(
    cls=PlainGroup,
    help="""Make opening books, look at them, and learn from lost games.

    The section [book] of the configuration says how the player uses its books. docs/how-to/books.md explains them.

    Examples:

      gougi book import --from wdoor2024 --min-rating 3800 --out floodgate.db

      gougi book show 7g7f 3c3d --book floodgate.db

      gougi book learn --book learned.sqlite
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
app.command(name="import", cls=PlainCommand)(import_)


@app.command(cls=PlainCommand)
def show(
    position: Annotated[
        list[str] | None, typer.Argument(metavar="[SFEN] [MOVE]…", help="A position. Default: the start position.")
    ] = None,
    book: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A .db or .sqlite; may be repeated. Default: those of [book]."),
    ] = None,
    config: ConfigFile = None,
) -> None:
    """Show the books' moves in a position.

    Give the position as an SFEN in quotation marks, as an SFEN and USI moves from there, or as USI moves from the start
    position.

    Examples:

      gougi book show --book floodgate.db

      gougi book show 7g7f 3c3d

      gougi book show "lnsgkgsnl/1r5b1/p1ppppppp/1p7/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL b - 3" 2g2f
    """
    from master.ui.board import print_board
    from master.ui.console import Console
    from worker.book import BookError, legal_entries

    here = _position(position or [])
    settings = load(config)
    files = book or [Path(file) for file in (*settings.book.files, settings.book.learn) if file]
    if not files:
        raise CommandError("no book: give --book FILE, or name one in the configuration ([book] files, learn)")
    choice = choice_settings(settings.book)
    console = Console(highlight=False)
    print_board(console, here)
    with EndsOn(BookError):
        for path in files:
            if _learns(path):
                with _open_learned(path) as learned:
                    _print_search(console, str(path), here, learned.search_of(here.sfen()))
                    entries, _ = legal_entries(learned, here, choice)
            else:
                entries, _ = legal_entries(_open_file(path, settings.book.on_the_fly), here, choice)
            _print_candidates(console, str(path), here, entries)


def _print_search(console: Console, name: str, position: Position, search: BookSearch | None) -> None:
    """Print the learned book's entry of a position."""
    from master.records.notation import pv_text, score_text

    if search is None:
        console.print(f"{name}: this position was not searched")
        return
    how = "studied after a lost game" if search.studied else "played"
    console.print(
        f"{name}: {pv_text(position.sfen(), search.pv or (search.move,))}  {score_text(search.score)}"
        f"  depth {search.depth}, {search.seconds:.2f} reference seconds, {how}",
        soft_wrap=True,
    )


def _print_candidates(console: Console, name: str, position: Position, entries: Sequence[BookMove]) -> None:
    """A book's candidates; values are from the side to move, as in the file."""
    from rich.table import Table

    from master.records.notation import move_text

    if not entries:
        console.print(f"{name}: no candidates")
        return
    table = Table(title=name, title_justify="left", box=None, pad_edge=False)
    for column in ("move", "usi", "reply"):
        table.add_column(column)
    for column in ("value", "depth", "count"):
        table.add_column(column, justify="right")
    for entry in entries:
        move = move_text(position, position.parse_usi(entry.move))
        numbers = map(str, (entry.value, entry.depth, entry.count))
        table.add_row(move, entry.move, entry.ponder or "", *numbers)
    console.print(table)


def _open_file(path: Path, on_the_fly: bool) -> Lookup:
    """A book file, memory-mapped if possible; an unsorted one is sorted in memory, as the player does. Raises
    BookError: as raised by `Book`."""
    from worker.book import BookError
    from worker.book import open_file as opened

    try:
        return opened(path, on_the_fly=True)
    except BookError:
        if on_the_fly:
            raise
        return opened(path)


@app.command(cls=PlainCommand)
def stats(
    book: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="A .db or .sqlite. Default: [book] learn.",
            callback=only(Kind.BOOK, Kind.LEARNED),
        ),
    ] = None,
    config: ConfigFile = None,
) -> None:
    """Print statistics of a book.

    For a book file it counts positions; for a book that learns, searches, games and lessons still to study.

    Examples:

      gougi book stats

      gougi book stats floodgate.db
    """
    from worker.book import BookError

    path = book or learned_path(load(config))
    with EndsOn(BookError):
        for name, value in _stats(path):
            print(f"{name:22}{value}")


@app.command(cls=PlainCommand)
def export(
    out: Annotated[Path, typer.Argument(metavar="FILE.db", help="The book file to write.")],
    book: LearnedFile = None,
    config: ConfigFile = None,
) -> None:
    """Write the book that learns as a book file in YaneuraOu's format.

    Other engines and tools can read it. Every position has black to move: engines find those of white by FlippedBook,
    with IgnoreBookPly. The first move of a position is that of our own search.

    Examples:

      gougi book export learned.db

      gougi book export --book learned.sqlite learned.db
    """
    from master.book.dbfile import write_positions
    from worker.book import BookError

    if out.suffix != ".db":
        raise CommandError(f"{out}: expected a name that ends in .db")
    with EndsOn(BookError), _open_learned(book or learned_path(load(config))) as learned:
        count = write_positions(out, learned.export())
    print(f"{out}: {count} positions")


def _learns(path: Path) -> bool:
    """Whether it is, or would be, a book that learns. Raises BookError."""
    from master.book.dbfile import is_sqlite
    from worker.book import BookError
    from worker.files import reason

    try:
        return path.suffix in SQLITE or is_sqlite(path)
    except OSError as error:
        raise BookError(f"book {path}: {reason(error)}") from error


def _open_learned(path: Path) -> closing[LearnedBook]:
    from master.book.learned import LearnedBook

    return closing(LearnedBook(path, write=False))


def _position(words: list[str]) -> Position:
    from worker.shogi import MoveError, Position, SfenError

    sfen = words[0] if words and " " in words[0] else None
    with EndsOn(SfenError, MoveError, where="position"):
        position = Position.startpos() if sfen is None else Position.from_sfen(sfen)
        position.push_all(words if sfen is None else words[1:])
    return position


def _stats(path: Path) -> Iterator[tuple[str, str]]:
    if not _learns(path):
        from master.book.dbfile import read_positions

        sizes = [len(moves) for _, moves in read_positions(path)]
        yield "positions", f"{len(sizes):,}"
        yield "moves", f"{sum(sizes):,}"
        return
    with _open_learned(path) as learned:
        found = learned.stats()
    games = ", ".join(f"{count} {result}" for result, count in found.games.items())
    yield "searches", f"{found.searches:,}, {found.studied:,} of them studied again"
    yield "searched for", f"{found.seconds:,.1f} reference seconds (a million nodes each)"
    yield "games", games or "0"
    yield "left to study", f"{found.lessons:,} lessons, {found.lesson_seconds:,.1f} reference seconds"
    yield "imported", f"{found.imported_positions:,} positions, {found.imported_moves:,} moves"
    yield "speed of the fleet", "not known yet" if found.nps is None else f"{found.nps:,.0f} nodes a second"


@app.command(cls=PlainCommand)
def learn(
    book: LearnedFile = None,
    nodes: Nodes = None,
    address: Address = None,
    single: Single = False,
    config: ConfigFile = None,
) -> int:
    """Study lost games now, as gougi play does between its games.

    A lesson is a position before the turning point of a lost game. It is searched for twice as long as it has been
    searched already. Ctrl-C stops at once; the rest stays in the queue, and the same command continues with it.

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
    from cluster.api import FleetError, Progress
    from cluster.drivers.fleet import FleetFault
    from master.book.learned import LearnedBook
    from master.book.lessons import Lesson, reference_seconds
    from master.book.service import BookService
    from master.book.study import Studied, StudyingSearcher
    from master.commands.lifetime import Interrupted, run_to_end
    from master.commands.players import make_fleet, make_single
    from master.commands.services import logged
    from master.game.driver import next_search_id
    from master.logs.log import fleet_listener
    from master.records.notation import count_text, score_text
    from master.ui.progress import Bars
    from worker.book import BookError

    with EndsOn(BookError), LearnedBook(path, write=False) as reader:
        stats = reader.stats()
    if not stats.lessons:
        print(f"{path}: nothing is left to study")
        return 0
    check_fleet(settings, single=single, net_option="")
    check_folder(Path(settings.records.folder), "[records] folder")
    compile_searcher()
    service = BookService(learn=path, study=study_settings(settings.book))
    with EndsOn(BookError):
        service.open()
    print(f"{path}: {stats.lessons} lessons of {stats.lesson_seconds:.1f} reference seconds in total", flush=True)
    bars = Bars(stays=False)
    bar = bars.bar("opening the fleet", None)

    def show(lesson: Lesson, progress: Progress) -> None:
        words = f"move {lesson.ply}: depth {progress.depth} {score_text(progress.score)} {' '.join(progress.pv[:1])}"
        done = lesson.seconds - lesson.left_seconds + reference_seconds(progress.nodes)
        bar.show(done, name=words, total=lesson.seconds)

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
        with logged(settings, bars.note, bars.note), bars:
            finished = run_to_end(main)
    except FleetError as error:
        raise CommandError(str(error), FAILED) from error
    except Interrupted:
        print("interrupted; the same command goes on")
        return INTERRUPTED
    print(f"{finished} lessons learned")
    return 0
