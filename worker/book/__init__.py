"""Opening books in YaneuraOu's text format: reading, looking up and choosing. No compiled code."""

from worker.book.choice import BookSettings, eligible, select
from worker.book.file import Book
from worker.book.format import BookError, BookMove
from worker.book.player import BookPlayer, BookReply, Lookup, legal_entries

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
    "select",
]
