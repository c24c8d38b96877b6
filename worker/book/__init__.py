"""Opening books in the usual formats: reading, looking up and choosing. No compiled code."""

from worker.book.file import Book
from worker.book.format import BookError, BookMove
from worker.book.player import BookPlayer, BookReply, BookSettings, eligible, legal_entries, select
from worker.book.several import Lookup, open_file

__all__ = [
    "Book",
    "BookError",
    "BookMove",
    "BookPlayer",
    "BookReply",
    "BookSettings",
    "Lookup",
    "eligible",
    "legal_entries",
    "open_file",
    "select",
]
