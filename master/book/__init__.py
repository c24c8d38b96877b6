"""The player's books: YaneuraOu DB files, a book made from game records, and the SQLite book that learns.

`service` is the interface of all of it for a game; `study` searches the lessons of lost games again, between games.
"""
