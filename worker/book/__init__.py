"""Opening books in YaneuraOu's text format: reading, looking up and choosing. No compiled code."""

from worker.book.file import Book
from worker.book.format import BookError, BookMove
from worker.book.player import BookPlayer, BookReply, BookSettings, Lookup, eligible, legal_entries, select

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
