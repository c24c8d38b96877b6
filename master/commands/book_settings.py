"""Settings of the books, from the configuration's section [book]."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from master.commands.common import CommandError, EndsOn

if TYPE_CHECKING:
    from master.book.lessons import StudySettings
    from master.book.service import BookService
    from master.config import BookConfig, Config
    from worker.book import BookSettings


def open_books(settings: Config) -> BookService:
    """The player's books as the configuration has them, open; what is wrong with them ends the command."""
    from master.book.look_ahead import LookAhead
    from master.book.opening import OpeningSettings
    from master.book.service import BookService
    from master.book.style import Style, StyleWeights
    from worker.book import BookError

    book = settings.book
    opening = OpeningSettings(
        files=tuple(map(Path, book.files)),
        choice=choice_settings(book),
        look_ahead=LookAhead(book.look_ahead),
        style=StyleWeights({style: getattr(book, style.value) for style in Style}),
    )
    learn = Path(book.learn) if book.learn else None
    service = BookService(opening, learn, study_settings(book))
    with EndsOn(BookError):
        service.open()
    return service


def study_settings(book: BookConfig) -> StudySettings:
    """Settings of the study after a lost game."""
    from master.book.lessons import StudySettings

    return StudySettings(book.study_bad_score, book.study_moves)


def choice_settings(book: BookConfig) -> BookSettings:
    """YaneuraOu's options as the configuration has them."""
    from worker.book import BookSettings

    return BookSettings(
        on_the_fly=book.on_the_fly,
        narrow=book.narrow,
        last_ply=book.moves,
        ignore_percent=book.ignore_rate,
        eval_diff=book.eval_diff,
        eval_limits=(book.eval_black_limit, book.eval_white_limit),
        depth_limit=book.depth_limit,
        by_count=book.consider_move_count,
        any_ply=book.ignore_ply,
        flipped=book.flipped,
    )


def learned_path(settings: Config) -> Path:
    """The book that learns; where none is named the command ends."""
    if not settings.book.learn:
        raise CommandError("no book that learns: give --book FILE, or name one in the configuration ([book] learn)")
    return Path(settings.book.learn)
