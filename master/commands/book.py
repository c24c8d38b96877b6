"""``gougi book``: books are made, looked at, and learned from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from master.commands.book_import import SQLITE, import_
from master.commands.book_learn import learn
from master.commands.book_settings import choice_settings, learned_path
from master.commands.common import CommandError, EndsOn
from master.commands.kinds import Kind, only
from master.commands.options import LearnedFile
from master.commands.plain import PlainCommand
from master.commands.settings import ConfigFile, load

if TYPE_CHECKING:
    from master.book.learned import LearnedBook
    from worker.book import Book
    from worker.shogi import Position

app = typer.Typer(
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
app.command(cls=PlainCommand)(learn)


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
    from master.commands.book_show import print_board, print_candidates, print_search
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
                    print_search(console, str(path), here, learned.search_of(here.sfen()))
                    entries, _ = legal_entries(learned, here, choice)
            else:
                entries, _ = legal_entries(_open_file(path, settings.book.on_the_fly), here, choice)
            print_candidates(console, str(path), here, entries)


def _open_file(path: Path, on_the_fly: bool) -> Book:
    """A book file, mapped where that can be; one that is not sorted is sorted in memory, as the player does it.

    Raises:
        BookError: as `Book`'s.
    """
    from worker.book import Book, BookError

    try:
        return Book(path, on_the_fly=True)
    except BookError:
        if on_the_fly:
            raise
        return Book(path)


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
    """Count what is in a book.

    It counts positions, or, of a book that learns, searches, games and lessons that are left to study.

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
