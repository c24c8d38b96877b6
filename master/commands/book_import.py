"""``gougi book import``: make books from game records, and merge books."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from master.commands.checks import Kind, check_kind
from master.commands.common import CommandError, EndsOn, given, notice

if TYPE_CHECKING:
    from master.book.dbfile import WrittenMove
    from master.book.importing import CandidateRules, GameFilter, ImportSummary
    from worker.book import BookMove

SQLITE = (".sqlite", ".sqlite3")
_MOST_FAULTS = 20
"""Number of broken or empty games that are named."""


RECORDS_ALONE = (
    "min_rating", "max_gap", "min_plies", "plies", "one_sided", "min_games", "min_wins", "scores", "depth",
    "merge_colours", "jobs",
)  # fmt: skip
"""Options that have no meaning when books are merged."""


def import_(
    context: typer.Context,
    sources: Annotated[
        list[Path],
        typer.Option("--from", metavar="FOLDER|FILE", help="Records (CSA), or books (.db); may be repeated."),
    ],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="A book file (.db), or a book that learns (.sqlite) to add to.")
    ],
    min_rating: Annotated[
        float | None, typer.Option(metavar="R", help="Least rating of both players, as in floodgate's records.")
    ] = None,
    max_gap: Annotated[
        float | None, typer.Option(metavar="R", help="Largest difference of the players' ratings.")
    ] = None,
    min_plies: Annotated[int, typer.Option(min=0, metavar="N", help="Least number of plies of a game.")] = 50,
    plies: Annotated[
        int, typer.Option(min=1, max=512, metavar="N", help="Number of plies of each game that go into the book.")
    ] = 40,
    one_sided: Annotated[
        int, typer.Option(min=0, metavar="CP", help="Leave out games with such a score within --plies. 0: none.")
    ] = 600,
    min_games: Annotated[
        int, typer.Option(min=1, metavar="N", help="Least number of games in which a move was played.")
    ] = 2,
    min_wins: Annotated[
        float, typer.Option(min=0, max=1, metavar="SHARE", help="Least share of wins of a move; a draw counts half.")
    ] = 0.0,
    scores: Annotated[
        bool,
        typer.Option("--scores", help="Take a move's value from the players' scores (their mean), not from its wins."),
    ] = False,
    depth: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Depth to write for each move. YaneuraOu leaves out moves below its limit, 16."
        ),
    ] = 0,
    merge_colours: Annotated[
        bool,
        typer.Option(
            "--merge-colours",
            help="Turn white's positions around and count them with black's; a book that learns always does.",
        ),
    ] = False,
    jobs: Annotated[
        int, typer.Option(min=0, metavar="N", help="Number of processes that read. 0: as many as processors.")
    ] = 0,
) -> None:
    """Make a book from game records, or add books to a book that learns.

    Records are CSA files, as floodgate keeps them, in the folders and in all folders below. The import leaves out games
    without a proper end, short games, and games that were decided in the opening. Ratings come from the comments in the
    records. A book file is sorted and in YaneuraOu's format; each move has its number of games and, as a remark, its
    share of wins. Several sorted books (.db) can be merged into one: if two books have the same
    move, the deeper line is kept, and the numbers of games add up.

    Examples:

      gougi book import --from wdoor2024 --min-rating 3800 --min-games 3 --out floodgate.db

      gougi book import --from wdoor2023 --from wdoor2024 --min-wins 0.45 --scores --out learned.sqlite

      gougi book import --from standard.db --from mine.db --out both.db
    """
    from master.book.dbfile import check_target
    from master.book.importing import CandidateRules, GameFilter
    from worker.book import BookError

    if out.suffix != ".db" and out.suffix not in SQLITE:
        raise CommandError(f"--out: {out}: expected a name that ends in .db or .sqlite")
    for source in sources:
        check_kind(source, Kind.RECORD, Kind.BOOK, where="--from")
    books = [source for source in sources if source.suffix == ".db"]
    if books and len(books) < len(sources):
        raise CommandError("--from: records and books cannot be mixed in one go")
    if books and (unused := given(context, RECORDS_ALONE)):
        raise CommandError(f"{unused[0]}: it chooses from records, and --from names books")
    with EndsOn(BookError):
        if out.suffix == ".db":
            check_target(out)
        if books:
            _import_books(books, out)
        else:
            rules = GameFilter(min_rating, max_gap, min_plies, plies, one_sided or None)
            # A book that learns stores a position and its rotated twin as one.
            candidates = CandidateRules(min_games, min_wins, scores, depth, merge_colours or out.suffix in SQLITE)
            _import_records(sources, out, rules, candidates, jobs)


def _import_records(sources: list[Path], out: Path, rules: GameFilter, candidates: CandidateRules, jobs: int) -> None:
    from master.book.importing import Tally, count_records, find_records
    from master.ui.progress import Bars

    with EndsOn(FileNotFoundError, where="--from"):
        paths = find_records(sources)
    if not paths:
        raise CommandError(f"--from: no .csa files in {', '.join(map(str, sources))}")
    with Tally(candidates) as tally:
        with Bars("records", stays=False) as bars:
            bar = bars.bar("reading", len(paths))
            bar.begin()
            summary = count_records(paths, rules, tally, candidates.merge_colours, jobs, bar.show)
        _tell_games(summary)
        if not summary.games:
            raise CommandError(f"none of {len(paths)} games can be used: see the reasons above")
        _write(out, tally.positions())


def _import_books(books: list[Path], out: Path) -> None:
    from master.book.dbfile import WrittenMove, read_positions
    from worker.book.format import join_sfen, ranked, split_sfen

    if out.resolve() in [book.resolve() for book in books]:
        raise CommandError(f"--out: {out}: a book cannot be merged into itself")

    def key(position: tuple[str, list[BookMove]]) -> str:
        return split_sfen(position[0])[0]

    def merged() -> Iterator[tuple[str, list[WrittenMove]]]:
        together = heapq.merge(*map(read_positions, books), key=key)
        for _, same in itertools.groupby(together, key):
            alike = list(same)
            ply = min(split_sfen(sfen)[1] for sfen, _ in alike)  # none, if one of them is for any ply
            moves = ranked([move for _, moves in alike for move in moves])
            yield join_sfen(key(alike[0]), ply), [WrittenMove(move) for move in moves]

    _write(out, merged())


def _write(out: Path, positions: Iterator[tuple[str, list[WrittenMove]]]) -> None:
    from master.book.dbfile import write_positions
    from master.book.learned import LearnedBook
    from worker.book import BookError

    if out.suffix == ".db":
        try:
            count = write_positions(out, positions)
        except BookError:
            raise
        except ValueError as error:
            raise CommandError(f"--from: the books have to be sorted: {error}") from error
        print(f"{out}: {count} positions")
        return
    with LearnedBook(out) as learned:
        count, moves = learned.import_moves((sfen, [move.entry for move in moves]) for sfen, moves in positions)
    print(f"{out}: {count} positions with {moves} moves added")


def _tell_games(summary: ImportSummary) -> None:
    print(f"games taken: {summary.games}")
    for why, count in summary.skipped.most_common():
        print(f"  left out, {why}: {count}")
    for fault in summary.faults[:_MOST_FAULTS]:
        notice(fault)
    if len(summary.faults) > _MOST_FAULTS:
        notice(f"and {len(summary.faults) - _MOST_FAULTS} more")
